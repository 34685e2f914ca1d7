"""What samples mean: cordons, XIDs, counters and taints."""

import json

import pytest
from prom_states import GPU, LINK, NODE, give_hours, give_states

CORDON = """
    0  00:00:10  00:29:40
    1  00:30:10  00:59:40
    0  01:00:10  02:59:40
    """


def test_a_cordon_of_a_healthy_node_was_planned(bench):
    give_states(bench, "node_unschedulable", NODE, CORDON)
    give_hours(bench, "node_unschedulable")
    bench.expect(
        "observed.node_admin_prom",
        """
        node_uid  kind    planned  from      to
        u-1       cordon  true     00:30:10  01:00:10
        """,
    )


def test_a_cordon_of_a_node_with_something_bad_is_part_of_its_repair(bench):
    give_states(bench, "node_unschedulable", NODE, CORDON)
    give_states(bench, "node_condition", LINK, "true  00:20:10  00:59:40")
    give_hours(bench, "node_unschedulable", "node_condition")
    bench.expect(
        "observed.node_admin_prom",
        """
        planned  from      to
        false    00:30:10  01:00:10
        """,
    )


def test_a_cordon_that_another_source_knows_is_theirs(bench):
    give_states(bench, "node_unschedulable", NODE, CORDON)
    give_hours(bench, "node_unschedulable")
    bench.given(
        "raw.node_admin",
        """
        cluster  node_uid  kind    from      to
        c        u-1       cordon  00:29:55  01:00:02
        """,
    )
    bench.expect("observed.node_admin_prom", "node_uid")


def test_only_a_changed_xid_is_an_error(bench):
    give_states(
        bench,
        "gpu_xid",
        GPU,
        """
        31  00:00:10  00:09:40
        79  00:10:10  00:19:40
        79  00:30:10  00:39:40
        0   00:40:10  00:44:40
        79  00:45:10  00:59:40
        """,
    )
    give_hours(bench, "gpu_xid", until=1)
    bench.expect(
        "observed.evidence_prom",
        """
        t         source  value  node_uid  gpu  origin
        00:10:10  xid     79     u-1       3    prometheus
        00:45:10  xid     79     u-1       3    prometheus
        """,
    )


def test_an_xid_that_changed_in_a_hole_is_dated_by_its_first_sample(bench):
    give_states(bench, "gpu_xid", GPU, "0  00:00:10  00:09:40\n48  00:30:10  00:59:40")
    give_hours(bench, "gpu_xid", until=1)
    bench.expect("observed.evidence_prom", "t         value\n00:30:10  48")


def test_an_xid_that_the_kernel_told_of_is_not_told_twice(bench):
    give_states(
        bench,
        "gpu_xid",
        GPU,
        """
        0   00:00:10  00:09:40
        79  00:10:10  00:19:40
        48  00:20:10  00:59:40
        """,
    )
    give_hours(bench, "gpu_xid", until=1)
    bench.given(
        "raw.evidence",
        """
        cluster  t         source  value  node_uid  gpu
        c        00:09:58  xid     79     u-1       -
        c        00:09:58  xid     48     u-1       3
        """,
    )
    bench.expect("observed.evidence_prom", "t         value\n00:20:10  48")


def test_a_counter_of_errors_that_grows_is_evidence_once_an_hour(bench):
    give_states(
        bench,
        "gpu_ecc_uncorrectable",
        GPU,
        """
        2  00:00:10  00:09:40
        3  00:10:10  00:19:40
        4  00:20:10  00:59:40
        5  01:00:10  01:09:40
        0  01:10:10  01:59:40
        1  02:00:10  02:59:40
        """,
    )
    give_hours(bench, "gpu_ecc_uncorrectable")
    bench.expect(
        "observed.evidence_prom",
        """
        t         source  value                  node_uid  gpu  origin
        00:10:10  metric  gpu_ecc_uncorrectable  u-1       3    prometheus
        01:00:10  metric  gpu_ecc_uncorrectable  u-1       3    prometheus
        02:00:10  metric  gpu_ecc_uncorrectable  u-1       3    prometheus
        """,
    )


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("gpu_row_remap_failure", GPU),
        ("gpu_row_remap_pending", GPU),
        ("gpu_rows_remapped_uncorrectable", GPU),
        ("gpu_nvlink_recovery_errors", GPU),
        ("ib_link_downed", '{"device":"mlx5_0","node":"n-1","port":"1"}'),
        ("ib_link_recoveries", '{"device":"mlx5_0","node":"n-1","port":"1"}'),
        ("efa_read_errors", '{"device":"rdmap0","node":"n-1","port":"1"}'),
        ("efa_write_errors", '{"device":"rdmap0","node":"n-1","port":"1"}'),
    ],
)
def test_counters_that_the_catalogue_knows_are_evidence_on_their_device(bench, query, labels):
    give_states(bench, query, labels, "0  00:00:10  00:09:40\n1  00:10:10  00:59:40")
    give_hours(bench, query, until=1)
    gpu = json.loads(labels).get("gpu", "-")
    bench.expect("observed.evidence_prom", f"t         value    gpu\n00:10:10  {query}  {gpu}")


@pytest.mark.parametrize("query", ["gpu_ecc_correctable", "gpu_pcie_replays", "ib_symbol_errors"])
def test_counters_of_what_is_corrected_are_no_evidence(bench, query):
    give_states(bench, query, NODE, "0  00:00:10  00:09:40\n9  00:10:10  00:59:40")
    give_hours(bench, query, until=1)
    bench.expect("observed.evidence_prom", "t")


TAINT = '{"effect":"NoSchedule","key":"node.kubernetes.io/unreachable","node":"n-1"}'


def test_a_taint_that_appears_is_evidence_and_one_that_was_always_there_is_none(bench):
    old = TAINT.replace("unreachable", "disk-pressure")
    give_states(bench, "node_taint", old, "1  00:00:10  00:59:40")
    give_states(bench, "node_taint", TAINT, "1  00:20:10  00:59:40")
    give_hours(bench, "node_taint", until=1)
    bench.expect(
        "observed.evidence_prom",
        """
        t         source  value                           node_uid  origin
        00:20:10  taint   node.kubernetes.io/unreachable  u-1       prometheus
        """,
    )


def test_a_taint_that_the_api_server_showed_is_not_told_twice(bench):
    bench.given(
        "observed.evidence_kube",
        """
        cluster  t         source  value                           node_uid
        c        00:19:58  taint   node.kubernetes.io/unreachable  u-1
        """,
    )
    give_states(bench, "node_taint", TAINT, "1  00:20:10  00:59:40")
    give_hours(bench, "node_taint", until=1)
    bench.expect("observed.evidence_prom", "t")
