"""What must hold of every ledger, whatever the input [STANDARD 1.9, 7.5]."""

import random
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_fleets import NAMES, SPAN_MS, TIMES, fleets
from tables import replacement, set_times

from goodput.warehouse.checks import CHECKS
from goodput.warehouse.models import find_models
from goodput.window import Window

START = datetime(2026, 3, 2, tzinfo=UTC)
REBUILT = ("staged", "intervals", "ledger")
MODELS = [model for model in find_models() if model.schema in REBUILT]

few = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def instant(milliseconds):
    return None if milliseconds is None else START + timedelta(milliseconds=milliseconds)


class Books:
    """The ledger of a fleet: put rows in, ask for its cells."""

    def __init__(self, con):
        self.con = con

    def put(self, fleet, shift=0):
        for table, rows in fleet.items():
            for row in rows:
                full = {"cluster": "default", **row}
                for column in TIMES[table]:
                    if full.get(column) is not None:
                        full[column] = instant(full[column] + shift)
                names = ", ".join(f'"{name}"' for name in full)
                marks = ", ".join("?" for _ in full)
                self.con.execute(
                    f"insert into raw.{table} ({names}) values ({marks})", list(full.values())
                )

    def close(self, start, end, as_of=SPAN_MS, shift=0):
        """Builds [start, end) as known at as_of; milliseconds after START."""
        window = Window(instant(start + shift), instant(end + shift))
        set_times(self.con, window, instant(as_of + shift))
        for model in MODELS:
            self.con.execute(replacement(model))
        return self

    def cells(self):
        rows = self.con.execute(
            "select node_uid, gpu, state, cause, sum(unit_ms)::hugeint from ledger.gpu_time "
            "group by all"
        ).fetchall()
        return Counter({tuple(row[:4]): int(row[4]) for row in rows})

    def rows(self):
        columns = "node_uid, gpu, epoch_ms(started_at), epoch_ms(ended_at), state, cause, job"
        return self.con.execute(f"select {columns} from ledger.gpu_time order by all").fetchall()

    def paid(self):
        return sum(self.cells().values())


@pytest.fixture
def open_books(warehouse):
    @contextmanager
    def books():
        warehouse.execute("begin")
        try:
            yield Books(warehouse)
        finally:
            warehouse.execute("rollback")

    return books


@few
@given(fleet=fleets())
def test_every_check_holds(open_books, fleet):
    with open_books() as books:
        books.put(fleet)
        books.close(0, SPAN_MS)
        broken = {
            check.name: rows
            for check in find_models()
            if check.schema == CHECKS and check.keys.get("severity") == "error"
            if (rows := books.con.execute(check.sql).fetchall())
        }
        assert broken == {}


@few
@given(fleet=fleets(), cut=st.integers(1, SPAN_MS - 1))
def test_windows_add_up(open_books, fleet, cut):
    with open_books() as books:
        books.put(fleet)
        whole = books.close(0, SPAN_MS).cells()
        parts = books.close(0, cut).cells() + books.close(cut, SPAN_MS).cells()
        assert parts == whole


@few
@given(fleet=fleets(), seed=st.integers(0, 2**32))
def test_order_and_duplicates_change_nothing(open_books, fleet, seed):
    chance = random.Random(seed)
    stirred = {
        table: chance.sample(rows + rows[::2], len(rows) + len(rows[::2]))
        for table, rows in fleet.items()
    }
    with open_books() as books:
        books.put(fleet)
        straight = books.close(0, SPAN_MS).rows()
    with open_books() as books:
        books.put(stirred)
        assert books.close(0, SPAN_MS).rows() == straight


@few
@given(fleet=fleets(), shift=st.integers(-(10**9), 10**9))
def test_moving_every_clock_moves_every_interval(open_books, fleet, shift):
    with open_books() as books:
        books.put(fleet)
        straight = books.close(0, SPAN_MS).rows()
    with open_books() as books:
        books.put(fleet, shift)
        moved = books.close(0, SPAN_MS, shift=shift).rows()
    assert [(*r[:2], r[2] - shift, r[3] - shift, *r[4:]) for r in moved] == straight


@few
@given(fleet=fleets())
def test_names_mean_nothing(open_books, fleet):
    def rename(row):
        return {k: f"x-{v}" if k in NAMES and v is not None else v for k, v in row.items()}

    renamed = {table: [rename(row) for row in rows] for table, rows in fleet.items()}
    with open_books() as books:
        books.put(fleet)
        straight = books.close(0, SPAN_MS).rows()
    with open_books() as books:
        books.put(renamed)
        there = books.close(0, SPAN_MS).rows()
    unnamed = [
        (r[0] and r[0].removeprefix("x-"), *r[1:6], r[6] and r[6].removeprefix("x-")) for r in there
    ]
    assert unnamed == straight


@few
@given(fleet=fleets())
def test_evidence_changes_causes_and_never_what_was_paid(open_books, fleet):
    with open_books() as books:
        books.put({**fleet, "evidence": []})
        without = books.close(0, SPAN_MS).paid()
        books.put({"evidence": fleet["evidence"]})
        assert books.close(0, SPAN_MS).paid() == without


@few
@given(fleet=fleets(), later=st.integers(1, 10**7))
def test_later_knowledge_never_changes_what_was_paid(open_books, fleet, later):
    with open_books() as books:
        books.put(fleet)
        first = books.close(0, SPAN_MS // 2, as_of=SPAN_MS // 2).paid()
        assert books.close(0, SPAN_MS // 2, as_of=SPAN_MS // 2 + later).paid() == first


@few
@given(fleet=fleets(), factor=st.integers(2, 3))
def test_a_larger_gang_costs_in_proportion(open_books, fleet, factor):
    """Every node of the first job's gang stands there `factor` times, with a pod like its own."""
    quiet = {**fleet, "node_conditions": [], "node_admin": [], "queue": []}
    gang = [row for row in quiet["pods"] if row["job"] == "a"]
    nodes = [row for row in quiet["nodes"] if row["node_uid"] in {p["node_uid"] for p in gang}]
    copies = range(1, factor)
    larger = {
        **quiet,
        "nodes": quiet["nodes"]
        + [{**row, "node_uid": f"{row['node_uid']}+{c}"} for row in nodes for c in copies],
        "pods": quiet["pods"]
        + [
            {**row, "node_uid": f"{row['node_uid']}+{c}", "pod_uid": f"{row['pod_uid']}+{c}"}
            for row in gang
            for c in copies
        ],
    }

    def held(books):
        return Counter(
            {
                (state, cause): int(amount)
                for state, cause, amount in books.con.execute(
                    "select state, cause, sum(unit_ms)::hugeint from ledger.gpu_time "
                    "where job = 'a' group by all"
                ).fetchall()
            }
        )

    with open_books() as books:
        books.put(quiet)
        small = held(books.close(0, SPAN_MS))
    with open_books() as books:
        books.put(larger)
        assert held(books.close(0, SPAN_MS)) == Counter({k: v * factor for k, v in small.items()})
