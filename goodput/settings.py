"""Settings: flags beat GOODPUT_… variables, which beat goodput.toml, which beats the defaults.

The file is the one named by --config, else $GOODPUT_CONFIG, else ./goodput.toml, else
/etc/goodput/goodput.toml. Unknown keys are errors, since a misspelt setting would be silently lost.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from goodput.errors import UsageError

_PREFIX = "GOODPUT_"
_SEARCHED = (Path("goodput.toml"), Path("/etc/goodput/goodput.toml"))


@dataclass(frozen=True)
class Settings:
    """Every setting with its default.

    Attributes:
        lake: folder or URL of the lake.
        cluster: name of the cluster for rows that bring none.
        catalog: folder of the user's own signatures, formats, reasons and redactions.
        params: parameters of the accounting standard that differ from catalog/parameters.csv.
        source: what `pipelines.collect` takes and `goodput doctor` looks at; each its kind, and the
            options of that kind (goodput.sources.configured).
    """

    lake: str = "./lake"
    cluster: str = "default"
    catalog: str | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    source: tuple[Mapping[str, Any], ...] = ()


def load_settings(config: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process.

    Args:
        config: a file that must exist; None searches the usual places.
        environ: None means the process's environment.

    Raises:
        UsageError: the file is missing, is no TOML, or has an unknown key or a wrong type.
    """
    environ = os.environ if environ is None else environ
    path = _config_file(config, environ)
    settings = Settings() if path is None else _from_file(path)
    return replace(
        settings,
        lake=environ.get(_PREFIX + "LAKE") or settings.lake,
        cluster=environ.get(_PREFIX + "CLUSTER") or settings.cluster,
        catalog=environ.get(_PREFIX + "CATALOG") or settings.catalog,
    )


def _config_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = config or (Path(environ["GOODPUT_CONFIG"]) if environ.get("GOODPUT_CONFIG") else None)
    if named is not None:
        return named
    return next((path for path in _SEARCHED if path.is_file()), None)


def _from_file(path: Path) -> Settings:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"the config file {path} cannot be read: {reason}") from None
    except ValueError as error:
        raise UsageError(f"the config file {path} is no TOML: {error}") from None
    known = [item.name for item in fields(Settings)]
    for key in given:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
            raise UsageError(f"{path} has an unknown setting {key!r}{hint}")
    params, source = given.pop("params", {}), given.pop("source", [])
    if not isinstance(params, dict) or not all(isinstance(text, str) for text in given.values()):
        raise UsageError(
            f"{path}: lake, cluster and catalog are texts in quotes, params is a table [params]"
        )
    if not isinstance(source, list) or not all(isinstance(entry, dict) for entry in source):
        raise UsageError(f"{path}: each source is a table that begins with [[source]]")
    texts = {name: str(value) for name, value in params.items()}
    return Settings(**given, params=texts, source=tuple(source))
