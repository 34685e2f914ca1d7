"""Every notebook runs on a small lake, is committed without outputs, and keeps its form."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from goodput.lake import Lake
from goodput.sources.typed import import_files
from goodput.warehouse.build import build
from goodput.window import Window

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# Two nodes; a job that loses half an hour to a GPU that fell off the bus, and then ends well.
TABLES = {
    "nodes": """\
node_uid,name,pool,gpus,registered_at,ready_at
n-1,gpu-1,train,8,2026-03-02T00:00:00Z,2026-03-02T00:00:00Z
n-2,gpu-2,train,8,2026-03-02T00:00:00Z,2026-03-02T00:00:00Z
""",
    "jobs": """\
job,name,namespace,kind,state,ended_at
j-1,llama,ml,training,succeeded,2026-03-02T06:00:00Z
""",
    "attempts": """\
job,attempt,start,end,outcome
j-1,1,2026-03-02T01:00:00Z,2026-03-02T02:00:00Z,failed
j-1,2,2026-03-02T02:10:00Z,2026-03-02T06:00:00Z,succeeded
""",
    "pods": """\
pod_uid,name,job,attempt,node_uid,gpus,bound_at,running_at,terminated_at
p-1,llama-0,j-1,1,n-1,8,2026-03-02T01:00:00Z,2026-03-02T01:00:00Z,2026-03-02T02:00:00Z
p-2,llama-0,j-1,2,n-2,8,2026-03-02T02:10:00Z,2026-03-02T02:10:00Z,2026-03-02T06:00:00Z
""",
    "steps": """\
job,attempt,first,last,start,end
j-1,1,1,50,2026-03-02T01:10:00Z,2026-03-02T02:00:00Z
j-1,2,21,230,2026-03-02T02:20:00Z,2026-03-02T05:50:00Z
""",
    "checkpoints": """\
job,attempt,step,write_start,committed_at
j-1,1,20,2026-03-02T01:30:00Z,2026-03-02T01:30:00Z
j-1,2,230,2026-03-02T05:50:00Z,2026-03-02T05:50:00Z
""",
    "evidence": """\
