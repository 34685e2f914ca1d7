"""Requests: what is tried again, how long, and what is taken for an answer."""

import contextlib
import io
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from fake_kubernetes import Fault

from goodput.sources import kubernetes_api
from goodput.sources.kube_access import ClusterAccess
from goodput.sources.kube_answers import Refused, Unanswered, json_list
from goodput.sources.kube_opening import open_api
from goodput.sources.kube_patience import Patience
from goodput.sources.kubernetes_api import KubernetesApi

PODS = "/api/v1/pods"
HASTE = Patience(read_s=5, attempts=4, first_wait_s=0.001, longest_wait_s=0.01, jitter_s=0)


def test_an_answer_has_the_servers_time_and_came_packed(api):
    answer = api.get("/api/v1/nodes")
    assert answer.at == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert answer.body["kind"] == "NodeList"


@pytest.mark.parametrize("what", ["busy", "broken", "cut", "reset", "html"])
def test_what_passes_is_tried_again(api, cluster, what):
    cluster.faults["pods"] = Fault(what, range(3))
    assert api.get(PODS).body["kind"] == "PodList"
    assert len(cluster.asked("pods")) == 4


@pytest.mark.parametrize(
    ("what", "status"),
    [("busy", 429), ("broken", 500), ("cut", 200), ("reset", None), ("html", 200)],
)
def test_patience_ends(api, cluster, what, status):
    cluster.faults["pods"] = Fault(what, range(99))
    with pytest.raises(Unanswered) as caught:
        api.get(PODS)
    assert caught.value.status == status
    assert len(cluster.asked("pods")) == 4


def test_the_wait_that_the_server_asks_for_is_kept(api, cluster):
    cluster.faults["pods"] = Fault("busy", range(1), value="1")
    started = time.monotonic()
    api.get(PODS)
    assert 1 <= time.monotonic() - started < 5


def test_a_server_that_hangs_is_left(kubeconfig, cluster):
    cluster.faults["pods"] = Fault("hang", range(1), value="3")
    api = open_api(kubeconfig, patience=Patience(read_s=0.2, first_wait_s=0.001, jitter_s=0))
    started = time.monotonic()
    assert api.get(PODS).body["kind"] == "PodList"
    assert time.monotonic() - started < 3
    api.close()


def test_a_token_that_ran_out_is_read_again(api, cluster, tmp_path):
    cluster.faults["pods"] = Fault("unauthorized", range(1, 2), value="next")
    api.get(PODS)
    (tmp_path / "token").write_text("next\n")
    assert api.get(PODS).body["kind"] == "PodList"
    assert len(cluster.asked("pods")) == 3


def test_of_several_whose_token_ran_out_one_signs_in_for_all(server, cluster):
    cluster.tokens = {"good"}
    cluster.add("pods", {"metadata": {"name": "p"}})
    signed_in = []

    def sign_in():
        signed_in.append(threading.current_thread())
        time.sleep(0.05)
        return ClusterAccess(server.url, "Bearer good", None)

    old = ClusterAccess(server.url, "Bearer old", None)
    with (
        contextlib.closing(KubernetesApi(old, sign_in, HASTE)) as api,
        ThreadPoolExecutor(4) as threads,
    ):
        answers = list(threads.map(lambda _: api.get(PODS).body["kind"], range(4)))
    assert answers == ["PodList"] * 4
    assert len(signed_in) == 1


def test_a_token_that_stays_bad_is_refused_at_once(api, cluster):
    cluster.tokens.clear()
    with pytest.raises(Refused, match="401: Unauthorized"):
        api.get(PODS)
    assert len(cluster.asked("pods")) == 2


def test_what_is_forbidden_or_absent_is_not_tried_again(api, cluster):
    cluster.forbidden.add("pods")
    with pytest.raises(Refused, match='403: pods is forbidden: User "goodput"'):
        api.get(PODS)
    with pytest.raises(Refused, match="404"):
        api.get("/apis/ray.io/v1/rayjobs")
    assert len(cluster.requests) == 2


