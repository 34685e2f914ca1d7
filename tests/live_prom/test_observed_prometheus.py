"""What samples mean: conditions, cordons, XIDs, silence and gaps, beside what other sources say."""

import json

import pytest
from tables import bench as table_bench
from tables import make_empty_warehouse, open_warehouse

from goodput.contract import raw_tables
from goodput.warehouse.models import find_models

READY = '{"condition":"Ready","node":"n-1"}'
LINK = '{"condition":"EfaLinkDown","node":"n-1"}'
NODE = '{"node":"n-1"}'
GPU = '{"gpu":"3","node":"n-1","uuid":"GPU-3"}'


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Every table there is, the raw ones as tables that tests may fill."""
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("empty")))
    for table in raw_tables():
        con.execute(f"drop view raw.{table}")
    for model in find_models():
        if model.schema == "raw":
            con.execute(model.sql)
    yield con
    con.close()


@pytest.fixture
def bench(warehouse):
    with table_bench(warehouse, {"observed"}) as made:
        made.given(
            "raw.nodes",
            """
            cluster  node_uid  name  gpus  registered_at
            c        u-1       n-1   8     00:00
            """,
        )
        yield made


def give_states(bench, query, labels, text, cluster="c"):
    """Runs of a series: value, first and last sample; scraped each 30 s."""
    lines = [line.split() for line in text.strip().splitlines()]
    rows = [
        f"{cluster}  {query}  {labels}  {v}  {begin}  {end}  9  30000" for v, begin, end in lines
    ]
    bench.given(
        "raw.prom_states",
        "\n".join(["cluster  query  labels  value  from  last_at  samples  interval_ms", *rows]),
    )


def give_hours(bench, *queries, until=3, warnings="-", cluster="c"):
    rows = [
        f"{cluster}  {query}  {hour:02}:00  {hour + 1:02}:00  1  120  {warnings}"
        for query in queries
        for hour in range(until)
    ]
    bench.given(
        "raw.prom_slices",
        "\n".join(["cluster  query  from  to  series  samples  warnings", *rows]),
    )


def test_a_condition_runs_over_hours_and_stops_at_a_hole(bench):
    give_states(
        bench,
        "node_condition",
        READY,
        """
        true   00:00:10  00:59:40
        true   01:00:10  01:20:10
        false  01:20:40  01:30:10
        false  01:34:10  01:40:10
        true   01:41:20  02:59:40
        """,
    )
    give_hours(bench, "node_condition")
    bench.expect(
        "observed.node_conditions_prom",
        """
        node_uid  gpu  type   status  from      to
        u-1       -    Ready  True    00:00:10  01:20:40
        u-1       -    Ready  False   01:20:40  01:30:10
        u-1       -    Ready  False   01:34:10  01:41:20
        u-1       -    Ready  True    01:41:20  -
        """,
    )


def test_what_was_collected_twice_over_other_borders_is_the_same(bench):
    give_states(
        bench,
        "node_condition",
        READY,
        """
        true   00:00:10  00:59:40
        true   00:00:10  00:59:40
        true   00:30:10  00:59:40
        false  01:00:10  01:59:40
        false  01:00:10  01:30:10
        """,
    )
    give_hours(bench, "node_condition", until=2)
    bench.expect(
        "observed.node_conditions_prom",
        """
        status  from      to
        True    00:00:10  01:00:10
        False   01:00:10  -
        """,
    )


def test_of_two_exporters_that_contradict_each_other_the_later_word_counts(bench):
    give_states(
        bench,
        "node_condition",
        READY,
        """
        true   00:00:10  00:59:40
        false  00:20:25  00:59:55
        """,
    )
    give_hours(bench, "node_condition", until=1)
    bench.expect(
        "observed.node_conditions_prom",
        """
        status  from      to
        True    00:00:10  00:20:25
        False   00:20:25  -
        """,
    )


def test_of_two_nodes_with_one_name_each_has_its_own_samples(bench):
    bench.given(
        "raw.nodes",
        """
        cluster  node_uid  name  gpus  registered_at  deleted_at
        c        u-2       n-1   8     01:00          02:00
        """,
    )
    give_states(bench, "node_condition", READY, "true  00:00:10  02:59:40")
    give_hours(bench, "node_condition")
    bench.expect(
        "observed.node_conditions_prom",
        """
        node_uid  status  from      to
        u-1       True    00:00:10  01:00
        u-2       True    01:00     02:00
        """,
    )


def test_a_name_that_no_node_has_says_nothing(bench):
    give_states(bench, "node_condition", READY.replace("n-1", "n-9"), "true  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1)
    bench.expect("observed.node_conditions_prom", "node_uid")


def give_node_object(bench, since, observed_at, status, kind="EfaLinkDown"):
    body = {
        "metadata": {"creationTimestamp": "2026-03-02T00:00:00Z"},
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "lastTransitionTime": f"2026-03-02T{since}Z",
                }
            ]
        },
    }
    text = json.dumps(body, separators=(",", ":"))
    bench.given(
        "raw.kube_objects",
        f"""
        cluster  api_version  kind  name  uid  observed_at    is_deleted  body
        c        v1           Node  n-1   u-1  {observed_at}  false       {text}
        """,
    )


def test_what_the_api_server_proves_is_not_counted_twice(bench):
    """Kubernetes proves 00:30 to 01:00 and 02:00 to 02:30, and sees no flap in between.

    True from 00:30 to 02:00 and False since is its word, which Prometheus need not repeat.
    """
    give_node_object(bench, "00:30:00", "01:00", "True")
    give_node_object(bench, "02:00:00", "02:30", "False")
    give_states(
        bench,
        "node_condition",
        LINK,
        """
        false  00:00:10  00:29:40
        true   00:30:10  01:19:40
        false  01:20:10  01:49:40
        true   01:50:10  01:59:40
        false  02:00:10  02:59:40
        """,
    )
    give_hours(bench, "node_condition")
    bench.expect(
        "observed.node_conditions_prom",
        """
        type         status  from      to
        EfaLinkDown  False   00:00:10  00:30
        EfaLinkDown  False   01:20:10  01:50:10
        """,
    )


def test_what_was_imported_of_a_condition_is_the_word_on_it(bench):
    bench.given(
        "raw.node_conditions",
        """
        cluster  node_uid  type         status  from   to
        c        u-1       EfaLinkDown  True    00:10  00:20
        """,
    )
    give_states(bench, "node_condition", LINK, "true  00:00:10  00:59:40")
    give_states(bench, "node_condition", READY, "true  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1)
    bench.expect(
        "observed.node_conditions_prom",
        """
        type   status  from      to
        Ready  True    00:00:10  -
        """,
    )


def test_bits_of_throttling_are_conditions_of_their_gpu(bench):
    give_states(
        bench,
        "gpu_throttle",
        GPU,
        """
        0    00:00:10  00:09:40
        64   00:10:10  00:19:40
        192  00:20:10  00:29:40
        8    00:30:10  00:59:40
        """,
    )
    give_hours(bench, "gpu_throttle", until=1)
    bench.expect(
        "observed.node_conditions_prom",
        """
        node_uid  gpu  type                status  from      to
        u-1       3    GpuThermalThrottle  True    00:10:10  00:20:10
        u-1       3    GpuThermalThrottle  True    00:20:10  00:30:10
        u-1       3    GpuPowerBrake       True    00:20:10  00:30:10
        """,
        where="status = 'True'",
    )


def test_fewer_allocatable_gpus_than_the_node_has_are_lost_and_none_says_nothing(bench):
    give_states(
        bench,
        "node_gpus_allocatable",
        '{"node":"n-1","resource":"nvidia_com_gpu"}',
        """
        8  00:00:10  00:09:40
        6  00:10:10  00:19:40
        0  00:20:10  00:29:40
        8  00:30:10  00:59:40
        """,
    )
    give_hours(bench, "node_gpus_allocatable", until=1)
    bench.expect(
        "observed.node_conditions_prom",
        """
        node_uid  gpu  type                   status  class     from      to
        u-1       6    DevicePluginUnhealthy  True    gpu.lost  00:10:10  00:20:10
        u-1       7    DevicePluginUnhealthy  True    gpu.lost  00:10:10  00:20:10
        """,
    )


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
        node_uid  kind    action  planned  from      to
        u-1       cordon  -       true     00:30:10  01:00:10
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


def test_what_lacks_in_all_series_is_a_gap_told_once_for_queries_of_the_same_span(bench):
    for query, labels, value in (
        ("node_condition", READY, "true"),
        ("node_unschedulable", NODE, "0"),
        ("node_taint", NODE, "1"),
    ):
        give_states(
            bench, query, labels, f"{value}  00:10:10  00:59:40\n{value}  01:30:10  02:59:40"
        )
    # Another node goes on through a part of the hole.
    give_states(bench, "gpu_xid", GPU, "0  00:00:10  02:59:40")
    give_hours(
        bench, "node_condition", "node_unschedulable", "node_taint", "gpu_xid", "gpu_throttle"
    )
    bench.expect(
        "observed.collector_gaps_prom",
        """
        source_name  from      to        reason
        prometheus   00:00     00:10:10  no samples of node_condition, node_unschedulable
        prometheus   00:59:40  01:30:10  no samples of node_condition, node_unschedulable
        """,
    )


def test_a_series_that_goes_on_fills_the_hole_of_another(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:20:10\ntrue  00:40:10  00:59:40"
    )
    give_states(bench, "node_condition", LINK, "false  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1)
    bench.expect("observed.collector_gaps_prom", "source_name")


def test_hours_that_nobody_asked_for_in_between_are_a_gap(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:59:40\ntrue  05:00:10  05:59:40"
    )
    bench.given(
        "raw.prom_slices",
        """
        cluster  query           from   to     series  samples
        c        node_condition  00:00  01:00  1       120
        c        node_condition  05:00  06:00  1       120
        """,
    )
    bench.expect(
        "observed.collector_gaps_prom",
        """
        from      to        reason
        00:59:40  05:00:10  no samples of node_condition
        """,
    )


def test_an_answer_with_a_warning_is_a_gap(bench):
    give_states(bench, "node_condition", READY, "true  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1, warnings="store a is down")
    bench.expect(
        "observed.collector_gaps_prom",
        """
        from   to     reason
        00:00  01:00  node_condition came with a warning: store a is down
        """,
    )


def test_silence_between_the_first_and_the_last_hour_leaves_no_beats(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:20:10\ntrue  00:24:10  00:59:40"
    )
    give_states(bench, "node_condition", LINK, "false  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1)
    assert beats(bench) == [
        ("1970 00:00:00", "2026 00:00:00", 30),
        ("2026 00:00:10", "2026 00:20:10", 30),
        ("2026 00:24:10", "2026 01:00:00", 30),
        ("2026 01:00:00", "2999 00:00:00", 30),
    ]


def test_a_node_that_another_source_saw_ready_was_looked_at(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:20:10\ntrue  00:50:10  00:59:40"
    )
    give_hours(bench, "node_condition", until=1)
    give_node_object(bench, "00:30:00", "00:40", "True", kind="Ready")

    assert beats(bench)[1:4] == [
        ("2026 00:00:10", "2026 00:20:10", 30),
        ("2026 00:30:00", "2026 00:40:00", 30),
        ("2026 00:50:10", "2026 01:00:00", 30),
    ]


def beats(bench):
    """The beat trains of the one check of the one node."""
    bench.rebuild("observed.health_checks_prom")
    [row] = bench.con.execute(
        'select node_uid, "check", required, stale_after_s,'
        " list_transform(beats, lambda beat: {'begin': strftime(beat.\"from\", '%Y %H:%M:%S'),"
        " 'end': strftime(beat.\"to\", '%Y %H:%M:%S'), 'every_s': beat.every_s})"
        " from observed.health_checks_prom"
    ).fetchall()
    assert row[:4] == ("u-1", "prometheus", True, 75.0)
    return [tuple(beat.values()) for beat in row[4]]


def hourly(value, first, last):
    """Runs of one value, cut at full hours."""
    return "\n".join(f"{value}  {hour}:00:10  {hour}:59:40" for hour in range(first, last))


def test_only_what_was_amiss_is_followed_beyond_a_day_from_the_window(bench):
    """Collected are 400 hours; the window is the day from hour 200 on."""
    bench.window("200:00", "224:00", as_of="500:00")
    give_states(
        bench,
        "node_condition",
        LINK,
        f"{hourly('false', 100, 120)}\n{hourly('true', 120, 300)}\n{hourly('false', 300, 400)}",
    )
    give_states(bench, "node_condition", READY, hourly("true", 100, 400))
    give_states(bench, "node_unschedulable", NODE, hourly("1", 101, 400))
    give_hours(bench, "node_condition", "node_unschedulable", until=400)
    bench.expect(
        "observed.prom_runs",
        """
        query               value  started_at  ended_at   last_at
        node_condition      false  100:00:10   120:00:10  119:59:40
        node_condition      true   120:00:10   300:00:10  299:59:40
        node_condition      false  300:00:10   -          399:59:40
        node_condition      true   176:00:10   -          247:59:40
        node_unschedulable  1      101:00:10   -          399:59:40
        """,
    )
    bench.expect("observed.collector_gaps_prom", "reason")
    bench.rebuild("observed.health_checks_prom")
    [(trains,)] = bench.con.execute(
        "select list_transform(beats, lambda beat: beat.every_s) from observed.health_checks_prom"
    ).fetchall()
    assert len(trains) == 3


def test_what_changed_just_before_the_window_is_told_as_it_was(bench):
    bench.window("200:00", "224:00", as_of="500:00")
    give_states(
        bench,
        "node_condition",
        LINK,
        f"{hourly('false', 100, 190)}\n{hourly('true', 190, 201)}\n{hourly('false', 201, 400)}",
    )
    give_hours(bench, "node_condition", until=400)
    bench.expect(
        "observed.node_conditions_prom",
        """
        status  from       to
        False   176:00:10  190:00:10
        True    190:00:10  201:00:10
        False   201:00:10  -
        """,
    )


def capacity(node):
    return f'{{"node":"{node}","resource":"nvidia_com_gpu"}}'


def give_alone(bench, query, labels, text):
    """Samples of a cluster of which nothing else tells."""
    give_states(bench, query, labels, text, cluster="alone")


def test_a_cluster_of_which_only_prometheus_tells_has_the_nodes_that_it_sampled(bench):
    """The first one's device plugin restarts; the second goes away while the first stays."""
    give_alone(
        bench, "node_gpus_capacity", capacity("a"), "8  00:00:10  00:59:40\n0  01:00:10  02:59:40"
    )
    give_alone(
        bench, "node_gpus_capacity", capacity("b"), "4  00:30:10  00:59:40\n4  01:00:10  01:20:10"
    )
    give_states(bench, "node_gpus_capacity", capacity("n-9"), "8  00:00:10  02:59:40")
    bench.expect(
        "observed.nodes_prom",
        """
        cluster  node_uid  name  gpus  registered_at  deleted_at
        alone    a         a     8     00:00:10       -
        alone    b         b     4     00:30:10       01:20:10
        """,
    )


