"""Finds `sql/` and `dashboards/`: inside an installed wheel, or beside it in a checkout.

The catalogue ships inside the package; a folder of the user's own may lie over it.
"""

import csv
from functools import cache
from importlib.resources import files
from pathlib import Path

from goodput.errors import GoodputError, UsageError

# The tables that a user may add rows to, with the columns that tell their rows apart: a row with
# the same values takes the place of the shipped one.
CATALOG_KEYS = {
    "log_signatures": ("id",),
    "k8s_reasons": ("scope", "type", "bad_status", "reason"),
    "exit_codes": ("exit_code", "form"),
    "xid": ("xid",),
    "sxid": ("sxid",),
    "taxonomy": ("class",),
}
# What else such a folder may hold.
_OTHER_FILES = ("redactions.toml", "formats")
_own_catalog: list[Path] = []


def resource_dir(kind: str) -> Path:
    """The folder of one kind of shipped file.

    Args:
        kind: "sql" or "dashboards".

    Raises:
        GoodputError: neither the wheel nor the checkout holds it.
    """
    package = Path(str(files("goodput")))
    for candidate in (package / "_shipped" / kind, package.parent / kind):
        if candidate.is_dir():
            return candidate
    raise GoodputError(f"the installation has no {kind}/ folder; reinstall the package")


@cache
def catalog_dir() -> Path:
    """The folder of catalogue tables that ship with the package."""
    return Path(str(files("goodput"))) / "catalog"


def use_catalog(folder: Path | None) -> None:
    """Lays a user's own folder over the shipped catalogue, for this process; None takes it off.

    Args:
        folder: holds any of log_signatures.csv, k8s_reasons.csv, exit_codes.csv, xid.csv,
            sxid.csv, taxonomy.csv, redactions.toml and formats/.

    Raises:
        UsageError: there is no such folder, or it holds something else.
    """
    if folder is not None:
        _check_catalog(folder)
    _own_catalog[:] = [] if folder is None else [folder]


def _check_catalog(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(f"the catalog {folder} is no folder; name one, or leave the setting out")
    known = [f"{name}.csv" for name in CATALOG_KEYS] + list(_OTHER_FILES)
    for path in sorted(folder.iterdir()):
        if path.suffix in (".csv", ".toml") and path.name not in known:
            raise UsageError(f"{path} extends nothing; a catalog may hold {', '.join(known)}")
    for name, key in CATALOG_KEYS.items():
        path = folder / f"{name}.csv"
        if path.is_file():
            columns = csv_columns(path)
            needed = [c for c in csv_columns(catalog_dir() / path.name) if c not in _OPTIONAL]
            if missing := [c for c in (*key, *needed) if c not in columns]:
                raise UsageError(f"{path} has no column {missing[0]}; copy the shipped heading")


# Columns that only the shipped rows need.
_OPTIONAL = {"counter_example", "notes", "domain"}


def csv_columns(path: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def catalog_folders() -> tuple[Path, ...]:
    """The shipped catalogue, then the user's own, if there is one."""
    return (catalog_dir(), *_own_catalog)


def catalog_rows(name: str, folders: tuple[Path, ...]) -> list[dict[str, str]]:
    """The rows of one of CATALOG_KEYS, those of later folders in place of equal ones."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for folder in folders:
        path = folder / f"{name}.csv"
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    rows[tuple(row[column] for column in CATALOG_KEYS[name])] = row
    return list(rows.values())
