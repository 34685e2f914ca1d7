"""What verbs share: the lake they work on, and options that mean the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from goodput._resources import use_catalog
from goodput.errors import NoData, UsageError
from goodput.settings import Settings, load_settings
from goodput.window import Window, parse_instant

if TYPE_CHECKING:
    from goodput.lake import Lake

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("table", "json", "csv", "parquet")


class Context:
    """The global options of one call."""

    def __init__(self, lake: str | None, config: Path | None) -> None:
        self._lake = lake
        self._config = config

    @cached_property
    def settings(self) -> Settings:
        """The settings, with the file named by --config; their catalogue is in use from then on."""
        settings = load_settings(self._config)
        use_catalog(Path(settings.catalog) if settings.catalog else None)
        return settings

    @property
    def lake_url(self) -> str:
        """Where the lake is."""
        settings = self.settings  # whatever --lake says: the catalogue is in them, too
        return self._lake or settings.lake

    def open_lake(self, *, create: bool = False) -> Lake:
        """The lake that --lake, GOODPUT_LAKE or the settings name."""
        from goodput.lake import Lake

        return Lake.open(self.lake_url, create=create)

    def built_warehouse(self) -> Path:
        """The file that the last build made.

        Raises:
            NoData: nothing has been built.
        """
        lake = self.open_lake()
        path = lake.built_warehouse()
        if path is None:
            raise NoData(f"nothing has been built from {lake.url}; run `goodput build` first")
        return path


def say(message: str) -> None:
    """A message for a person, on stderr: stdout is for data."""
    click.echo(message, err=True)


class Instant(click.ParamType[datetime]):
    """An RFC 3339 instant with a zone."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> datetime:
        """Parses it, or fails as a usage error."""
        if isinstance(value, datetime):
            return value
        try:
            return parse_instant(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


class Number(click.FloatRange):
    """A finite number in a range; click alone takes nan for a part of any, and inf."""

    def __init__(self, least: float = 0, most: float = math.inf, *, is_open: bool = False) -> None:
        """`is_open` leaves out both ends; infinity is left out anyway."""
        super().__init__(least, most, min_open=is_open, max_open=is_open or math.isinf(most))

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Parses it, or fails as a usage error."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{number} is not a number.", param, ctx)
        return number


def output_in(*forms: str) -> Callable[[F], F]:
    """The option that chooses among forms of what a verb prints."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(forms),
        default="table",
        show_default=True,
        help="Form of the answer on stdout.",
    )


output_option = output_in(*FORMATS)

as_of_option = click.option(
    "--as-of",
    type=Instant(),
    help="Knowledge time: rows ingested later are not used [default: now].",
)


def window_options(function: F) -> F:
    """Adds --from, --to and --week."""
    for option in (
        click.option("--week", help="An ISO week such as 2026-W48."),
        click.option("--to", "end", type=Instant(), help="End, exclusive, RFC 3339."),
        click.option("--from", "start", type=Instant(), help="Start, inclusive, RFC 3339."),
    ):
        function = option(function)
    return function


def chosen_window(start: datetime | None, end: datetime | None, week: str | None) -> Window | None:
    """The window that the options name; None if they name none.

    Raises:
        UsageError: only half of a window, or two of them.
    """
    if week is not None:
        if start or end:
            raise UsageError("give --week, or --from and --to, not both")
        return Window.of_week(week)
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise UsageError("a window needs both --from and --to")
    return Window(start, end)
