"""Nodes out of their objects: identity, life, GPUs."""

import json

import pytest

NODES = (
    "select name, pool, gpus, registered_at, ready_at, deleted_at "
    "from observed.nodes_kube order by 1"
)
GPUS = "select name, gpus from observed.nodes_kube order by 1"


def test_a_node_is_known_by_its_object(make, observed, rows):
    ready = make.condition("Ready", "True", "1 00:05")
    con = observed(make.listed(make.node("n1", ready, labels={"karpenter.sh/nodepool": "a100"})))
    assert rows(con, NODES) == [("n1", "a100", 8, "1 00:00", "1 00:05", None)]


@pytest.mark.parametrize(
    ("labels", "pool"),
    [
        ({"eks.amazonaws.com/nodegroup": "x"}, "x"),
        ({"cloud.google.com/gke-nodepool": "x"}, "x"),
        ({"agentpool": "x"}, "x"),
        ({"node.kubernetes.io/instance-type": "p5.48xlarge"}, "p5.48xlarge"),
        ({"karpenter.sh/nodepool": "x", "node.kubernetes.io/instance-type": "p5.48xlarge"}, "x"),
        ({}, "default"),
    ],
)
def test_the_pool_is_the_best_known_label(make, observed, labels, pool):
    con = observed(make.listed(make.node("n1", labels=labels)))
    assert con.sql("select pool from observed.nodes_kube").fetchall() == [(pool,)]


def test_a_silent_device_plugin_does_not_take_gpus_away(make, observed, rows):
    before = make.node("n1", make.condition("Ready", "True", "1 00:00", beat="2 00:00"))
    after = make.node("n1", make.condition("Ready", "True", "1 00:00", beat="3 00:00"), gpus="0")
    gone = make.node("n1", make.condition("Ready", "True", "1 00:00", beat="4 00:00"), capacity={})
    con = observed(*map(json.dumps, (before, after, gone)))
    assert rows(con, GPUS) == [("n1", 8)]
    assert rows(con, "from observed.node_conditions_kube") == []


def test_a_gpu_that_is_not_offered_any_more_is_unhealthy(make, observed, rows):
    def beat(day, gpus):
        built = make.node("n1", make.condition("Ready", "True", "1 00:00", beat=f"{day} 00:00"))
        built["status"]["allocatable"]["nvidia.com/gpu"] = gpus
        return json.dumps(built)

    con = observed(beat(2, "8"), beat(3, "6"), beat(4, "6"), beat(5, "8"))
    found = 'select gpu, class, "from", "to" from observed.node_conditions_kube order by gpu'
    assert rows(con, found) == [
        (6, "gpu.lost", "3 00:00", "5 00:00"),
        (7, "gpu.lost", "3 00:00", "5 00:00"),
    ]


@pytest.mark.parametrize(
    ("capacity", "labels", "gpus"),
    [
        ({"nvidia.com/gpu": 8}, {}, 8),
        ({"amd.com/gpu": "8"}, {}, 8),
        # MIG, mixed strategy: two slices of 2g and one of 3g fit into one GPU.
        (
            {"nvidia.com/gpu": "0", "nvidia.com/mig-2g.10gb": "2", "nvidia.com/mig-3g.20gb": "1"},
            {},
            1,
        ),
        ({"nvidia.com/gpu": "6", "nvidia.com/mig-1g.5gb": "14"}, {}, 8),
        ({"nvidia.com/gpu": "0"}, {"nvidia.com/gpu.count": "4"}, 4),
        # MIG, single strategy: 56 devices of 1g.10gb are 8 GPUs.
        (
            {"nvidia.com/gpu": "56"},
            {
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
                "nvidia.com/gpu.count": "56",
            },
            8,
        ),
        # 2 of 3g.40gb per GPU, by memory.
        (
            {"nvidia.com/gpu": "16"},
            {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb"},
            8,
        ),
        # Time-slicing: 4 replicas of 4 GPUs, under the same or another resource name.
        (
            {"nvidia.com/gpu": "16"},
            {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "4"},
            4,
        ),
        (
            {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "16"},
            {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "4"},
            4,
        ),
        # The instance type tells what must be there.
        ({}, {"node.kubernetes.io/instance-type": "p5.48xlarge"}, 8),
        ({}, {"node.kubernetes.io/instance-type": "ml.p4d.24xlarge"}, 8),
        ({}, {}, 0),
    ],
)
def test_devices_are_brought_back_to_physical_gpus(make, observed, capacity, labels, gpus):
    con = observed(make.listed(make.node("n1", capacity=capacity, labels=labels)))
    assert con.sql("select gpus from observed.nodes_kube").fetchall() == [(gpus,)]


def resource_slice(make, name, generation, devices, count=1, created="1 00:00", pool="n1"):
    owner = [{"kind": "Node", "name": pool, "uid": f"uid-{pool}", "controller": True}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": make.meta(name, created, ownerReferences=owner),
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": pool,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": devices,
        },
    }


def device(index, kind="gpu", parent=None, **more):
    attributes = {"type": {"string": kind}, "uuid": {"string": f"{kind}-{index}"}}
    if parent is not None:
        attributes["parentUUID"] = {"string": f"gpu-{parent}"}
    return {"name": f"{kind}-{index}", "attributes": attributes, **more}


def test_dra_devices_count_by_the_highest_complete_generation(make, observed, rows):
    con = observed(
        make.listed(
            resource_slice(make, "s1", 1, [device(0), device(1)]),
            # A new generation of which one of two slices is missing.
            resource_slice(make, "s2", 2, [device(n) for n in range(8)], count=2),
        )
    )
    assert rows(con, GPUS) == [("n1", 2)]


