"""goodput: where every paid GPU-second went, and why.

The public API is what `__all__` names; everything else may change between versions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goodput._resources import use_catalog
    from goodput.api import Warehouse
    from goodput.api import open_warehouse as open  # noqa: A004 - goodput.open reads well
    from goodput.lake import Lake
    from goodput.settings import Settings, load_settings
    from goodput.sources.typed import import_files
    from goodput.warehouse.build import BuildResult, build
    from goodput.window import Window

__version__ = "0.1.0"

__all__ = [
    "BuildResult",
    "Lake",
    "Settings",
    "Warehouse",
    "Window",
    "__version__",
    "build",
    "import_files",
    "load_settings",
    "open",
    "use_catalog",
]

# Loaded when first used: `goodput --help` must not wait for DuckDB and Polars.
_HOMES = {
    "BuildResult": ("goodput.warehouse.build", "BuildResult"),
    "Lake": ("goodput.lake", "Lake"),
    "Settings": ("goodput.settings", "Settings"),
    "Warehouse": ("goodput.api", "Warehouse"),
    "Window": ("goodput.window", "Window"),
    "build": ("goodput.warehouse.build", "build"),
    "import_files": ("goodput.sources.typed", "import_files"),
    "load_settings": ("goodput.settings", "load_settings"),
    "open": ("goodput.api", "open_warehouse"),
    "use_catalog": ("goodput._resources", "use_catalog"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'goodput' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
