"""What samples mean: conditions of nodes and GPUs, beside what other sources say."""

from prom_states import GPU, LINK, NODE, READY, give_hours, give_node_object, give_states


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
