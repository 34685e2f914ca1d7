"""report.json: its shape, its sums, and the files made from it."""

import gzip
import html
import json
import re
import shlex
import shutil
from pathlib import Path

import jsonschema
import pytest
from made_up_week import remake_report

from goodput._resources import resource_dir
from goodput.errors import NoData
from goodput.report import SCHEMA_VERSION, read_result, write_report
from goodput.report.render import render_digest, render_html
from goodput.warehouse.build import restore_variables
from goodput.warehouse.connection import connect

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "report.schema.json").read_text("utf-8")
)


def undocumented(schema, value, path=""):
    """Keys of a value that the schema does not describe."""
    if isinstance(value, dict) and "properties" in schema:
        for key, item in value.items():
            if key not in schema["properties"]:
                yield f"{path}.{key}"
            else:
                yield from undocumented(schema["properties"][key], item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from undocumented(schema.get("items", {}), item, f"{path}[]")


def test_result_is_as_its_schema_says(report):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(report)] == []
    assert sorted(set(undocumented(SCHEMA, report))) == []
    assert report["schema_version"] == SCHEMA_VERSION


def test_every_split_of_the_paid_time_has_the_same_sum(report):
    headline = report["headline"]
    shown = headline["shown_gpu_hours"]
    paid = shown["paid"]
    assert paid == headline["paid_gpu_hours"] == 24 * 8 * 168
    assert sum(step["shown_gpu_hours"] for step in report["waterfall"]) == paid
    assert sum(s["shown_gpu_hours"] for w in report["waterfall"] for s in w["states"]) == paid
    assert sum(step["shown_percent"] for step in report["waterfall"]) == pytest.approx(100)
    charged = ("productive", "lost", "overhead", "unclaimed")
    assert sum(shown[name] for name in charged) == paid
    by_class = sum(row["shown_gpu_hours"] for row in report["lost_classes"])
    assert by_class == shown["lost"] + shown["overhead"]
    assert sum(row["shown_gpu_hours"] for row in report["class_mechanism"]) == by_class


def test_counts_of_failures_are_those_of_the_metrics_and_add_up(report):
    counts = {row["topic"]: row["event_count"] for row in report["failure_counts"]}
    parts: dict[str, int] = {}
    for row in report["failure_counts"]:
        if row["part_of"]:
            parts[row["part_of"]] = parts.get(row["part_of"], 0) + row["event_count"]
    metrics = {
        row["metric"]: row["event_count"] for row in report["metrics"] if row["scope"] == "fleet"
    }

    assert parts == {topic: counts[topic] for topic in parts}
    assert len(parts) == 3
    assert counts["interruptions"] == metrics["interruptions"] == len(report["interruptions"]) > 0
    assert (
        counts["interruptions_on_node"] + counts["interruptions_elsewhere"]
        == (metrics["mttf_hours"])
    )
    assert counts["incidents"] == metrics["failures_per_1000_node_days"]
    assert counts["jobs_failed"] == metrics["jobs_failed"]


def test_shown_hours_are_the_ledgers_rounded(report):
    assert all(abs(s["shown_gpu_hours"] - s["gpu_hours"]) < 1 for s in report["waterfall"])
    headline, goodput = report["headline"], report["headline"]["goodput"]
    exact = {name: headline[f"{name}_gpu_hours"] for name in headline["shown_gpu_hours"]}
    assert all(abs(headline["shown_gpu_hours"][name] - exact[name]) < 1 for name in exact)
    # Exact, so that a reader of report.json gets the metric and no rounded neighbour of it.
    assert exact["productive"] / exact["paid"] == pytest.approx(goodput["paid"], rel=1e-12)
    losses = [row["gpu_hours"] for row in report["lost_classes"] if row["class"] != "base.overhead"]
    assert exact["lost"] == pytest.approx(sum(losses), rel=1e-12)
    assert sum(exact.values()) == pytest.approx(2 * exact["paid"], rel=1e-12)
    assert goodput["paid"] < goodput["demand"] < goodput["allocated"]


