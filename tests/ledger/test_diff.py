"""`goodput diff` over a lake in which the news of a failure arrives a day late."""

import json

import pytest
from click.testing import CliRunner

from goodput.cli import main

TABLES = {
    "nodes": [{"node_uid": "n1", "pool": "a", "gpus": 2, "registered_at": "2026-03-02T00:00:00Z"}],
    "jobs": [
        {"job": "A", "state": "running", "ingested_at": "2026-03-02T01:00:00Z"},
        {
            "job": "A",
            "state": "failed",
            "ended_at": "2026-03-02T01:30:00Z",
            "ingested_at": "2026-03-03T00:00:00Z",
        },
    ],
    "attempts": [
        {
            "job": "A",
            "attempt": 1,
            "start": "2026-03-02T00:00:00Z",
            "ingested_at": "2026-03-02T01:00:00Z",
        },
        {
            "job": "A",
            "attempt": 1,
            "start": "2026-03-02T00:00:00Z",
            "end": "2026-03-02T01:30:00Z",
            "outcome": "failed",
            "ingested_at": "2026-03-03T00:00:00Z",
        },
    ],
    "pods": [
        {
            "pod_uid": "p1",
            "job": "A",
            "attempt": 1,
            "node_uid": "n1",
            "gpus": 2,
            "bound_at": "2026-03-02T00:00:00Z",
            "running_at": "2026-03-02T00:00:00Z",
        }
    ],
    "steps": [
        {
            "job": "A",
            "attempt": 1,
            "first": 1,
            "last": 60,
            "start": "2026-03-02T00:00:00Z",
            "end": "2026-03-02T01:00:00Z",
        }
    ],
    "checkpoints": [
        {
            "job": "A",
            "attempt": 1,
            "step": 30,
            "write_start": "2026-03-02T00:30:00Z",
            "committed_at": "2026-03-02T00:30:00Z",
        },
        # Listings and logs tell of one checkpoint, each by its own clock.
        *(
            {
                "job": "A",
                "attempt": 1,
                "step": step,
                "write_start": f"2026-03-02T00:{step}:0{second}Z",
                "committed_at": f"2026-03-02T00:{step}:0{second}Z",
                "path": f"/{second}",
                "ingested_at": "2026-03-03T00:00:00Z",
            }
            for step, second in ((20, 3), (20, 4), (30, 5))
        ),
    ],
}
WINDOW = ("--from", "2026-03-02T00:00:00Z", "--to", "2026-03-02T01:00:00Z")
EARLIER, LATER = "2026-03-02T02:00:00Z", "2026-03-04T00:00:00Z"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    (folder / "tables").mkdir()
    for name, rows in TABLES.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "tables" / f"{name}.ndjson").write_text(lines)
    run(folder, "import", str(folder / "tables"))
    return folder


def run(folder, *words):
    return CliRunner().invoke(main, ["--lake", str(folder / "lake"), *words])


@pytest.fixture(scope="module")
def found(lake):
    result = run(lake, "diff", *WINDOW, "--as-of", EARLIER, "--as-of", LATER, "-o", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_provisional_work_became_lost(found):
    moved = [(s["state"], s["cause"], s["delta_gpu_hours"]) for s in found["states"]]
    assert sorted(moved) == [
        ("A.lost.abandoned", "unk.none", 1.0),
        ("A.productive.provisional", None, -1.0),
    ]


def test_the_move_names_job_and_span(found):
    (move,) = found["moves"]
    assert (move["job"], move["earlier_state"], move["later_state"], move["gpu_hours"]) == (
        "A",
        "A.productive.provisional",
        "A.lost.abandoned",
        1.0,
    )
    assert (move["started_at"], move["ended_at"]) == (
        "2026-03-02T00:30:00Z",
        "2026-03-02T01:00:00Z",
    )


def test_what_was_learned_and_which_rows_brought_it(found):
    assert [fact["fact"] for fact in found["learned"]] == [
        "checkpoint 20 committed",
        "attempt 1 ended failed",
        "job failed",
    ]
    late = {(row["table_name"], row["job"], row["row_count"]) for row in found["late_rows"]}
    assert late == {("jobs", "A", 1), ("attempts", "A", 1), ("checkpoints", "A", 3)}


def test_a_long_list_says_how_much_more_there_is_and_how_to_see_it(lake, monkeypatch):
    monkeypatch.setattr("goodput.cli.diff._LISTED", 1)
    words = ("diff", *WINDOW, "--as-of", EARLIER, "--as-of", LATER)
    short, whole = run(lake, *words).stdout, run(lake, *words, "--all").stdout

    # Two states, three facts and three late rows; one move.
    assert short.count("… and 1 more; --all prints them") == 1
    assert short.count("… and 2 more; --all prints them") == 2
    assert "more" not in whole
    assert "job failed" in whole
    assert "job failed" not in short


def test_equal_knowledge_says_so(lake):
    result = run(lake, "diff", *WINDOW, "--as-of", LATER, "--as-of", "2026-03-05T00:00:00Z")
    assert result.exit_code == 0
    assert "Nothing changed." in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--as-of", LATER), "give --as-of twice"),
        (("--as-of", LATER, "--as-of", EARLIER), "swap them"),
        (("--as-of", "2026-03-02T00:10:00Z", "--as-of", LATER), "the window was not over"),
    ],
)
def test_bad_words_are_refused(lake, words, message):
    result = run(lake, "diff", *WINDOW, *words)
    assert result.exit_code == 2
    assert message in result.stderr