def test_a_gpu_and_its_mig_devices_are_one_gpu(make, observed, rows):
    devices = [device(0), device(1), *(device(n, "mig", parent=1) for n in range(7))]
    con = observed(make.listed(resource_slice(make, "s1", 1, devices), make.node("n1", gpus="0")))
    assert rows(con, GPUS) == [("n1", 2)]


def test_devices_of_the_beta_api_are_read(make, observed, rows):
    old = [{"name": "gpu-0", "basic": {"attributes": {"uuid": {"string": "u0"}}}}]
    con = observed(make.listed(resource_slice(make, "s1", 1, old)))
    assert rows(con, GPUS) == [("n1", 1)]


def test_a_device_taint_blocks_its_device_until_a_generation_without_it(make, observed, rows):
    taint = {
        "key": "gpu.nvidia.com/xid",
        "value": "79",
        "effect": "NoExecute",
        "timeAdded": make.clock("2 10:00"),
    }
    con = observed(
        make.listed(resource_slice(make, "s1", 1, [device(0), device(1, taints=[taint])])),
        make.listed(resource_slice(make, "s1", 2, [device(0), device(1)], created="2 12:00")),
    )
    found = (
        'select node_uid, gpu, type, reason, "from", "to", blocking '
        "from observed.node_conditions_kube"
    )
    assert rows(con, found) == [
        ("uid-n1", 1, "gpu.nvidia.com/xid", "79", "2 10:00", "2 12:00", True)
    ]


def test_a_node_is_paid_from_the_launch_of_its_claim(make, observed, rows):
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": make.meta("claim", "1 00:00"),
        "status": {
            "nodeName": "n1",
            "providerID": "aws:///z/i-1",
            "conditions": [make.condition("Launched", "True", "1 00:01")],
        },
    }
    con = observed(
        make.listed(claim, make.node("n1", created="1 00:04", providerID="aws:///z/i-1"))
    )
    assert rows(con, "select paid_from, registered_at from observed.nodes_kube") == [
        ("1 00:01", "1 00:04")
    ]


def test_a_node_missing_in_a_later_list_is_gone_by_then(make, observed, rows):
    def beat(name, when):
        return make.node(name, make.condition("Ready", "True", "1 00:00", beat=when))

    con = observed(
        make.listed(beat("n1", "2 00:00"), beat("n2", "2 00:00")),
        make.listed(beat("n1", "3 00:00")),
    )
    assert rows(con, "select name, deleted_at from observed.nodes_kube order by 1") == [
        ("n1", None),
        ("n2", "3 00:00"),
    ]


def test_a_list_of_a_selection_says_nothing_about_the_others(make, observed, rows):
    def beat(name, when, pool):
        return make.node(
            name, make.condition("Ready", "True", "1 00:00", beat=when), labels={"pool": pool}
        )

    con = observed(
        make.listed(beat("n1", "2 00:00", "a"), beat("n2", "2 00:00", "b")),
        make.listed(beat("n1", "3 00:00", "a")),
    )
    assert rows(con, "select name, deleted_at from observed.nodes_kube order by 1") == [
        ("n1", None),
        ("n2", None),
    ]


def test_the_same_name_may_be_another_node(make, observed, rows):
    first = make.node("n1", make.condition("Ready", "True", "1 00:00", beat="2 00:00"))
    second = make.node("n1", make.condition("Ready", "True", "3 00:10"), created="3 00:00")
    second["metadata"]["uid"] = "other"
    con = observed(make.listed(first), make.listed(second))
    assert rows(con, "select node_uid, deleted_at from observed.nodes_kube order by 1") == [
        ("other", None),
        ("uid-n1", "3 00:10"),
    ]


def test_a_device_plugin_that_restarts_takes_no_gpu_away(make, observed, rows):
    def beat(when, allocatable, capacity="8"):
        built = make.node("n1", make.condition("Ready", "True", "1 00:00", beat=when))
        built["status"]["capacity"]["nvidia.com/gpu"] = capacity
        built["status"]["allocatable"]["nvidia.com/gpu"] = allocatable
        return json.dumps(built)

    con = observed(
        beat("2 00:00", "8"),
        beat("2 00:05", "0"),
        beat("2 00:10", "8"),
        beat("2 00:15", "0", "0"),
        beat("2 00:20", "8"),
    )
    assert rows(con, GPUS) == [("n1", 8)]
    assert rows(con, "from observed.node_conditions_kube") == []


def test_the_machine_behind_a_name_is_its_provider_id(make, observed, rows):
    def claim(name, when, machine, node):
        return {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": make.meta(name, when),
            "status": {"nodeName": node, "providerID": machine},
        }

    first = make.node("n1", make.condition("Ready", "True", "1 00:05"), providerID="aws:///z/i-1")
    second = make.node(
        "n1",
        make.condition("Ready", "True", "3 00:05"),
        created="3 00:02",
        providerID="aws:///z/i-2",
    )
    second["metadata"]["uid"] = "uid-second"
    con = observed(
        make.listed(claim("c1", "1 00:00", "aws:///z/i-1", "n1"), first),
        make.listed(claim("c2", "3 00:00", "aws:///z/i-2", "n1"), second),
    )
    found = "select node_uid, paid_from, deleted_at from observed.nodes_kube order by registered_at"
    assert rows(con, found) == [
        ("uid-n1", "1 00:00", "3 00:05"),
        ("uid-second", "3 00:00", None),
    ]