node_uid,job,attempt,t,source,value
n-1,j-1,1,2026-03-02T02:00:00Z,xid,79
""",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "tables").mkdir()
    for name, text in TABLES.items():
        (folder / "tables" / f"{name}.csv").write_text(text)
    lake = Lake.open(folder / "lake", create=True)
    result = import_files(lake, folder / "tables")
    assert result.quarantined == 0
    build(lake, Window.of_week("2026-W10"))
    return folder / "lake"


def read(path):
    return nbformat.read(path, as_version=4)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.name)
def notebook(request):
    return read(request.param)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_its_title_is_a_question(notebook):
    assert re.match(r"# .+\?\n", notebook.cells[0].source)


def test_its_first_code_is_the_parameters_alone(notebook):
    first = code(notebook)[0]
    assert first.metadata["tags"] == ["parameters"]
    assert re.fullmatch(r'lake = "(\.\./demo/lake|my-lake)"', first.source)


def test_it_is_committed_without_outputs(notebook):
    assert [cell for cell in code(notebook) if cell.outputs or cell.execution_count] == []


def test_it_uses_the_public_interface_only(notebook):
    text = "\n".join(cell.source for cell in code(notebook))
    assert re.findall(r"(?:from|import) goodput\S*.*", text) == ["import goodput as gp"]


def test_a_sentence_follows_every_chart(notebook):
    cells = notebook.cells
    charts = [i for i, cell in enumerate(cells) if "go.Figure(" in cell.source]
    assert charts
    assert [i for i in charts if "Markdown(" not in cells[i + 1].source] == []


def outputs(notebook, mime):
    found = []
    for cell in code(notebook):
        for output in cell.outputs:
            found += [output.data[mime]] if mime in output.get("data", {}) else []
    return found


def executed(name, lake):
    """A notebook, run on the small lake."""
    notebook = read(ROOT / "notebooks" / name)
    code(notebook)[0].source = f"lake = {str(lake)!r}"
    NotebookClient(notebook, timeout=120).execute()
    return notebook


@pytest.fixture(scope="module")
def first_look(lake):
    return executed("01_first_look.ipynb", lake)


@pytest.fixture(scope="module")
def bad_week(lake):
    return executed("02_explain_a_bad_week.ipynb", lake)


@pytest.fixture(scope="module")
def survival(lake):
    return executed("03_failure_survival_and_mttf.ipynb", lake)


@pytest.fixture(scope="module")
def what_if(lake):
    return executed("04_what_if_checkpoint_interval.ipynb", lake)


@pytest.fixture(scope="module")
def own_data(tmp_path_factory):
    return executed("05_bring_your_own_data.ipynb", tmp_path_factory.mktemp("own") / "lake")


def test_the_first_look_draws_its_charts_and_says_what_they_show(first_look):
    assert len(outputs(first_look, "application/vnd.plotly.v1+json")) == 2
    paid, cost = outputs(first_look, "text/markdown")
    assert paid.startswith("The bars sum to the **2,688** GPU-hours that were paid;")
    assert cost.startswith("*GPU lost from the bus* cost most:")


def test_the_first_look_ends_with_the_answer(first_look):
    [answer] = [output.text for output in code(first_look)[-1].outputs]
    # 20 steps kept of the first attempt, 210 of the second, a minute each, on 8 of 16 GPUs.
    share = (20 + 210) / 60 * 8 / (16 * 24 * 7)
    assert answer.startswith(f"{share:.1%} of the paid GPU time became training progress.")
    assert "interruption was llama, attempt 1: gpu.lost" in answer


def test_the_what_if_draws_its_charts_and_says_what_they_show(what_if):
    assert len(outputs(what_if, "application/vnd.plotly.v1+json")) == 2
    interval, change = outputs(what_if, "text/markdown")
    # The first attempt worked for 50 minutes, the second for 210 and ended well: with a save every
    # 5 minutes nothing is lost.
    before, after = (230 / 60 * 8 / (16 * 24 * 7), 260 / 60 * 8 / (16 * 24 * 7))
    assert interval == (
        "Of these intervals **5 minutes** would have been best: "
        f"goodput {after:.2%}, and {before:.2%} as recorded."
    )
    # 30 minutes of lost work, 10 of init and a wait of 10 become work.
    assert change.startswith("Most work comes from the change *without the worst node*: **7**")


def test_the_what_if_ends_with_the_answer(what_if):
    [answer] = [output.text for output in code(what_if)[-1].outputs]
    assert answer.startswith("Checkpoints every 5 minutes: goodput 1.3% instead of 1.1%;")
    assert answer.endswith("The worst node is gpu-1.\n")


def test_the_bad_week_shows_the_report_the_days_and_the_story(bad_week):
    assert len(outputs(bad_week, "application/vnd.plotly.v1+json")) == 2
    pages = outputs(bad_week, "text/html")
    assert pages[0].startswith("<iframe sandbox")
    assert "<h4>job j-1, attempt 1 in cluster default</h4>" in pages[-1]
    day, incidents = outputs(bad_week, "text/markdown")
    # All of it on the first day: 30 minutes of lost work, the wait and the start, on 8 GPUs.
    assert day.startswith("The worst day was **Monday, 02 March**:")
    assert day.endswith("100% of what the week lost.")
    assert incidents.startswith("**1** incidents; the 1 largest made 100%")


def test_the_bad_week_ends_with_the_line_that_decided(bad_week):
    [answer] = [output.text for output in code(bad_week)[-1].outputs]
    assert "The most expensive interruption hit llama: gpu.lost, confidence " in answer
    assert answer.endswith("It was decided by: xid: 79\n")


def test_survival_is_drawn_with_its_interval(survival):
    curve, sizes = outputs(survival, "application/vnd.plotly.v1+json")
    # One of two attempts failed, after its first hour; the other ended well after 3 h 50 min.
    [_, _, line] = curve["data"]
    assert [line["x"], line["y"]] == [[0.0, 1.0, 23 / 6], [1, 0.5, 0.5]]
    assert sizes["data"][0]["x"] == ["1-8 GPUs"]
    failed, alone = outputs(survival, "text/markdown")
    assert failed == (
        "**1** of the attempts failed, out of at most 2 at risk at a time. "
        "Half are gone after **1.0 hours**."
    )
    assert alone == "Too few sizes were interrupted to compare any."


def test_survival_ends_with_the_mean_and_its_interval(survival):
    [answer] = [output.text for output in code(survival)[-1].outputs]
    assert answer.startswith(
        "A job runs 4.8 hours between interruptions on average (95 % interval "
    )
    assert answer.endswith(", from 1 interruptions.\n")


def test_data_from_elsewhere_become_an_account(own_data):
    [chart] = outputs(own_data, "application/vnd.plotly.v1+json")
    alone, logged = ({**dict(zip(bar["x"], bar["y"], strict=True))} for bar in chart["data"])
    # Two nodes of eight GPUs for two days, whatever is known about them.
    assert sum(alone.values()) == pytest.approx(2 * 8 * 48)
    assert sum(logged.values()) == pytest.approx(2 * 8 * 48)
    # 700 steps of the first run and 1776 of the second, a minute each, on eight GPUs.
    assert (alone["Productive"], logged["Productive"]) == (0, pytest.approx(2476 / 60 * 8))
    assert logged["Work done and thrown away"] == pytest.approx(40 / 60 * 8)


def test_data_from_elsewhere_end_with_the_answer(own_data):
    [answer] = [output.text for output in code(own_data)[-1].outputs]
    assert answer.startswith(f"At least {2476 / 60 * 8 / 768:.1%} of 768 paid GPU-hours")
    assert "threw away 5.3 GPU-hours" in answer
