"""Loads the catalogue (facts about the world, as CSV) into the schema `catalog`."""

from __future__ import annotations

from pathlib import Path

import duckdb

from goodput._resources import CATALOG_KEYS, catalog_folders
from goodput.errors import UsageError
from goodput.warehouse.connection import in_a_sentence


def load_catalog(con: duckdb.DuckDBPyConnection) -> None:
    """Makes catalog.<file> of every CSV, in file order, and the macros over log signatures."""
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
    _make_signature_macros(con)


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


def _make_signature_macros(con: duckdb.DuckDBPyConnection) -> None:
    """log_signature(line): id of the first match; signature_code(id, line): the code in the line.

    The expressions are spelled out from log_signatures.csv, since DuckDB compiles a regular
    expression once only when it is a constant. No signature matches an empty text, so what is
    extracted tells: regexp_matches() compiles each expression once more, for the optimizer.
    """
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
    con.execute(f"create macro log_signature(line) as case {matches} end")
    con.execute(f"create macro signature_code(signature, line) as case signature {codes} end")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