def test_nobody_there_is_unanswered(kubeconfig):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        config = yaml.safe_load(kubeconfig.read_text())
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        config["clusters"][0]["cluster"]["server"] = address
        kubeconfig.write_text(yaml.safe_dump(config))
        api = open_api(kubeconfig, patience=Patience(attempts=2, first_wait_s=0.001, jitter_s=0))
        with pytest.raises(Unanswered, match="refused") as caught:
            api.get(PODS)
    assert caught.value.status is None


def test_a_text_is_fetched_whole_or_again_and_with_a_new_token(api, cluster, tmp_path):
    pod = {"metadata": {"name": "p", "namespace": "team"}}
    cluster.add("pods", pod)
    cluster.logs["team/p/main"] = [["2026-03-02T09:00:00Z one", "2026-03-02T09:00:01Z two"]]
    cluster.faults["log"] = Fault("cut", range(1))
    cluster.tokens = {"next"}
    (tmp_path / "token").write_text("next")
    text = io.BytesIO(b"what was there before is gone")
    path = "/api/v1/namespaces/team/pods/p/log"
    at = api.fetch(path, {"container": "main"}, text, 2)
    assert (text.getvalue(), at) == (b"one\ntwo\n", datetime(2026, 3, 2, 10, tzinfo=UTC))


def test_an_answer_that_is_not_quite_json_is_read_all_the_same(api, cluster):
    cluster.add("pods", {"metadata": {"name": "half a pair: \ud83d"}})
    assert api.get(PODS).body["items"][0]["metadata"]["name"] == "half a pair: \ud83d"


@pytest.fixture
def hasty(kubeconfig):
    """Gives a body, or a line of a watch, a fifth of a second, and silence much longer."""
    api = open_api(
        kubeconfig, patience=Patience(body_s=0.2, attempts=2, first_wait_s=0.001, jitter_s=0)
    )
    yield api
    api.close()


@pytest.fixture
def dripping(server, cluster):
    """Lets every body be spaces without end, one at a time."""

    class Dripping(server.RequestHandlerClass):
        def do_GET(self):  # noqa: N802 - the base's
            cluster.requests.append((self.path.partition("?")[0], {}))
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            with contextlib.suppress(OSError):
                while not cluster.closing:
                    self.wfile.write(b" ")
                    time.sleep(0.01)

    server.RequestHandlerClass = Dripping
    yield
    cluster.closing = True


@pytest.mark.usefixtures("dripping")
def test_an_answer_that_drips_has_its_time(hasty, cluster):
    with pytest.raises(Unanswered, match=r"the answer was not over after 0\.2 s") as caught:
        hasty.get(PODS)
    assert (caught.value.status, len(cluster.asked("pods"))) == (200, 2)
    with pytest.raises(Unanswered, match="not over"):
        hasty.fetch(f"{PODS}/log", {}, io.BytesIO(), 1)


def test_headers_that_drip_have_their_time(kubeconfig, server, cluster):
    class Dripping(server.RequestHandlerClass):
        def do_GET(self):  # noqa: N802 - the base's
            cluster.requests.append((self.path.partition("?")[0], {}))
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            with contextlib.suppress(OSError):
                while not cluster.closing:
                    self.wfile.write(b"a")
                    time.sleep(0.01)

    server.RequestHandlerClass = Dripping
    patience = Patience(read_s=0.25, body_s=0.25, attempts=2, first_wait_s=0.001, jitter_s=0)
    with (
        contextlib.closing(open_api(kubeconfig, patience=patience)) as api,
        pytest.raises(Unanswered, match=r"no answer began within 0\.5 s"),
    ):
        api.get(PODS)
    assert len(cluster.asked("pods")) == 2
    cluster.closing = True


