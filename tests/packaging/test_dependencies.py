"""What is imported is declared, what is declared is imported, and heavy things come late."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What `goodput --help` must not wait for.
HEAVY = {"duckdb", "polars", "pyarrow", "plotly", "scipy", "numpy", "kubernetes", "jinja2", "yaml"}


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements):
    return {canonical(re.match(r"[\w.-]+", line)[0]) for line in requirements}


def imported(folder):
    """The distributions that the modules below a folder import, the standard library left out."""
    tops = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                tops |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                tops.add(node.module.split(".")[0])
    foreign = tops - sys.stdlib_module_names - {"goodput", "pipelines", "benchmarks"}
    by_module = packages_distributions()
    return {canonical(by_module[top][0]) for top in foreign}


def test_the_library_imports_exactly_what_it_declares():
    optional = PROJECT["project"]["optional-dependencies"]["fast"]
    assert imported("goodput") == declared([*PROJECT["project"]["dependencies"], *optional])


def test_the_jobs_need_nothing_more_than_the_library():
    assert imported("pipelines") - declared(PROJECT["project"]["dependencies"]) == set()


def test_help_loads_nothing_heavy():
    program = (
        "import sys\n"
        "from goodput.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program, *sorted(HEAVY)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed.splitlines()[-1] == "[]"
