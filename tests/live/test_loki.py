"""`collect logs --loki`: pages without tokens, parts that grow, and whose logs the streams are."""

from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from goodput.cli import main
from goodput.errors import SourceUnreachable, UsageError
from goodput.sources.live_logs import LogOptions, take_logs
from goodput.sources.live_loki import LokiLogs, log_name
from goodput.sources.loki_http import Loki
from goodput.sources.web import Access
from goodput.synth import loki_server

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
UID = "6f1c2d3e-0000-4000-8000-000000000001"
LABELS = {"namespace": "team", "pod": "train-0", "container": "main"}
QUERY = '{namespace="team"}'


def ns(second):
    """Nanoseconds of a second after nine o'clock."""
    return int((NOW - timedelta(hours=1)).timestamp()) * 10**9 + round(second * 10**9)


def steps(*seconds):
    return [(ns(second), f"completed step: {second}, seconds: 1.0") for second in seconds]


@pytest.fixture
def server():
    with loki_server.running() as server:
        yield server.streams, server.url


@pytest.fixture
def loki(server):
    return server[0]


@pytest.fixture
def ask(server):
    def entries(page=5000, query=QUERY, **more):
        client = Loki(Access(server[1], attempts=3, first_wait_s=0.001, **more), page)
        try:
            return [entry.line for entry in client.entries(query, ns(0), ns(3600))]
        finally:
            client.close()

    return entries


@pytest.fixture
def collect(server, lake):
    def run(now=NOW, query=QUERY, start=None):
        client = Loki(Access(server[1]), 3)
        source = LokiLogs(client, query, now, start=start)
        taken = take_logs(lake, source, LogOptions(), now=now)
        client.close()
        added = {table: count for table, count in taken.rows_added.items() if count}
        added.pop("log_lists", None)  # each look has one
        return added

    return run


def test_entries_of_one_instant_are_whole_across_pages_and_come_once(loki, ask):
    loki.add(LABELS, (ns(1), "a"), (ns(2), "b"), (ns(2), "c"), (ns(3), "d"))
    loki.add({**LABELS, "pod": "train-1"}, (ns(2), "b"), (ns(2), "e"), (ns(2), "f"))
    assert sorted(ask(page=6)) == ["a", "b", "b", "c", "d", "e", "f"]
    assert [request["start"] for request in loki.requests] == [
        str(ns(0)),
        str(ns(2)),
        str(ns(3)),
    ]
    assert {request["direction"] for request in loki.requests} == {"forward"}


def test_more_entries_of_one_instant_than_a_page_holds_are_an_error_and_no_endless_loop(loki, ask):
    loki.add(LABELS, *((ns(1), str(number)) for number in range(5)))
    with pytest.raises(SourceUnreachable, match="more than 3 entries of one instant"):
        ask(page=3)


def test_what_lies_before_the_start_is_left_out(loki, ask):
    loki.add(LABELS, (ns(1), "a"))
    loki.early = (ns(-5), 0, "early")
    assert ask() == ["a"]


def streams(*values, labels=LABELS, kind="streams"):
    result = [{"stream": labels, "values": list(values)}]
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def test_a_server_that_always_gives_the_same_page_is_an_error_and_no_endless_loop(loki, ask):
    loki.fixed = streams(*([str(ns(second)), f"line {second}"] for second in (1, 2, 3)))

    with pytest.raises(SourceUnreachable, match="the same entries whatever `start` it is asked"):
        ask(page=3)
    assert len(loki.requests) == 2


def test_a_page_that_goes_beyond_the_end_is_the_last(loki, ask):
    values = [[str(ns(second)), f"line {second}"] for second in (1, 3600, 3601)]
    loki.fixed = streams(*values)

    with pytest.raises(SourceUnreachable, match="the same entries whatever `start` it is asked"):
        ask(page=3)
    assert [int(asked["start"]) for asked in loki.requests] == [ns(0), ns(1)]