@pytest.mark.usefixtures("dripping")
def test_a_line_of_a_watch_that_drips_has_its_time(hasty):
    with pytest.raises(Unanswered, match=r"a line of a watch was not over after 0\.2 s"):
        list(hasty.follow(PODS, {}))


@pytest.mark.usefixtures("dripping")
def test_a_line_of_a_watch_has_an_end(api, monkeypatch):
    monkeypatch.setattr(kubernetes_api, "_LONGEST_LINE_BYTES", 5)
    with pytest.raises(Unanswered, match="a line of a watch has more than 5 bytes"):
        list(api.follow(PODS, {}))


def test_a_page_has_an_end(api, cluster, monkeypatch):
    """A server may heed no limit, or never stop to write."""
    monkeypatch.setattr(kubernetes_api, "_LARGEST_BODY_BYTES", 50)
    with pytest.raises(Unanswered, match="the answer has more than 50 bytes") as caught:
        api.get(PODS)
    assert (caught.value.status, len(cluster.asked("pods"))) == (200, 4)


def test_lines_of_a_watch_outlast_the_time_of_one(hasty, server):
    class Slow(server.RequestHandlerClass):
        def do_GET(self):  # noqa: N802 - the base's
            self.send_response(200)
            self.send_header("Content-Length", "20")
            self.end_headers()
            for _ in range(10):
                self.wfile.write(b"a\n")
                time.sleep(0.04)

    server.RequestHandlerClass = Slow
    assert list(hasty.follow(PODS, {})) == [b"a"] * 10


def test_a_watch_that_is_put_off_is_no_refusal(api, cluster):
    cluster.faults["pods"] = Fault("busy", range(1))
    with pytest.raises(Unanswered, match="429: too many requests"):
        list(api.follow(PODS, {"watch": "true"}))


@pytest.mark.parametrize(
    "date",
    [
        "",
        "no date",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 31 Dec 9999 23:59:59 -2300",
        "Mon, 01 Jan 0001 00:00:00 +2300",
        "Mon, 01 Jan 99999 00:00:00 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
    ],
)
def test_a_clock_that_cannot_be_is_not_believed(api, cluster, date):
    cluster.now = date
    before = datetime.now(UTC).replace(microsecond=0)
    at = api.get(PODS).at
    assert before <= at <= datetime.now(UTC)
    assert before - timedelta(seconds=1) <= api.now() <= datetime.now(UTC) + timedelta(seconds=1)


@pytest.mark.parametrize("status", [None, [], {}, {"allowed": None}, {"allowed": "no"}])
def test_a_review_that_is_none_is_unanswered(api, server, status):
    class Odd(server.RequestHandlerClass):
        def do_POST(self):  # noqa: N802 - the base's
            self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(201, {"status": status})

    server.RequestHandlerClass = Odd
    with pytest.raises(Unanswered, match="the answer is no access review"):
        api.may("list", "", "pods")


def test_the_objects_of_a_list_are_decoded_in_their_turn():
    body = json_list(b'{"kind": "PodList", "items": [{"a": "\\ud800"}, {"b": 1}]}')
    assert body["kind"] == "PodList"
    assert len(body["items"]) == 2
    assert list(body["items"]) == [{"a": "\ud800"}, {"b": 1}]


def test_an_object_that_is_no_text_spoils_the_rest_of_its_list():
    items = iter(json_list(b'{"items": [{"a": 1}, {"b": "\xff"}]}')["items"])
    assert next(items) == {"a": 1}
    with pytest.raises(Unanswered, match="no JSON"):
        next(items)


@pytest.mark.parametrize(
    ("text", "body"),
    [(b'{"items": null}', {"items": None}), (b'{"kind": "Status"}', {"kind": "Status"})],
)
def test_an_answer_without_a_list_of_objects_is_taken_as_a_whole(text, body):
    assert json_list(text) == body


def test_half_an_answer_is_none():
    assert json_list(b'{"items": [{"a": 1}, {"b"') is None
