"""What was done to nodes: cordons, drains, reboots, repairs."""

import json

ADMIN = (
    'select kind, action, planned, class, "from", "to" '
    'from observed.node_admin_kube order by "from"'
)


def unschedulable(since, make):
    key = "node.kubernetes.io/unschedulable"
    return {
        "unschedulable": True,
        "taints": [{"key": key, "effect": "NoSchedule", "timeAdded": make.clock(since)}],
    }


def test_a_cordon_runs_from_its_taint_to_the_first_sign_of_its_end(make, observed, rows):
    def beat(when, **spec):
        return json.dumps(
            make.node("n1", make.condition("Ready", "True", "1 00:00", beat=when), **spec)
        )

    con = observed(
        beat("2 00:00"),
        beat("2 01:00", **unschedulable("2 00:40", make)),
        beat("2 02:00", **unschedulable("2 00:40", make)),
        beat("2 03:00"),
    )
    assert rows(con, ADMIN) == [("cordon", None, True, None, "2 00:40", "2 03:00")]


def test_a_node_marked_for_disruption_drains(make, observed, rows):
    taint = {
        "key": "karpenter.sh/disrupted",
        "effect": "NoSchedule",
        "timeAdded": make.clock("2 01:00"),
    }
    con = observed(
        json.dumps(
            make.node(
                "n1", make.condition("Ready", "True", "1 00:00", beat="2 02:00"), taints=[taint]
            )
        )
    )
    assert rows(con, ADMIN) == [("drain", None, True, None, "2 01:00", None)]


def test_a_new_boot_id_is_a_reboot_nobody_ordered(make, observed, rows):
    con = observed(
        json.dumps(make.node("n1", make.condition("Ready", "True", "1 00:01"), boot="a")),
        json.dumps(
            make.node("n1", make.condition("Ready", "Unknown", "2 00:05", beat="2 00:04"), boot="a")
        ),
        json.dumps(make.node("n1", make.condition("Ready", "True", "2 00:20"), boot="b")),
    )
    assert rows(con, ADMIN) == [("repair", "reboot", False, "host.kernel", "2 00:04", "2 00:20")]


def test_a_cordon_of_a_sick_node_is_not_planned(make, observed, rows):
    con = observed(
        json.dumps(
            make.node(
                "n1",
                make.condition("Ready", "True", "1 00:01"),
                make.condition("AcceleratedHardwareReady", "False", "2 00:00", "NvidiaXID79Error"),
                **unschedulable("2 00:01", make),
            )
        )
    )
    assert rows(con, ADMIN) == [("cordon", None, False, None, "2 00:01", None)]


def test_the_steps_of_a_repair_by_nvsentinel_are_read_from_its_label(make, observed, rows):
    def state(when, text, **spec):
        labels = {"dgxc.nvidia.com/nvsentinel-state": text} if text else {}
        ready = make.condition("Ready", "True", "1 00:00", beat=when)
        watch = make.condition(
            "GpuMemWatch", *(("True", "2 00:00") if text else ("False", "2 00:33"))
        )
        return json.dumps(make.node("n1", ready, watch, labels=labels, **spec))

    con = observed(
        state("2 00:01", "quarantined", **unschedulable("2 00:01", make)),
        state("2 00:05", "draining", **unschedulable("2 00:01", make)),
        state("2 00:10", "drain-succeeded", **unschedulable("2 00:01", make)),
        state("2 00:15", "remediating", **unschedulable("2 00:01", make)),
        state("2 00:30", "remediation-succeeded", **unschedulable("2 00:01", make)),
        state("2 00:35", ""),
    )
    assert rows(con, ADMIN) == [
        ("cordon", None, False, None, "2 00:01", "2 00:35"),
        ("drain", None, False, None, "2 00:05", "2 00:15"),
        ("repair", None, False, None, "2 00:15", "2 00:30"),
    ]


def test_gpus_that_are_cut_anew_are_in_planned_maintenance_and_not_lost(make, observed, rows):
    def state(when, text, gpus, boot="b1"):
        labels = {"nvidia.com/mig.config": "all-3g.40gb", "nvidia.com/mig.config.state": text}
        ready = make.condition("Ready", "True", "1 00:00", beat=when)
        return json.dumps(make.node("n1", ready, labels=labels, gpus=gpus, boot=boot))

    con = observed(
        state("2 00:01", "success", "8"),
        state("2 00:05", "pending", "0"),
        state("2 00:10", "rebooting", "0"),
        state("2 00:20", "success", "8", "b2"),
    )
    assert rows(con, ADMIN) == [
        ("repair", "reset", True, None, "2 00:05", "2 00:10"),
        ("repair", "reboot", True, None, "2 00:10", "2 00:20"),
        ("repair", "reboot", True, None, "2 00:19:10", "2 00:20"),
    ]
    assert rows(con, "select gpus from observed.nodes_kube") == [(8,)]


def test_a_drain_of_a_node_that_is_lost_is_a_repair_and_not_planned(make, observed, rows):
    taint = {
        "key": "karpenter.sh/disrupted",
        "effect": "NoSchedule",
        "timeAdded": make.clock("2 00:40"),
    }
    lost = make.condition("Ready", "Unknown", "2 00:10", beat="2 00:09")
    con = observed(json.dumps(make.node("n1", lost, taints=[taint])))
    assert rows(con, ADMIN) == [("drain", None, False, None, "2 00:40", None)]
