"""Time by hardware, and shares of GPUs."""

from small_fleets import CLUSTER


def test_time_goes_by_hardware(model):
    model.given(
        "staged.nodes", "cluster  node_uid  gpus  instance_type  gpu_model\nc  n1  1  p5  H100"
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  pool   job  attempt  state                   cause     unit_ms
        c        n1        train  A    1        A.productive.committed  -         3600 gs
        c        n1        train  A    1        A.lost.recompute        gpu.lost  3600 gs
        c        n1        train  -    -        I.no_demand             -         7200 gs
        """,
    )
    model.expect(
        "metrics.hardware",
        """
        metric             scope          scope_value  value  numerator  denominator
        goodput_paid       instance_type  p5           1/4    3600       14400
        goodput_allocated  instance_type  p5           1/2    3600       7200
        gpu_hours          instance_type  p5           4      -          -
        lost_gpu_hours     instance_type  p5           1      -          -
        goodput_paid       gpu_model      H100         1/4    3600       14400
        goodput_allocated  gpu_model      H100         1/2    3600       7200
        gpu_hours          gpu_model      H100         4      -          -
        lost_gpu_hours     gpu_model      H100         1      -          -
        """,
    )


def test_shares_are_held_at_their_size(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  pool   gpu  pod_uid  state        cause  unit_ms
        c        n1        serve  0    p1       A.other      -      1800 gs
        c        n1        serve  0    -        I.no_demand  -      1800 gs
        c        n1        serve  1    p2       A.other      -      3600 gs
        """,
    )
    model.con.execute("update staged.pods set is_shared = (pod_uid = 'p1')")
    model.expect(
        "metrics.shared_gpus",
        """
        metric            scope  scope_value  value  numerator  denominator
        shared_gpu_hours  fleet  ''           0.5    -          -
        shared_gpu_hours  pool   serve        0.5    -          -
        shared_use        fleet  ''           0.5    1800       3600
        shared_use        pool   serve        0.5    1800       3600
        """,
    )
