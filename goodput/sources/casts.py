"""SQL that turns texts into the contract's types: lenient about spelling, exact about meaning.

Every cast gives NULL for a text that does not fit: "the text is there and the value is not" marks a
bad cell, and one pass over a column finds all of them.
"""

from __future__ import annotations

from duckdb.sqltypes import DuckDBPyType

from goodput.contract import children, quoted

_DATE_TIME = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?"
_ZONE = r"([Zz]|[+-]\d\d(:?\d\d)?)"

# Ten digits of epoch seconds reach the year 2286; more would be milliseconds taken for seconds.
MACROS = rf"""
create macro to_instant(x) as case
    when regexp_full_match(trim(x), '[+-]?\d{{1,10}}(\.\d*)?')
        then epoch_ms(cast(floor(try_cast(x as decimal(28, 9)) * 1000) as bigint))::timestamptz
    when regexp_full_match(trim(x), '{_DATE_TIME}{_ZONE}')
        then try_cast(upper(regexp_replace(trim(x), '(\.\d{{3}})\d+', '\1')) as timestamptz)
    end;
create macro to_whole(x) as case
    when regexp_full_match(trim(x), '[+-]?\d+(\.0*)?')
        then try_cast(split_part(trim(x), '.', 1) as bigint)
    end;
create macro to_number(x) as case
    when regexp_full_match(trim(x), '[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
        and isfinite(try_cast(x as double))
        then try_cast(x as double)
    end;
create macro to_boolean(x) as case
    when lower(trim(x)) in ('true', 't', 'yes', 'y', '1') then true
    when lower(trim(x)) in ('false', 'f', 'no', 'n', '0') then false
    end;
create macro unspoilt(items) as case
    when len(list_filter(items, lambda item: item is null)) = 0 then items
    end;
create macro instant_problem(x) as case
    when regexp_full_match(trim(x), '{_DATE_TIME}')
        then 'has no time zone; write Z for UTC or an offset such as +01:00'
    when regexp_full_match(trim(x), '[+-]?\d{{11,}}(\.\d*)?')
        then 'is too large for epoch seconds; are these milliseconds?'
    else 'is not a time; write RFC 3339 with a zone, or epoch seconds'
    end;
"""

_SCALARS = {
    "varchar": "{}",
    "timestamp with time zone": "to_instant({})",
    "boolean": "to_boolean({})",
    "double": "to_number({})",
}

_PROBLEMS = {
    "boolean": "is neither true nor false",
    "double": "is not a finite number",
    "smallint": "is not a whole number of 16 bits",
    "integer": "is not a whole number of 32 bits",
    "bigint": "is not a whole number of 64 bits",
}


def cast_sql(text: str, kind: DuckDBPyType, depth: int = 0) -> str:
    """SQL for the value that a text expression means in a type; NULL if it does not fit."""
    if kind.id == "list":
        return _list_sql(text, children(kind)[0][1], depth)
    if kind.id == "struct":
        return _struct_sql(text, kind, depth)
    whole = f"try_cast(to_whole({{}}) as {kind})"
    return _SCALARS.get(kind.id, whole).format(text)


def _list_sql(text: str, child: DuckDBPyType, depth: int) -> str:
    """A JSON list all of whose items fit; an item that does not spoils the list."""
    item = f"item{depth}"
    items = (
        f"case when json_valid({text}) then case when json_type({text}) = 'ARRAY' then "
        f"list_transform(from_json({text}, '[\"VARCHAR\"]'), "
        f"lambda {item}: {cast_sql(item, child, depth + 1)}) end end"
    )
    return f"unspoilt({items})"


def _struct_sql(text: str, kind: DuckDBPyType, depth: int) -> str:
    """A JSON list of the fields in order, or an object by name; a field without value spoils it."""
    names = [name for name, _ in children(kind)]
    by_place, by_name = (
        ", ".join(
            f"{quoted(name)} := {cast_sql(f'({text} ->> {key!r})', child, depth)}"
            for key, (name, child) in zip(keys, children(kind), strict=True)
        )
        for keys in ([f"$[{place}]" for place in range(len(names))], [f'$."{n}"' for n in names])
    )
    complete = " and ".join(f"fields.{quoted(name)} is not null" for name in names)
    built = (
        f"case json_type({text}) when 'ARRAY' then struct_pack({by_place}) "
        f"when 'OBJECT' then struct_pack({by_name}) end"
    )
    checked = f"list_filter([{built}], lambda fields: {complete})[1]"
    return f"case when json_valid({text}) then {checked} end"


def problem_sql(text: str, kind: DuckDBPyType) -> str:
    """SQL for why a text does not fit a contract type, to follow the text in a sentence."""
    if kind.id == "timestamp with time zone":
        return f"instant_problem({text})"
    if kind.id == "list":
        return f"'is not a JSON list for {str(kind).replace(chr(39), chr(39) * 2)}'"
    return f"'{_PROBLEMS[kind.id]}'"
