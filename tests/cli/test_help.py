"""Every verb explains itself, and quickly."""

import subprocess
import sys

import click
import pytest

from goodput.cli import main


def subcommands(command, words=()):
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from subcommands(command.get_command(context, name), (*words, name))


ALL = dict(subcommands(main))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_verb_explains_itself_with_an_example(goodput, words):
    result = goodput(*words, "--help", lake=False)

    assert result.exit_code == 0
    if not isinstance(ALL[words], click.Group):
        assert f"Example: goodput {' '.join(words)}" in result.stdout


def test_help_starts_quickly_and_loads_nothing_heavy():
    program = (
        "import sys, goodput.cli\n"
        "try: goodput.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'duckdb', 'polars', 'pyarrow', 'plotly', 'scipy', 'numpy', 'jinja2', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
