"""Loads the catalogue (facts about the world, as CSV) into the schema `catalog`."""

from __future__ import annotations

import duckdb

from goodput._resources import catalog_dir


def load_catalog(con: duckdb.DuckDBPyConnection) -> None:
    """Makes catalog.<file> of every CSV, in file order, and the macros over log signatures."""
    con.execute("create schema if not exists catalog")
    for path in sorted(catalog_dir().glob("*.csv")):
        con.execute(
            f"create table catalog.{path.stem} as "
            "select *, row_number() over () as catalog_order "
            "from read_csv(?, header = true, nullstr = '', auto_detect = true)",
            [str(path)],
        )
    _make_signature_macros(con)


def _make_signature_macros(con: duckdb.DuckDBPyConnection) -> None:
    """log_signature(line): id of the first match; signature_code(id, line): the code in the line.

    The expressions are spelled out from log_signatures.csv, since DuckDB compiles a regular
    expression once only when it is a constant.
    """
    signatures = con.sql(
        "select id, regex, class from catalog.log_signatures order by precedence, catalog_order"
    ).fetchall()
    matches = " ".join(
        f"when regexp_matches(line, {_literal(regex)}) then {_literal(name)}"
        for name, regex, _ in signatures
    )
    codes = " ".join(
        f"when {_literal(name)} then regexp_extract(line, {_literal(regex)}, 2)"
        for name, regex, looked_up_in in signatures
        if looked_up_in.endswith(".csv")
    )
    con.execute(f"create macro log_signature(line) as case {matches} end")
    con.execute(f"create macro signature_code(signature, line) as case signature {codes} end")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
