"""Raw tables in, the ledger in GPU-seconds out."""

from fractions import Fraction

from tables import GPU_SECOND, clock, parse_table, replacement

from goodput.warehouse.checks import CHECKS


class LedgerBench:
    """A ModelBench seen from the accountant's side: raw rows given, cells of the ledger asked."""

    def __init__(self, model):
        self.model = model

    def settings(self, text):
        """Takes the lines `window A B`, `as_of T` and `param NAME VALUE`."""
        lines = [line.split() for line in text.splitlines()]
        words = {line[0]: line[1:] for line in lines if line[0] != "param"}
        params = {line[1]: line[2] for line in lines if line[0] == "param"}
        self.model.window(*words["window"], *words.get("as_of", [None]), **params)

    def given(self, table, text):
        """Puts raw rows; the cluster is filled in, and beats are written `from to every | …`."""
        header, rows = parse_table(text)
        self.rows(table, [dict(zip(header, row, strict=True)) for row in rows])

    def rows(self, table, rows):
        """Puts raw rows given as {column: cell}; cells as in a text table."""
        types = self.model._types(f"raw.{table}")
        for number, row in enumerate(rows):
            full = {"cluster": "default", "row_id": f"{table}{number}", **row}
            values = [self._cell(str(cell), types[name]) for name, cell in full.items()]
            names = ", ".join(f'"{name}"' for name in full)
            marks = ", ".join(f"cast(? as {types[name]})" for name in full)
            self.model.con.execute(f"insert into raw.{table} ({names}) values ({marks})", values)

    def _cell(self, cell, dtype):
        if cell in ("-", "None"):
            return None
        if dtype.startswith("STRUCT"):
            trains = [train.split() for train in cell.split("|")]
            return [
                {"from": clock_of(a), "to": clock_of(b), "every_s": float(every)}
                for a, b, every in trains
            ]
        return clock_of(cell) if dtype.startswith("TIMESTAMP") else cell

    def parse_expected(self, text):
        """{(state, cause): GPU-seconds} of a text table."""
        _, rows = parse_table(text)
        return {
            (state, None if cause == "-" else cause): Fraction(amount)
            for state, cause, amount in rows
        }

    def ledger(self):
        """{(state, cause): GPU-seconds} of the window, exactly."""
        self._rebuild("ledger.gpu_time", "ledger.window_totals", "ledger.interruptions")
        rows = self.model.con.execute(
            "select state, cause, sum(unit_ms)::varchar from ledger.gpu_time group by all"
        ).fetchall()
        return {(state, cause): Fraction(int(amount), GPU_SECOND) for state, cause, amount in rows}

    def _rebuild(self, *tables):
        """Runs once each the models that the tables need."""
        needed = set().union(*(self.model._needed(table) for table in tables))
        for model in self.model.models:
            if model.table in needed:
                self.model.con.execute(replacement(model))

    def check(self, name):
        """What a check returns over the tables as they stand."""
        [check] = [m for m in self.model.models if m.table == f"{CHECKS}.{name}"]
        return self.model.con.execute(check.sql).fetchall()

    def broken_checks(self):
        """The checks that return rows over the ledger as it stands, errors only."""
        checks = [m for m in self.model.models if m.schema == CHECKS]
        errors = [m.name for m in checks if m.keys.get("severity") == "error"]
        return [name for name in errors if self.check(name)]


def clock_of(text):
    """A clock time, with seconds or without."""
    return clock(text)
