"""A server that misbehaves: what is tried again, what is given up, what is kept of it."""

import base64
import json
import socket
import time
from contextlib import closing

import polars as pl
import pytest
from fake_prometheus import Reply, count, failure, matrix, running
from prometheus_samples import START_MS

from goodput.errors import SourceUnreachable, UsageError
from goodput.sources.prometheus_http import Prometheus
from goodput.sources.web import Access

READY = {"node": "n-1", "condition": "Ready", "status": "true"}
NAMES = ["node_condition"]
HOUR_MS = 3_600_000
TOO_MANY = "query processing would load too many samples into memory in query execution"


def an_hour(query="", at_ms=START_MS + HOUR_MS - 1, every_ms=60_000):
    """A sample each minute of what a range query asks for."""
    length = int(query.partition("[")[2].removesuffix("ms]") or HOUR_MS)
    start = at_ms + 1 - length
    return matrix((READY, [(at, "1") for at in range(start, at_ms + 1, every_ms)]))


def runs(lake):
    frames = [pl.read_parquet(file) for file in lake.files("prom_states")]
    rows = pl.concat(frames).sort("from") if frames else pl.DataFrame()
    return [
        (r["value"], r["from"].strftime("%H:%M"), r["last_at"].strftime("%H:%M"), r["samples"])
        for r in rows.iter_rows(named=True)
    ]


def test_a_question_is_about_one_hour_from_a_millisecond_earlier_on(fake, collect, lake):
    fake.replies = [an_hour]

    collect(fake.url, end="01:00", names=NAMES)

    assert fake.queries == [("kube_node_status_condition[3600000ms]", START_MS + HOUR_MS - 1)]
    assert runs(lake) == [("true", "00:00", "00:59", 60)]


def test_a_busy_server_is_asked_again_when_it_says(fake, collect, lake):
    fake.replies = [failure(503, "busy", Retry_After="1"), an_hour()]
    began = time.monotonic()

    collect(fake.url, end="01:00", names=NAMES)

    assert time.monotonic() - began >= 1
    assert runs(lake) == [("true", "00:00", "00:59", 60)]


def test_the_time_to_wait_may_be_a_date(fake, collect, lake):
    fake.replies = [failure(429, "busy", Retry_After="Mon, 02 Mar 2026 00:00:00 GMT"), an_hour()]

    collect(fake.url, end="01:00", names=NAMES)

    assert runs(lake) == [("true", "00:00", "00:59", 60)]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_be_over_soon_is_tried_again(fake, collect, lake, status):
    fake.replies = [failure(status, "later"), failure(status, "later"), an_hour()]

    collect(fake.url, end="01:00", names=NAMES)

    assert len(fake.queries) == 3
    assert runs(lake) == [("true", "00:00", "00:59", 60)]


@pytest.mark.parametrize("cut", [1, 2, 40, 1000])
def test_an_answer_that_is_cut_off_is_read_again_and_counts_once(fake, collect, lake, cut):
    whole = an_hour()
    fake.replies = [Reply(whole.body, cut=cut), whole]

    collected = collect(fake.url, end="01:00", names=NAMES)

    assert collected.samples == 60
    assert runs(lake) == [("true", "00:00", "00:59", 60)]


@pytest.mark.parametrize("body", ["<html>", '{"status":"success"}', '{"status":"error"}', ""])
def test_an_answer_that_is_none_is_given_up_in_the_end(fake, collect, lake, body):
    fake.replies = [Reply(body)]

    with pytest.raises(SourceUnreachable, match="did not answer after 3 tries"):
        collect(fake.url, end="01:00", names=NAMES)
    assert len(fake.queries) == 3
    assert lake.files("prom_slices") == []


def test_what_was_whole_before_a_server_went_away_stays_and_the_next_run_goes_on(
    fake, collect, lake
):
    fake.replies = [an_hour, failure(503, "gone"), failure(503, "gone"), failure(503, "gone")]
    with pytest.raises(SourceUnreachable, match="HTTP 503"):
        collect(fake.url, end="03:00", names=NAMES)
    assert runs(lake) == [("true", "00:00", "00:59", 60)]

    fake.replies = [an_hour]
    second = collect(fake.url, start=None, end="03:00", names=NAMES)

    assert second.rows_added == {"prom_states": 2, "prom_slices": 2}
    assert [row[1:3] for row in runs(lake)] == [
        ("00:00", "00:59"),
        ("01:00", "01:59"),
        ("02:00", "02:59"),
    ]


def test_of_a_first_run_that_ended_before_any_sample_nothing_is_recorded(fake, collect, lake):
    gone = failure(503, "gone")
    fake.replies = [matrix(), gone, gone, gone]
    with pytest.raises(SourceUnreachable, match="HTTP 503"):
        collect(fake.url, start=None, end="03:00", names=NAMES)
    assert lake.files("prom_slices") == []

    fake.replies = [matrix(), an_hour]
    second = collect(fake.url, start=None, end="03:00", names=NAMES)

    assert second.rows_added["prom_slices"] == 24


