"""Builds the observed tables from dumped text without a lake: raw tables, then the SQL."""

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from goodput._resources import catalog_dir, resource_dir
from goodput.contract import columns
from goodput.sources import kube_files
from goodput.warehouse.build import set_variables
from goodput.warehouse.connection import connect
from goodput.warehouse.models import Model, find_models
from goodput.window import Window

NOW = "2026-03-31T00:00:00Z"
MARCH = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 31, tzinfo=UTC))
_KUBE_TABLES = ("kube_objects", "kube_events", "kube_lists", "quarantine")


def read_text(text: str | bytes, **hints: str) -> dict[str, list[dict[str, Any]]]:
    data = text.encode() if isinstance(text, str) else text
    return kube_files.read(io.BytesIO(data), {"file": "dump", "now": NOW, **hints})


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: list[Mapping[str, Any]]) -> None:
    names = list(columns(table))
    marks = ", ".join("?" for _ in names)
    if rows:
        con.executemany(
            f"insert into raw.{table} values ({marks})",
            [[row.get(name) for name in names] for row in rows],
        )


@lru_cache(maxsize=1)
def empty_warehouse() -> duckdb.DuckDBPyConnection:
    """Catalogue, macros and empty raw tables; made once, as it takes longer than the models."""
    con = connect()
    for schema in ("catalog", "raw", "observed"):
        con.execute(f"create schema {schema}")
    for path in sorted(catalog_dir().glob("*.csv")):
        con.execute(
            f"create table catalog.{path.stem} as "
            "select * from read_csv(?, header = true, nullstr = '', auto_detect = true)",
            [str(path)],
        )
    con.execute((resource_dir("sql") / "macros.sql").read_text(encoding="utf-8"))
    for model in find_models():
        if model.schema == "raw":
            con.execute(model.sql)
    set_variables(con, MARCH, MARCH.end, {})
    con.begin()
    return con


def observe(tables: Mapping[str, list[Mapping[str, Any]]]) -> duckdb.DuckDBPyConnection:
    """The observed tables of some raw rows; they last until the next call."""
    con = empty_warehouse()
    con.rollback()
    con.begin()
    for table in _KUBE_TABLES:
        insert(con, table, list(tables.get(table, [])))
    for model in kube_models():
        con.execute(f"create table {model.table} as\n{model.sql}")
    return con


@lru_cache(maxsize=1)
def kube_models() -> list[Model]:
    return [m for m in find_models() if m.schema == "observed" and m.path.name < "2"]


@pytest.fixture
def read() -> Callable[..., dict[str, list[dict[str, Any]]]]:
    return read_text


@pytest.fixture
def observed() -> Callable[..., duckdb.DuckDBPyConnection]:
    """Reads each text as one dumped file and builds the observed tables of all together."""

    def build(*texts: str | bytes) -> duckdb.DuckDBPyConnection:
        merged: dict[str, list[Mapping[str, Any]]] = {}
        for text in texts:
            for table, rows in read_text(text).items():
                merged.setdefault(table, []).extend(rows)
        return observe(merged)

    return build


def clock(text: str) -> str:
    """The text "3 10:00" is the 3rd of March 2026, 10:00 UTC, as the API server writes it."""
    day, time = text.split(" ")
    return f"2026-03-{int(day):02d}T{time}{':00' if time.count(':') == 1 else ''}Z"


def meta(name: str, created: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "uid": f"uid-{name}", "creationTimestamp": clock(created), **more}


def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def condition(
    kind: str, status: str, since: str, reason: str = "", beat: str = ""
) -> dict[str, Any]:
    row = {"type": kind, "status": status, "reason": reason, "lastTransitionTime": clock(since)}
    return row | ({"lastHeartbeatTime": clock(beat)} if beat else {})


def node(
    name: str,
    *conditions: dict[str, Any],
    created: str = "1 00:00",
    gpus: Any = "8",
    capacity: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    boot: str = "",
    **spec: Any,
) -> dict[str, Any]:
    held = {"nvidia.com/gpu": gpus} if capacity is None else capacity
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, created, labels=dict(labels or {})),
        "spec": spec,
        "status": {
            "capacity": {"cpu": "192", **held},
            "allocatable": {"cpu": "191", **held},
            "conditions": list(conditions) or [condition("Ready", "True", created)],
            "nodeInfo": {"bootID": boot},
        },
    }


def pod(
    name: str,
    *,
    created: str = "2 00:00",
    bound: str | None = "2 00:01",
    started: str | None = "2 00:02",
    ended: str | None = None,
    exit_code: int = 0,
    reason: str = "",
    gpus: Any = "8",
    on: str = "n1",
    owner: list[dict[str, Any]] | None = None,
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    phase = "Running" if started else "Pending"
    state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
    conditions = []
    if bound:
        conditions.append(condition("PodScheduled", "True", bound))
    if started:
        state = {"running": {"startedAt": clock(started)}}
    if ended:
        phase = "Failed" if exit_code else "Succeeded"
        state = {
            "terminated": {
                "exitCode": exit_code,
                "reason": reason or ("Error" if exit_code else "Completed"),
                "startedAt": clock(started) if started else None,
                "finishedAt": clock(ended),
            }
        }
    built: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(
            name, created, namespace="team", labels=dict(labels or {}), ownerReferences=owner or []
        ),
        "spec": {
            "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}],
            **({"nodeName": on} if bound else {}),
        },
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [{"name": "main", "restartCount": 0, "state": state}],
        },
    }
    for part, fields in more.items():
        built[part] |= fields
    return built


def job(
    name: str, *conditions: dict[str, Any], created: str = "2 00:00", **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(name, created, namespace="team"),
        "spec": spec,
        "status": {"conditions": list(conditions)},
    }


def listed(*items: Mapping[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {}})


@pytest.fixture
def make() -> SimpleNamespace:
    """Small objects of the API; times are written like "3 10:00" in March 2026."""
    return SimpleNamespace(
        clock=clock,
        condition=condition,
        job=job,
        listed=listed,
        meta=meta,
        node=node,
        owned_by=owned_by,
        pod=pod,
    )


@pytest.fixture
def rows() -> Callable[..., list[tuple[Any, ...]]]:
    """The rows of a query, its instants as "3 10:00"."""

    def fetch(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
        return [tuple(map(short, row)) for row in con.sql(query).fetchall()]

    return fetch


def short(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return f"{value.day} {value:%H:%M}" + (f":{value:%S}" if value.second else "")
