"""Names that a user gives: found in a build, or refused with those that are near."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb

from goodput.errors import UsageError
from goodput.texts import clean, did_you_mean

Found = tuple[str, str]
"""Cluster, and the key of a job or node in it."""

FINDING = {
    "job": """
        select cluster, job as key from staged.jobs
        where $job in (job, name, concat(namespace, '/', name))
        union
        select cluster, job from ledger.gpu_time where job = $job""",
    "node": """
        select cluster, node_uid as key from staged.nodes where $node in (node_uid, name)
        union
        select cluster, node_uid from ledger.gpu_time where $node in (node_uid, node_name)""",
    "cluster": """
        select distinct cluster, cluster as key from ledger.gpu_time where cluster = $cluster""",
}
"""For each kind of thing the query that finds it by a name, bound by the kind."""

# The key and the name of all that can be meant, by what it is.
_KNOWN = {
    "job": """
        select job, name from staged.jobs
        union select job, null from ledger.gpu_time where job is not null""",
    "node": """
        select node_uid, name from staged.nodes
        union select node_uid, node_name from ledger.gpu_time""",
    "cluster": "select distinct cluster, null from ledger.gpu_time",
}
_LISTED = 12


def find(con: duckdb.DuckDBPyConnection, kind: str, name: str) -> list[Found]:
    """The jobs, nodes or clusters of a build that a name means, in the order of their keys.

    Args:
        kind: job (by key, name or namespace/name), node (by uid or name) or cluster.
    """
    return con.execute(f"{FINDING[kind]} order by all", {kind: name}).fetchall()


def require(con: duckdb.DuckDBPyConnection, kind: str, name: str) -> list[Found]:
    """As `find`, but a name that means nothing is refused.

    Raises:
        UsageError: nothing of the kind has that name.
    """
    if found := find(con, kind, name):
        return found
    raise unknown(kind, name, known(con, kind))


def known(con: duckdb.DuckDBPyConnection, *kinds: str) -> dict[str, str]:
    """All keys and names of the jobs, nodes or clusters of a build, each as `name (key)`."""
    query = " union ".join(_KNOWN[kind] for kind in kinds)
    rows: list[tuple[str, str | None]] = con.execute(f"{query} order by 2, 1").fetchall()
    shown: dict[str, str] = {}
    for key, name in rows:
        for text in (key, name):
            if text is not None:
                shown.setdefault(text, key if name in (None, key) else f"{name} ({key})")
    return shown


def unknown(
    thing: str, wanted: str, names: Iterable[str], where: str = "in this build"
) -> UsageError:
    """What to raise when a name is none of those there are: it tells those near it, or some.

    Args:
        names: of a mapping, its values are what is shown of them.
    """
    shown = names if isinstance(names, Mapping) else {name: name for name in names}
    labels = {clean(name): clean(label) for name, label in shown.items()}
    listed = sorted(set(labels.values()))
    hint = did_you_mean(wanted, labels)
    if listed and not hint:
        more = ", …" if len(listed) > _LISTED else ""
        hint = f"; known are {', '.join(listed[:_LISTED])}{more}"
    return UsageError(f"there is no {thing} {wanted!r} {where}{hint}")
