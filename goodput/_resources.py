"""Finds `sql/` and `dashboards/`: inside an installed wheel, or beside it in a checkout."""

from importlib.resources import files
from pathlib import Path

from goodput.errors import GoodputError


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


def catalog_dir() -> Path:
    """The folder of catalogue tables that ship with the package."""
    return Path(str(files("goodput"))) / "catalog"