def test_conditions_find_the_nodes_that_only_prometheus_knows(bench):
    give_alone(bench, "node_gpus_capacity", capacity("n-1"), "8  00:00:10  02:59:40")
    give_alone(bench, "node_condition", LINK, "true  00:20:10  00:30:10\nfalse  00:30:40  02:59:40")
    give_hours(bench, "node_condition", cluster="alone")
    bench.expect(
        "observed.node_conditions_prom",
        """
        cluster  node_uid  type         status  from      to
        alone    n-1       EfaLinkDown  True    00:20:10  00:30:40
        alone    n-1       EfaLinkDown  False   00:30:40  -
        """,
    )


def pod(name, /, **more):
    return json.dumps(
        {"namespace": "ml", "pod": name, "uid": f"uid-{name}", **more}, separators=(",", ":")
    )


def give_pod(bench, name, begin, end, *phases, owner=("Job", "train"), gpus=8):
    """A pod with its samples of GPUs, its phases and what owns it."""
    held = pod(name, container="main", node="n-1", resource="nvidia_com_gpu")
    give_alone(bench, "pod_gpus", held, f"{gpus}  {begin}  {end}")
    give_alone(bench, "pod_phase", pod(name), "\n".join(phases))
    give_alone(bench, "pod_owner", pod(name, kind=owner[0], name=owner[1]), f"1  {begin}  {end}")


