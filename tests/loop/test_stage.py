"""The API server answers as of the simulated instant, and forgets as a real one does."""

import pytest

from goodput.synth.loop.stage import EVENT_TTL_S, Stage


@pytest.fixture(scope="module")
def stage(fleet):
    return Stage(fleet.sim)


def names(stage, plural):
    return {item["metadata"]["name"] for item in stage.cluster.named(plural).items}


def test_what_is_deleted_is_gone(stage, fleet):
    pod = next(p for p in fleet.sim.pods if p.removed is not None)
    stage.show(pod.removed - 1)
    assert pod.name in names(stage, "pods")
    stage.show(pod.removed)
    assert pod.name not in names(stage, "pods")


def test_a_node_goes_with_its_lease(stage, fleet):
    node = next(n for n in fleet.sim.all_nodes if n.deleted is not None)
    stage.show(node.deleted - 1)
    assert node.name in names(stage, "nodes") & names(stage, "leases")
    stage.show(node.deleted)
    assert node.name not in names(stage, "nodes") | names(stage, "leases")


def test_events_live_for_an_hour(stage, fleet):
    t, node, _ = fleet.sim.trace.cordons[0]
    for at, found in ((t - 1, 0), (t, 1), (t + EVENT_TTL_S - 1, 1), (t + EVENT_TTL_S, 0)):
        stage.show(at)
        shown = [
            item
            for item in stage.cluster.named("events").items
            if item["reason"] == "NodeNotSchedulable" and item["involvedObject"]["uid"] == node.uid
        ]
        assert len(shown) == found


def test_conditions_are_overwritten(stage, fleet):
    node = next(n for n in fleet.sim.all_nodes if any("IbLinkDown" in s.conds for s in n.history))
    down = next(s for s in node.history if "IbLinkDown" in s.conds)
    up = next(s for s in node.history if s.start > down.start and not s.conds)
    for t, status in ((down.start - 1, "False"), (down.start, "True"), (up.start, "False")):
        stage.show(t)
        item = next(
            i for i in stage.cluster.named("nodes").items if i["metadata"]["uid"] == node.uid
        )
        shown = [c for c in item["status"]["conditions"] if c["type"] == "IbLinkDown"]
        assert [c["status"] for c in shown] == [status]


def test_the_lease_of_a_silent_node_stands_still(stage, fleet):
    node = next(n for n in fleet.sim.all_nodes if n.deleted is not None)
    silent = next(s for s in node.history if s.conds.get("Ready"))

    def renewed(t):
        stage.show(t)
        leases = stage.cluster.named("leases").items
        return next(i for i in leases if i["metadata"]["name"] == node.name)["spec"]["renewTime"]

    assert renewed(silent.start + 600) == renewed(silent.start) > renewed(silent.start - 600)


def test_a_watch_tells_each_change_at_its_instant_and_what_is_gone_last(stage, fleet):
    pod = next(p for p in fleet.sim.pods if p.removed and p.terminated and p.created != p.bound)
    lines = {
        at: [
            line["type"]
            for line in told.get("pods", [])
            if line["object"]["metadata"]["uid"] == pod.uid
        ]
        for at, told in stage.changes(pod.created - 1, pod.removed)
    }
    assert lines[pod.created] == ["ADDED"]
    assert lines[pod.bound] == lines[pod.terminated] == ["MODIFIED"]
    assert lines[pod.removed] == ["DELETED"]
    assert next(iter(stage.changes(pod.removed - 1, pod.removed)))[0] == pod.removed


def test_versions_of_a_watch_grow(stage, fleet):
    told = [lines for _, lines in stage.changes(fleet.start, fleet.start + 7200)]
    for plural in ("pods", "nodes", "events"):
        versions = [
            int(line["object"]["metadata"]["resourceVersion"])
            for lines in told
            for line in lines.get(plural, [])
        ]
        assert len(versions) > 2
        assert versions == sorted(set(versions))


def test_a_container_that_was_restarted_in_place_shows_both_runs(stage, fleet):
    again = next(p for p in fleet.sim.pods if p.before)
    shown = []
    for t in (again.bound - 1, again.bound, again.running):
        stage.show(t)
        item = next(
            i for i in stage.cluster.named("pods").items if i["metadata"]["uid"] == again.uid
        )
        status = item["status"]["containerStatuses"][0]
        last = status["lastState"].get("terminated", {}).get("reason")
        shown.append((*status["state"], status["restartCount"], last))
    assert shown == [
        ("running", 0, None),
        ("waiting", 0, "OOMKilled"),
        ("running", 1, "OOMKilled"),
    ]