@pytest.mark.parametrize(
    "body",
    [
        "<html>",
        '{"data": []}',
        '{"data": 5}',
        "[" * 100_000,
        '{"data": {"resultType": "streams", "result": null}}',
        '{"data": {"resultType": "streams", "result": [{"stream": {}, "values": [[1e999, "x"]]}]}}',
        streams(["1"]),
        streams([1, "x"]),
        streams(["1.5", "x"]),
        streams(["²", "x"]),
        streams(["9" * 5000, "x"]),
        streams(["1", {"a": 1}]),
        streams(["1", "x"], labels="x"),
        streams(["1", "x"], kind=["streams"]),
        streams(["1", "x"], kind="new"),
    ],
)
def test_an_answer_of_other_types_is_given_up_with_one_sentence(loki, ask, body):
    loki.fixed = body

    with pytest.raises(SourceUnreachable, match="after 3 tries: the answer is none of Loki's"):
        ask()
    assert len(loki.requests) == 3


@pytest.mark.parametrize("what", ["headers", "body"])
def test_an_answer_that_drips_is_cut_off(loki, ask, what):
    loki.drips = what

    with pytest.raises(SourceUnreachable, match="after 3 tries: its answer cannot be used"):
        ask(answer_s=0.5)
    assert len(loki.requests) == 3


def test_numbers_are_an_error_of_the_query(loki, ask):
    loki.fixed = streams(["1", "x"], kind="matrix")

    with pytest.raises(UsageError, match="the query gives matrix and no lines"):
        ask()


@pytest.mark.parametrize(
    "target",
    ["http://localhost:{port}/x", "http://127.0.0.1:1/x", "file:///etc/passwd", "http://[x", "//x"],
)
def test_headers_do_not_go_to_another_server(server, ask, target):
    loki, url = server
    target = target.format(port=url.rpartition(":")[2])
    loki.fixed = 302, "", [("Location", target)]

    with pytest.raises(SourceUnreachable, match="sends us on to another server"):
        ask(headers={"X-Scope-OrgID": "tenant"})
    assert len(loki.requests) == 1


def test_a_server_may_send_us_on_to_itself(loki, ask):
    loki.fixed = 307, "", [("Location", "/elsewhere")]

    with pytest.raises(SourceUnreachable, match="answered HTTP 404"):
        ask()


@pytest.mark.parametrize(
    "wait", ["²", "-1", "soon", "Fri, 31 Dec 9999 23:59:59 -9900", "Mon, 99 Mar 2026 00:00 GMT"]
)
def test_a_time_to_wait_that_is_none_is_not_heeded(loki, ask, wait):
    loki.fixed = 503, "busy", [("Retry-After", wait)]

    with pytest.raises(SourceUnreachable, match="after 3 tries: HTTP 503: busy"):
        ask()


@pytest.mark.parametrize("fault", [429, 500, 502, 503, 504, "cut"])
def test_what_passes_is_tried_again(loki, ask, fault):
    loki.add(LABELS, (ns(1), "a"))
    loki.faults = [fault, fault]
    assert ask() == ["a"]


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "does not let us ask"), (404, "is the part before"), (503, "after 3 tries")],
)
def test_what_does_not_pass_says_why(loki, ask, status, words):
    loki.faults = [status] * 3
    with pytest.raises(SourceUnreachable, match=words):
        ask()


def test_a_query_or_a_page_that_it_refuses_is_an_error_of_the_user(loki, ask):
    with pytest.raises(UsageError, match=r"refuses the query: parse error.*see --loki-query"):
        ask(query="up")
    loki.most = 100
    with pytest.raises(UsageError, match=r"max entries limit.*smaller --loki-page"):
        ask()


def test_it_asks_for_labels_apart_from_what_was_found_in_lines(loki, ask):
    ask(headers={"X-Scope-OrgID": "team"})
    [headers] = loki.headers
    assert headers["X-Loki-Response-Encoding-Flags"] == "categorize-labels"
    assert headers["X-Scope-OrgID"] == "team"