def test_too_many_samples_are_asked_for_in_halves(fake, collect, lake):
    def refuse(query, at_ms):
        return failure(422, TOO_MANY) if "[900000ms]" not in query else an_hour(query, at_ms)

    fake.replies = [refuse]

    collect(fake.url, end="02:00", names=NAMES)

    lengths = [query.partition("[")[2] for query, _ in fake.queries]
    assert lengths == ["3600000ms]", "1800000ms]"] + ["900000ms]"] * 8
    assert [row[1:] for row in runs(lake)] == [("00:00", "00:59", 60), ("01:00", "01:59", 60)]


def test_more_series_than_one_answer_may_have_are_asked_for_in_parts(fake, collect, lake):
    fake.counts = count(1000)
    fake.replies = [an_hour]

    collect(fake.url, end="01:00", names=NAMES, samples_at_once=30_000)

    assert [query.partition("[")[2] for query, _ in fake.queries] == ["900000ms]"] * 4
    assert runs(lake) == [("true", "00:00", "00:59", 60)]


def test_what_was_asked_for_ahead_may_fail_and_is_asked_again(fake, collect, lake):
    """An hour has as many samples as one request may ask for: the next one is asked for ahead."""
    odd = {3: [failure(503, "busy"), Reply("{}", cut=1)]}

    def reply(query, at_ms):
        hour = (at_ms - START_MS) // HOUR_MS
        return odd[hour].pop() if odd.get(hour) else an_hour(query, at_ms, every_ms=30_000)

    fake.replies = [reply]

    collect(fake.url, end="06:00", names=NAMES, samples_at_once=120)

    hours = [(at_ms - START_MS) // HOUR_MS for _, at_ms in fake.queries]
    assert {hour: hours.count(hour) for hour in hours} == {0: 1, 1: 1, 2: 1, 3: 3, 4: 2, 5: 1}
    assert [row[1:] for row in runs(lake)] == [
        (f"{hour:02}:00", f"{hour:02}:59", 120) for hour in range(6)
    ]


def test_a_server_that_refuses_a_minute_is_given_up(fake, collect):
    fake.replies = [failure(422, TOO_MANY)]

    with pytest.raises(SourceUnreachable, match="refuses even a minute of node_condition"):
        collect(fake.url, end="01:00", names=NAMES)


def test_few_series_are_asked_for_in_more_and_more_hours(fake, collect, lake):
    fake.replies = [an_hour]

    collect(fake.url, end="23:00", names=NAMES)

    hours = [int(q.partition("[")[2].removesuffix("ms]")) // HOUR_MS for q, _ in fake.queries]
    assert hours == [1, 4, 16, 2]
    assert len(runs(lake)) == 23


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "does not let us ask"),
        (403, "does not let us ask"),
        (404, "is the part before /api/v1"),
    ],
)
def test_what_will_not_change_is_not_tried_again(fake, collect, status, message):
    fake.replies = [failure(status, "no")]

    with pytest.raises(SourceUnreachable, match=message):
        collect(fake.url, end="01:00", names=NAMES)
    assert len(fake.queries) == 1


def counting(fake):
    return closing(Prometheus(Access(fake.url, attempts=2, first_wait_s=0.001)))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([{"metric": {}, "value": [0, "+Inf"]}], "it counts inf series"),
        ([{"metric": {}, "value": [0, "NaN"]}], "it counts nan series"),
        ([{"metric": {}, "value": [0, "-1"]}], "it counts -1.0 series"),
        ([{"metric": {}, "value": [0, "1.5"]}], "it counts 1.5 series"),
        ([{"metric": {}, "value": []}], "it is no count of series"),
        ([{"metric": {}, "value": [0, [1]]}], "it is no count of series"),
        ([{"metric": {}, "values": [[0, "1"]]}], "it is no count of series"),
        ([None], "it is no count of series"),
        ([1], "it is no count of series"),
        ({"a": 1}, "it is no count of series"),
        (None, "it is no count of series"),
    ],
)
def test_a_count_that_is_none_is_given_up_with_one_sentence(fake, data, words):
    fake.counts = Reply(json.dumps({"status": "success", "data": {"result": data}}))
    with (
        closing(Prometheus(Access(fake.url, attempts=2, first_wait_s=0.001))) as server,
        pytest.raises(
            SourceUnreachable, match=f"after 2 tries: its answer cannot be used: {words}"
        ),
    ):
        server.count_series("up", START_MS)


def test_a_server_that_is_not_there_is_said_to_be_out_of_reach(capfd):
    with socket.create_server(("127.0.0.1", 0)) as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
    with (
        closing(Prometheus(Access(url, attempts=2, first_wait_s=0.001))) as server,
        pytest.raises(SourceUnreachable, match=r"2 tries: it cannot be reached: .*refused$"),
    ):
        server.count_series("up", START_MS)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("body", ['{"data": 5}', "[1]", "5", '{"data": {}}', "[" * 100_000])
