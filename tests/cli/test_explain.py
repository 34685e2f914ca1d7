"""`goodput explain`, and what is said before there is a build."""

import json

import pytest


def test_explain_merges_the_gpus_of_a_job(built):
    found = json.loads(built("explain", "-o", "json", "llama").stdout)

    assert (found["kind"], found["key"], found["facts"]["namespace"]) == ("job", "J1", "ml")
    assert [
        (
            row["started_at"][11:16],
            row["ended_at"][11:16],
            row["attempt"],
            row["state"],
            row["gpus"],
        )
        for row in found["timeline"]
    ] == [
        ("00:00", "00:30", 1, "A.productive", 2),
        ("00:30", "00:59", 2, "A.lost.recompute", 1),
        ("00:30", "01:00", 2, "A.lost.recompute", 1),
    ]
    assert sum(row["gpu_hours"] for row in found["totals"]) == pytest.approx(119 / 60)
    [interruption] = found["interruptions"]
    assert interruption["lost_gpu_hours"] == 1.0
    assert [(row["whose"], row["state"]) for row in interruption["costs"]] == [
        ("idle", "I.no_demand"),
        ("its own", "A.lost.recompute"),
    ]
    assert sum(row["gpu_hours"] for row in interruption["costs"]) == pytest.approx(1.0)
    assert [(item["source"], item["is_picked"]) for item in interruption["evidence"]] == [
        ("xid", True),
        ("exit", False),
    ]
    assert {(item["node_uid"], item["node_name"]) for item in interruption["evidence"]} == {
        ("u1", "n1")
    }


def test_explain_one_attempt_in_words(built):
    lines = built("explain", "J1/1").stdout.splitlines()

    assert lines[0] == (
        "job J1, attempt 1 in cluster default (name llama, namespace ml),"
        " 2026-03-02T00:00:00Z to 2026-03-09T00:00:00Z"
    )
    assert lines[-16:] == [
        "Interruptions",
        (
            "  2026-03-02T00:30:00Z  J1/1 failed: gpu.lost, confidence 90 % (proof), "
            "1.00 GPU-hours lost"
        ),
        "    on its own GPUs: 0.98 (A.lost.recompute 0.98)",
        "    on idle ones, which waited: 0.02 (I.no_demand 0.02)",
        "    confidence: +110 proof, -20 a rival",
        "    caused by: the restart of J0/2 after net.fabric",
        "    incident: gpu.lost 1",
        "    competing: net.link",
        "    * 2026-03-02T00:29:59Z xid: 79 on n1, root of gpu.lost  [kernel.log:12]",
        "    - 2026-03-02T00:29:59Z exit: exit code 1 on n1, either of app.code",
        "",
        "Incidents",
        ("  gpu.lost 1 on rack-1: 2 nodes, 1 interruption, 2 outages, 1.50 GPU-hours lost"),
        "",
        "Slow steps",
        (
            "  2026-03-02T00:00:00Z to 2026-03-02T00:20:00Z  J1/1: unk.slow, confidence 60 % (by "
            "elimination, n1 suspected), 200 records of 6000 ms a position where 5000 ms were "
            "possible: 200 s lost on each GPU (180 to 220)"
        ),
    ]


def test_a_long_explanation_is_summed_up_first(built, monkeypatch):
    found = json.loads(built("explain", "-o", "json", "J1").stdout)
    monkeypatch.setattr("goodput.cli.explain._SHORT", 0)
    lines = built("explain", "J1").stdout.splitlines()

    summed = lines.index("Where its GPU-hours went")
    assert lines[summed + 1].split() == ["spent_on", "gpu_hours", "share"]
    assert len(lines[: lines.index("Timeline (UTC)")]) == summed + 2 + len(found["sums"]) + 1
    assert sum(row["gpu_hours"] for row in found["sums"]) == pytest.approx(119 / 60)
    assert sum(row["share"] for row in found["sums"]) == pytest.approx(1)
    assert lines.index("GPU-hours by state and cause") > lines.index("Slow steps")


def test_reasons_come_before_a_long_timeline(built, monkeypatch):
    brief = built("explain", "J1").stdout.splitlines()
    monkeypatch.setattr("goodput.cli.explain._SHORT_TIMELINE", 2)
    long = built("explain", "J1").stdout.splitlines()

    assert brief.index("Timeline (UTC)") < brief.index("Interruptions")
    assert long.index("Slow steps") < long.index("Timeline (UTC)")
    assert long[-4].split()[:2] == ["started_at", "ended_at"]
    assert sorted(brief) == sorted(long)


def test_what_is_cut_is_told(built, monkeypatch):
    whole = built("explain", "J1").stdout.splitlines()
    monkeypatch.setattr("goodput.cli.explain._LONGEST_TIMELINE", 2)
    monkeypatch.setattr("goodput.cli.explain._MOST_EVIDENCE", 1)
    cut = built("explain", "J1").stdout.splitlines()

    assert [line for line in cut if line not in whole] == [
        "1 more row: JOB/ATTEMPT has one attempt, -o json has all",
        "    1 more piece of evidence: -o json has all",
    ]
    assert len(cut) == len(whole)


def test_explain_a_node_with_its_outages(built):
    lines = built("explain", "n1").stdout.splitlines()

    assert lines[0].startswith("node u1 in cluster default (name n1, gpus 2), 2026-03-02T00:00:00Z")
    assert lines[-13:-8] == [
        "Outages",
        "  2026-03-02T00:00:00Z to 2026-03-02T00:01:00Z  node: gpu.lost (not planned, reboot)",
        "    incident: gpu.lost 1",
        "    - Ready=False Gone, 2026-03-02T00:00:00Z to now",
        "",
    ]
    assert lines[-5:] == [
        "Slow steps",
        (
            "  2026-03-02T00:00:00Z to 2026-03-02T00:20:00Z  J1/1: unk.slow, confidence 60 % (by "
            "elimination, n1 suspected), 200 records of 6000 ms a position where 5000 ms were "
            "possible: 200 s lost on each GPU (180 to 220)"
        ),
        "",
        "Suspected to slow its gangs down",
        ("  slow without a known cause: 3 of 3 gangs with it, 0 of 4 without it (p = 0.0078)"),
    ]


def test_explain_something_unknown_offers_what_is_near(built):
    result = built("explain", "lama")

    assert result.exit_code == 2
    assert "did you mean llama (J1)" in result.stderr


@pytest.mark.parametrize("verb", [["explain", "x"], ["metrics"], ["check"], ["report"]])
def test_before_a_build_the_remedy_is_named(goodput, tables, verb):
    goodput("import", tables)
    result = goodput(*verb)

    assert result.exit_code == 4
    assert "run `goodput build` first" in result.stderr


def test_without_a_lake_the_remedy_is_named(goodput):
    result = goodput("build")

    assert result.exit_code == 4
    assert "make one: `goodput import`" in result.stderr