def test_runs_go_on_where_the_last_one_ended_and_no_step_is_lost_or_doubled(loki, collect, rows):
    loki.add(LABELS, *steps(1, 2, 3, 4, 5))
    early = NOW - timedelta(minutes=30)
    assert collect(early) == {"log_files": 1, "log_reads": 1, "log_segments": 1, "log_steps": 5}
    assert collect(early) == {}
    loki.entries[0][1].extend(steps(4, 2000))
    loki.entries[0][1].sort()
    collect()
    assert rows("log_steps", "distinct first") == [(1,), (2,), (3,), (4,), (5,), (2000,)]
    starts = [int(request["start"]) for request in loki.requests]
    assert starts[-1] >= ns(-3 * 3600)
    assert rows("log_lists", "listed_at, root, is_complete, files") == [
        ("09:30:00", f"loki {QUERY}", True, 1),
        ("10:00:00", f"loki {QUERY}", True, 1),
    ]
    assert rows("log_reads", "distinct root") == [(f"loki {QUERY}",)]


def test_a_look_that_finds_no_line_proves_nothing(collect, rows):
    collect()
    assert rows("log_lists", "is_complete, files, unseen") == [(False, 0, None)]


def test_parts_are_cut_at_fixed_hours_and_are_one_stream(loki, collect, rows):
    loki.add(LABELS, *steps(1, 2), *steps(3 * 3600, 3 * 3600 + 1))
    collect(NOW + timedelta(hours=3))
    name = "namespace=team/pod=train-0/team_train-0_main.log"
    found = rows("log_files", "split_part(path, ' ', 2), split_part(stream, ' ', 2), pod")
    assert found == [
        ("container=main/" + name + ".20260302-060000", "container=main/" + name, "train-0"),
        ("container=main/" + name + ".20260302-120000", "container=main/" + name, "train-0"),
    ]


def test_another_query_begins_for_itself(loki, collect, rows):
    loki.add(LABELS, *steps(1))
    loki.add({**LABELS, "namespace": "other", "pod": "q"}, *steps(2))
    collect()
    collect(query='{namespace="other"}')
    assert rows("log_files", "namespace, pod") == [("other", "q"), ("team", "train-0")]


def test_what_differs_from_line_to_line_makes_no_log_of_its_own(loki, collect, rows):
    loki.add({**LABELS, "stream": "stdout", "detected_level": "info"}, *steps(1, 3))
    loki.add({**LABELS, "stream": "stderr", "detected_level": "error"}, *steps(2))
    collect()
    assert rows("log_files", "first_step, last_step") == [(1, 3)]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (
            {"filename": f"/var/log/pods/team_train-0_{UID}/main/1.log", "app": "a/b"},
            f"app=a_b/var/log/pods/team_train-0_{UID}/main/1.log",
        ),
        ({"k8s_pod_name": "p", "rank": "3"}, "k8s_pod_name=p/rank=3/unknown_p_unknown.log"),
        ({}, "unknown_unknown_unknown.log"),
    ],
)
def test_labels_say_whose_log_it_is(labels, name):
    assert log_name(labels) == name


def test_the_file_that_the_kubelet_wrote_tells_the_uid_of_the_pod(loki, collect, rows):
    file = f"/var/log/pods/team_train-0_{UID}/main/1.log"
    loki.add({"filename": file, "namespace": "team", "job": "team/main"}, *steps(1))
    collect()
    assert rows("log_files", "namespace, pod, pod_uid, container") == [
        ("team", "train-0", UID, "main")
    ]


def test_lines_as_the_container_runtime_wrote_them_keep_its_time(loki, collect, rows):
    loki.add(LABELS, (ns(5), "2026-03-02T09:00:01.5Z stdout F completed step: 1, seconds: 1.0"))
    collect()
    assert rows("log_steps", "first, ended_at::timestamp::varchar") == [
        (1, "2026-03-02 09:00:01.5")
    ]


def test_the_command(server, loki, tmp_path):
    words = ["--lake", str(tmp_path / "lake"), "collect", "logs"]
    just_now = round((datetime.now(UTC) - timedelta(minutes=1)).timestamp()) * 10**9
    loki.add(LABELS, (just_now, "completed step: 1, seconds: 1.0"))
    done = CliRunner().invoke(main, [*words, "--loki", server[1], "--loki-query", QUERY])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "log_steps: 1 new row\n" in done.stderr
    for more in (
        [],
        ["--loki", server[1]],
        ["/", "--pods"],
        ["/", "--loki", server[1], "--loki-query", QUERY],
    ):
        assert CliRunner().invoke(main, [*words, *more]).exit_code == UsageError.exit_code