def test_an_answer_without_a_count_is_none_of_prometheus(fake, body):
    fake.counts = Reply(body)
    with (
        closing(Prometheus(Access(fake.url, attempts=2, first_wait_s=0.001))) as server,
        pytest.raises(SourceUnreachable, match=r"its answer cannot be used: it is none of Prom"),
    ):
        server.count_series("up", START_MS)


def test_no_series_are_counted_as_none(fake):
    fake.counts = count(0)

    with closing(Prometheus(Access(fake.url))) as server:
        assert server.count_series("up", START_MS) == 0


def test_a_redirect_to_another_server_is_not_followed(fake):
    there = Reply("", 302, {"Location": fake.url.replace("127.0.0.1", "localhost")})
    fake.counts, fake.replies = there, [there]
    server = Prometheus(Access(fake.url, headers={"X-Scope-OrgID": "tenant"}))

    with pytest.raises(SourceUnreachable, match="sends us on to another server"):
        server.count_series("up", START_MS)
    with pytest.raises(SourceUnreachable, match="sends us on to another server"):
        server.read_range("up", (0, 1000), list)
    server.close()
    assert len(fake.headers) == 2


def test_who_may_not_count_is_told_so(fake, collect):
    fake.counts = failure(403, "rbac: access denied")

    with pytest.raises(SourceUnreachable, match="does not let us ask"):
        collect(fake.url, end="01:00", names=NAMES)


def test_a_silent_server_is_not_waited_for_for_ever(fake, collect):
    fake.replies = [lambda *_: time.sleep(1) or an_hour()]

    with pytest.raises(SourceUnreachable, match="did not answer after 2 tries"):
        collect(fake.url, end="01:00", names=NAMES, access={"timeout_s": 0.2, "attempts": 2})


def test_nobody_there_is_unreachable(collect):
    with pytest.raises(SourceUnreachable, match="did not answer after 2 tries"):
        collect("http://127.0.0.1:9", end="01:00", names=NAMES, access={"attempts": 2})


def test_warnings_are_kept_with_their_hour(fake, collect, lake):
    partial = an_hour()
    body = partial.body[:-1] + ',"warnings":["store a is down","store a is down"]}'
    fake.replies = [Reply(body), an_hour]

    collected = collect(fake.url, end="02:00", names=NAMES)

    assert collected.warnings == ["store a is down"]
    frames = [pl.read_parquet(file) for file in lake.files("prom_slices")]
    slices = pl.concat(frames).sort("from")
    assert slices["warnings"].to_list() == ["store a is down", None]
    assert slices["samples"].to_list() == [60, 60]


def test_a_token_is_read_for_each_request_and_sent_with_the_headers(fake, collect, tmp_path):
    token = tmp_path / "token"
    token.write_text("first\n")

    def rotate(query, at_ms):
        token.write_text("second\n")
        return an_hour(query, at_ms)

    fake.replies = [rotate]
    access = {"token_file": token, "headers": {"X-Scope-OrgID": "team"}}

    collect(fake.url, end="02:00", names=NAMES, access=access)

    sent = [headers["Authorization"] for headers in fake.headers]
    assert sent == ["Bearer first"] * 3 + ["Bearer second"] * 2
    assert {headers["X-Scope-OrgID"] for headers in fake.headers} == {"team"}


def test_a_name_and_password_are_sent(fake, collect):
    fake.replies = [an_hour]

    collect(fake.url, end="01:00", names=NAMES, access={"user": ("goodput", "s:cret")})

    expected = "Basic " + base64.b64encode(b"goodput:s:cret").decode()
    assert {headers["Authorization"] for headers in fake.headers} == {expected}


def test_a_missing_token_file_is_said(fake, collect, tmp_path):
    with pytest.raises(UsageError, match="token file cannot be read"):
        collect(fake.url, end="01:00", names=NAMES, access={"token_file": tmp_path / "none"})


def test_a_missing_certificate_is_said(collect, tmp_path):
    with pytest.raises(UsageError, match=r"there is no file .*none.pem; see --ca"):
        collect("https://x", end="01:00", names=NAMES, access={"ca": str(tmp_path / "none.pem")})


def test_an_address_that_is_none_is_said(collect):
    with pytest.raises(UsageError, match="is no http"):
        collect("prometheus:9090", end="01:00", names=NAMES)


@pytest.fixture
def tls_fake(mutual_tls):
    """A server that talks only to who shows the client's certificate."""
    with running(mutual_tls) as server:
        server.replies = [an_hour]
        yield server


def test_a_client_certificate_opens_the_door(tls_fake, certificates, collect, lake):
    access = {
        "ca": str(certificates / "server.pem"),
        "certificate": (str(certificates / "client.pem"), str(certificates / "client.key")),
    }

    collect(tls_fake.url, end="01:00", names=NAMES, access=access)

    assert runs(lake) == [("true", "00:00", "00:59", 60)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_server_that_nobody_vouches_for_is_not_talked_to(tls_fake, collect):
    with pytest.raises(SourceUnreachable, match="no trusted connection"):
        collect(tls_fake.url, end="01:00", names=NAMES)
    assert tls_fake.headers == []
