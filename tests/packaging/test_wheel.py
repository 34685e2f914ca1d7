"""The wheel holds what git holds, no more and no less, and finds its SQL when installed."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Where a folder of the checkout lies in the wheel.
SHIPPED = {
    "goodput/": "goodput/",
    "sql/": "goodput/_shipped/sql/",
    "dashboards/": "goodput/_shipped/dashboards/",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built by the backend itself: no isolated environment, so no network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel unpacked, as an installer would, in front of the checkout on the import path."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def run_installed(site, *words):
    """Runs Python on the unpacked wheel from a folder where the checkout is not to be found."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=site,
        env={**os.environ, "PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def files_of_the_checkout():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *SHIPPED],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = [name for name in listed.split("\0") if name and (ROOT / name).exists()]
    # The generator of the dashboards stays in the checkout.
    return [name for name in names if not re.fullmatch(r"dashboards/.*\.py", name)]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_the_wheel_holds_exactly_what_git_knows(wheel):
    expected = set()
    for name in files_of_the_checkout():
        [(top, place)] = [(t, p) for t, p in SHIPPED.items() if name.startswith(t)]
        expected.add(place + name.removeprefix(top))
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected


def test_a_checkout_installs_for_editing(tmp_path):
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])",
            str(tmp_path),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [path] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        [pth] = [name for name in archive.namelist() if name.endswith(".pth")]
        assert archive.read(pth).decode().split() == [str(ROOT)]


def test_the_distribution_is_not_called_goodput(wheel):
    assert wheel.name.startswith("goodput_ledger-")


def test_an_installed_wheel_finds_its_own_sql_and_dashboards(installed):
    printed = run_installed(
        installed,
        "-c",
        "from goodput._resources import resource_dir\n"
        "for kind in ('sql', 'dashboards'):\n"
        "    print(resource_dir(kind))",
    )
    assert printed.splitlines() == [
        str(installed / "goodput" / "_shipped" / "sql"),
        str(installed / "goodput" / "_shipped" / "dashboards"),
    ]


def test_an_installed_wheel_has_the_same_models_as_the_checkout(installed):
    program = (
        "from goodput.warehouse.models import find_models\n"
        "for model in find_models():\n"
        "    print(model.table)"
    )
    in_checkout = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert run_installed(installed, "-c", program) == in_checkout


def test_an_installed_wheel_goes_all_the_way_to_the_report(installed, tmp_path):
    (tmp_path / "nodes.csv").write_text(
        "node_uid,gpus,registered_at,ready_at\nn-1,8,2026-03-02T00:00:00Z,2026-03-02T00:00:00Z\n"
    )
    command = ["-m", "goodput", "--lake", str(tmp_path / "lake")]
    run_installed(installed, *command, "import", str(tmp_path / "nodes.csv"))
    out = tmp_path / "report"
    printed = run_installed(installed, *command, "report", "--week", "2026-W10", "--out", str(out))
    assert printed == f"{out / 'report.html'}\n"
    assert (out / "report.html").stat().st_size > 100_000
