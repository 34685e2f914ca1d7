"""Loads the catalogue (facts about the world, as CSV) into the schema `catalog`."""

from __future__ import annotations

from pathlib import Path

import duckdb

from goodput._resources import CATALOG_KEYS, catalog_folders
from goodput.errors import UsageError
from goodput.warehouse.connection import in_a_sentence


def load_catalog(con: duckdb.DuckDBPyConnection) -> None:
    """Makes catalog.<file> of every CSV, in file order."""
    shipped, *own = catalog_folders()
    con.execute("create schema if not exists catalog")
    for path in sorted(shipped.glob("*.csv")):
        con.execute(
            f"create table catalog.{path.stem} as "
            "select *, row_number() over () as catalog_order "
            # Only types are left to find out: to try dialects takes as long again.
            "from read_csv(?, header = true, nullstr = '',"
            " delim = ',', quote = '\"', escape = '\"')",
            [str(path)],
        )
    for folder in own:
        for name, key in CATALOG_KEYS.items():
            if (folder / f"{name}.csv").is_file():
                _lay_over(con, name, key, folder / f"{name}.csv")


def _lay_over(con: duckdb.DuckDBPyConnection, name: str, key: tuple[str, ...], path: Path) -> None:
    """Puts a user's rows in the place of those with the same key, and the others behind them."""
    try:
        con.execute(
            "create or replace temp table own as "
            "select * from read_csv(?, header = true, nullstr = '', all_varchar = true)",
            [str(path)],
        )
        same = " and ".join(f"own.{c} is not distinct from t.{c}::varchar" for c in key)
        con.execute(f"delete from catalog.{name} as t where exists (from own where {same})")
        con.execute(
            f"insert into catalog.{name} by name "
            f"select *, 1000000 + row_number() over () as catalog_order from own"
        )
    except duckdb.Error as error:
        raise UsageError(
            f"{path} cannot be used: {in_a_sentence(error)}; see the shipped table"
        ) from None


def make_signature_macros(con: duckdb.DuckDBPyConnection, *, have_lines: bool = True) -> None:
    """log_signature(line): id of the first match; signature_code(id, line): the code in the line.

    The expressions are spelled out from log_signatures.csv, since DuckDB compiles a regular
    expression once only when it is a constant. No signature matches an empty text, so what is
    extracted tells: regexp_matches() compiles each expression once more, for the optimizer.

    Args:
        have_lines: whether there are lines to match. Without, the macros are there and give null:
            to compile some hundred expressions is a good part of a small build.
    """
    signature, code = _signature_cases(con) if have_lines else ("null::varchar", "null::varchar")
    con.execute(f"create or replace macro log_signature(line) as {signature}")
    con.execute(f"create or replace macro signature_code(signature, line) as {code}")


def _signature_cases(con: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    signatures = con.sql(
        "select id, regex, class from catalog.log_signatures order by precedence, catalog_order"
    ).fetchall()
    matches = " ".join(
        f"when regexp_extract(line, {_literal(regex)}) <> '' then {_literal(name)}"
        for name, regex, _ in signatures
    )
    codes = " ".join(
        f"when {_literal(name)} then regexp_extract(line, {_literal(regex)}, 2)"
        for name, regex, looked_up_in in signatures
        if looked_up_in.endswith(".csv")
    )
    return f"case {matches} end", f"case signature {codes} end"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