QUERIES = ("node_gpus_capacity", "pod_gpus", "pod_phase", "pod_owner", "pod_reason", "job_owner")


@pytest.fixture
def alone(bench):
    give_alone(bench, "node_gpus_capacity", capacity("n-1"), "8  00:00:10  02:59:40")
    give_hours(bench, *QUERIES, cluster="alone")
    return bench


def test_a_pod_holds_its_gpus_until_its_phase_is_final(alone):
    """Its object stays for an hour after it failed."""
    give_pod(
        alone,
        "a",
        "00:10:10",
        "02:59:40",
        "Pending  00:10:10  00:11:40",
        "Running  00:12:10  01:00:10",
        "Failed   01:00:40  02:59:40",
    )
    give_alone(alone, "pod_reason", pod("a"), "Evicted  01:00:40  02:59:40")
    alone.expect(
        "observed.pods_prom",
        """
        pod_uid  name  namespace  job       attempt  node_uid  gpus  reason
        uid-a    a     ml         ml/train  1        n-1       8     Evicted
        """,
    )
    alone.expect(
        "observed.pods_prom",
        """
        bound_at  running_at  terminated_at  released_at  exit_code
        00:10:10  00:12:10    01:00:40       01:00:40     1
        """,
    )
    alone.expect(
        "observed.jobs_prom",
        """
        job       name   namespace  owner_kind  state   ended_at  instrumented
        ml/train  train  ml         Job         failed  01:00:40  false
        """,
    )


