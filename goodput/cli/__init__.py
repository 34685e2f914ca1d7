"""The command line: one module per verb, loaded when it is used."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from goodput import __version__
from goodput.errors import GoodputError

# In the order in which a newcomer meets them.
VERBS = (
    "demo",
    "import",
    "collect",
    "build",
    "check",
    "metrics",
    "trends",
    "report",
    "advise",
    "what-if",
    "explain",
    "classify",
    "diff",
    "query",
    "export",
    "schema",
    "compact",
    "doctor",
)
_INTERRUPTED = 130
# How DuckDB says that Ctrl-C came while it worked.
_QUERY_INTERRUPTED = "Query interrupted"

# At its end Python searches all that was loaded for cycles: a tenth of what a short verb takes.
atexit.register(gc.freeze)


class Verbs(click.Group):
    """A group that imports a verb's module when the verb is named, and reports errors in a line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The verbs in the order of the way through the product."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The verb's command, from the module of its name (`import` is a keyword: import_)."""
        if cmd_name not in VERBS:
            return None
        module = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        command: click.Command = importlib.import_module(f"goodput.cli.{module}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the verb; an error is one line on stderr and its exit code, never a traceback."""
        try:
            return super().invoke(ctx)
        except GoodputError as error:
            if ctx.params["debug"]:
                raise
            click.echo(f"error: {error}", err=True)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            _end_interrupted()
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except OSError as error:
            if ctx.params["debug"]:
                raise
            place = "" if error.filename is None else f"{error.filename}: "
            remedy = "check the path, its permissions and the space left"
            click.echo(f"error: {place}{error.strerror or error}; {remedy}", err=True)
            sys.exit(GoodputError.exit_code)
        except Exception as error:  # the last resort: a user never meets a traceback
            if ctx.params["debug"]:
                raise
            first = (str(error).strip().splitlines() or [""])[0]
            if first.endswith(_QUERY_INTERRUPTED):
                _end_interrupted()
            click.echo(
                f"error: {type(error).__name__}: {first} (run `goodput --debug …` for the details)",
                err=True,
            )
            sys.exit(GoodputError.exit_code)


def _end_interrupted() -> NoReturn:
    click.echo("interrupted", err=True)
    sys.exit(_INTERRUPTED)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--lake", help="Folder or URL of the lake [env GOODPUT_LAKE; default ./lake].")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file [env GOODPUT_CONFIG; default ./goodput.toml].",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="goodput")
@click.pass_context
def main(ctx: click.Context, lake: str | None, config: Path | None, debug: bool) -> None:  # noqa: ARG001
    """Where every paid GPU-second of a training fleet went, and why.

    \b
    Start here:
      goodput demo                          a simulated fleet, all the way to its report
      goodput import tables/                your own tables, one file each
      goodput build && goodput report       account for the last whole week

    Exit codes: 0 ok, 1 unexpected, 2 usage, 3 a check failed, 4 no data, 5 unreachable.
    """  # noqa: D301
    from goodput.cli.common import Context

    # Nothing here multiplies matrices, and the threads for it would spin while they wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ctx.obj = Context(lake, config)