def test_days_agree_with_the_availability_of_the_week(report):
    for pool in report["headline"]["availability"]:
        days = [row for row in report["availability_days"] if row["pool"] == pool["pool"]]
        assert len(days) == 7
        assert sum(row["not_ok_node_hours"] for row in days) == pytest.approx(
            pool["not_ok_node_hours"]
        )
        assert sum(row["in_service_node_hours"] for row in days) == pytest.approx(
            pool["in_service_node_hours"]
        )


def test_picked_evidence_comes_first(report):
    row = report["interruptions"][0]
    assert [line["is_picked"] for line in row["evidence"]] == [True, False, False]
    assert row["evidence_count"] == 3
    assert row["evidence"][0]["value"].startswith("NVRM: Xid")


def test_pages_are_made_from_the_result_alone(files, report):
    assert files.html.read_text("utf-8") == render_html(report)
    assert files.digest.read_text("utf-8") == render_digest(report)


def test_writing_again_changes_nothing(week, files, tmp_path):
    again = write_report(week, tmp_path)
    for name in ("json", "html", "digest"):
        assert getattr(again, name).read_bytes() == getattr(files, name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "digest.md",
        "email.eml",
        "email.html",
        "report.html",
        "report.json",
        "report.prom",
        "slack.json",
    ]


def test_page_is_small_and_names_nothing_on_the_network(files):
    page = files.html.read_text("utf-8")
    assert len(page.encode()) < 2_000_000
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r"(?:src|href|url\()=?[\"'(]?(?:https?:)?//", own) == []


def test_digest_says_the_first_screen(files, report):
    digest = files.digest.read_text("utf-8")
    assert digest.startswith("# Goodput Week 48, 2026: 74.4% of paid GPU time\n")
    assert report["headline"]["sentence"] in digest
    assert "| Job success | 81.7% | 67 of 82 jobs; 95% interval 71.6–89.4%; below 99.5% |" in digest


def test_hostile_digest_holds_no_markup(hostile_files):
    digest = hostile_files.digest.read_text("utf-8")
    assert not re.search(r"(?<!\\)<", digest)
    rows = [line for line in digest.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)


def test_without_a_build_there_is_no_report(tmp_path):
    with pytest.raises(NoData, match="goodput build"):
        read_result(tmp_path / "nothing.duckdb")


def test_a_window_without_nodes_is_no_data(empty_path):
    with pytest.raises(NoData, match="no GPU was paid for"):
        read_result(empty_path)


def test_vendored_bundle_is_of_the_figures_major_version():
    from plotly.offline import get_plotlyjs

    packed = resource_dir("dashboards") / "weekly/vendor/plotly-basic.min.js.gz"
    bundle = gzip.decompress(packed.read_bytes()).decode("utf-8")
    version = re.compile(r"v(\d+)\.\d+\.\d+")
    assert version.search(bundle[:200])[1] == version.search(get_plotlyjs()[:200])[1]
    assert "</script" not in bundle


def test_every_query_on_the_page_runs(week, files):
    page = files.html.read_text("utf-8")
    texts = {html.unescape(text) for text in re.findall(r'data-copy="(goodput query [^"]*)"', page)}
    commands = [shlex.split(text) for text in texts]
    con = connect(week, read_only=True)
    for _, _, sql in commands:
        con.execute(sql).fetchall()
    con.close()
    assert len(commands) > 15


def test_several_clusters_are_summed_and_told_apart(week, tmp_path):
    path = tmp_path / "two.duckdb"
    shutil.copy(week, path)
    con = connect(path)
    restore_variables(con)
    for table in ("ledger.device_groups", "ledger.devices", "ledger.node_pieces"):
        con.execute(f"update {table} set cluster = 'second' where pool = 'a100'")
    con.execute("update staged.nodes set cluster = 'second' where pool = 'a100'")
    remake_report(con)
    con.close()
    report = read_result(path)
    assert report["clusters"] == ["lab", "second"]
    assert report["headline"]["paid_gpu_hours"] == 24 * 8 * 168
    assert report["headline"]["goodput"]["paid"] == pytest.approx(0.744, abs=5e-4)
    pools = [(pool["cluster"], pool["pool"]) for pool in report["headline"]["availability"]]
    assert pools == [("lab", "h100"), ("second", "a100")]
    assert "| Availability a100 (second) | 99.36% |" in render_digest(report)
    assert '<th scope="col" class="text">Cluster</th>' in render_html(report)