def test_pods_that_overlap_are_one_attempt_and_the_next_ones_another(alone):
    give_pod(alone, "a", "00:10:10", "00:30:10", "Running  00:10:40  00:30:10", gpus=4)
    give_pod(alone, "b", "00:10:40", "00:30:40", "Running  00:10:40  00:30:40", gpus=4)
    give_pod(alone, "c", "00:31:10", "02:59:40", "Running  00:31:40  02:59:40", gpus=4)
    give_pod(alone, "d", "00:31:10", "02:59:40", "Running  00:31:40  02:59:40", gpus=4)
    owner = '{"job":"train","kind":"JobSet","name":"llama","namespace":"ml"}'
    give_alone(alone, "job_owner", owner, "1  00:10:10  02:59:40")
    alone.expect(
        "observed.attempts_prom",
        """
        job       attempt  start     end       outcome
        ml/llama  1        00:10:10  00:30:40  cancelled
        ml/llama  2        00:31:10  -         running
        """,
    )
    alone.expect("observed.jobs_prom", "job  owner_kind  state\nml/llama  JobSet  running")


def test_when_prometheus_has_nothing_more_of_anybody_no_pod_ended(alone):
    give_pod(
        alone, "a", "00:10:10", "00:30:10", "Running  00:10:40  00:30:10", owner=("<none>", "x")
    )
    alone.expect(
        "observed.pods_prom",
        """
        job   attempt  bound_at  terminated_at
        ml/a  1        00:10:10  -
        """,
    )


def test_pods_of_a_cluster_that_another_source_tells_of_are_theirs(alone):
    give_pod(alone, "a", "00:10:10", "02:59:40", "Running  00:10:40  02:59:40")
    alone.given("raw.pods", "cluster  pod_uid  gpus\nalone  p  8")
    alone.expect("observed.pods_prom", "pod_uid")
