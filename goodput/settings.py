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

from goodput.errors import UsageError

_PREFIX = "GOODPUT_"
_SEARCHED = (Path("goodput.toml"), Path("/etc/goodput/goodput.toml"))


@dataclass(frozen=True)
class Settings:
    """Every setting with its default.

    Attributes:
        lake: folder or URL of the lake.
        cluster: name of the cluster for rows that bring none.
        params: parameters of the accounting standard that differ from catalog/parameters.csv.
    """

    lake: str = "./lake"
    cluster: str = "default"
    params: Mapping[str, str] = field(default_factory=dict)


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
    )


def _config_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = config or (Path(environ["GOODPUT_CONFIG"]) if environ.get("GOODPUT_CONFIG") else None)
    if named is not None:
        return named
    return next((path for path in _SEARCHED if path.is_file()), None)


def _from_file(path: Path) -> Settings:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the config file {path} cannot be used: {error}") from None
    known = [item.name for item in fields(Settings)]
    for key in given:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
            raise UsageError(f"{path} has an unknown setting {key!r}{hint}")
    params = given.pop("params", {})
    if not isinstance(params, dict) or not all(isinstance(text, str) for text in given.values()):
        raise UsageError(f"{path}: lake and cluster are texts, params is a table")
    return Settings(**given, params={name: str(value) for name, value in params.items()})
