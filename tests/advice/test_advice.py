"""When the counts of a build suffice for advice, and what it would gain."""

import json
import math
import shutil

import pytest
from click.testing import CliRunner

from goodput.checkpointing import expected_ettr
from goodput.cli import main
from goodput.errors import UsageError
from goodput.lake import Lake
from goodput.warehouse.advice import advise
from goodput.warehouse.connection import connect

HABITS = {
    "cluster": "c",
    "job": "J",
    "job_name": "llama",
    "node_count": "32",
    "gpu_hours": "10_000",
    "interval_s": "3600",
    "save_s": "60",
    "step_s": "30",
    "restart_s": "300",
    "queue_s": "-",
    "rate_basis": "job",
    "failure_count": "20",
    "exposure_hours": "36",
}


def advice(model, **options):
    """{(advice, subject): the advice}."""
    return {(one.advice, one.subject): one for one in advise(model.con, **options)}


def habits(model, **changed):
    """The advice for one job with other habits than above."""
    row = HABITS | changed
    model.given("report.checkpoint_habits", "  ".join(row) + "\n" + "  ".join(row.values()))
    return advice(model)["checkpoint_interval", "llama"]


def test_a_better_interval_with_what_it_gains_in_a_week(model):
    found = habits(model)

    # 20 in 36 hours is one in 6480 s: the optimum of 842 s is 28 steps.
    assert (found.current, found.proposed, found.is_recommended) == (3600, 840, True)
    rate = 20 / 36 / 3600
    gain = expected_ettr(rate, 300, 840, 60) - expected_ettr(rate, 300, 3600, 60)
    assert found.gain_gpu_hours == pytest.approx(10_000 * gain)
    assert 0 < found.gain_low < found.gain_gpu_hours < found.gain_high
    assert found.details["young_s"] == pytest.approx((2 * 60 * 6480) ** 0.5)
    assert found.details["is_first_order_valid"] is False
    assert found.reason.startswith("20 interruptions (its own); the gain of ")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"failure_count": "4"}, "too few interruptions: 4 of the 5 that are needed"),
        ({"interval_s": "-"}, "its checkpoint interval is not observed"),
        ({"save_s": "-"}, "no checkpoint was seen to cost anything"),
        ({"save_s": "0"}, "no checkpoint was seen to cost anything"),
    ],
)
def test_what_is_not_known_is_not_advised(model, changed, reason):
    found = habits(model, **changed)

    assert (found.proposed, found.gain_gpu_hours, found.is_recommended) == (None, None, False)
    assert found.reason == reason


def test_a_gain_that_is_small_at_one_end_of_the_rate_is_not_sure(model):
    found = habits(model, interval_s="1080")

    assert found.gain_gpu_hours > 0
    assert not found.is_recommended
    assert found.reason == "20 interruptions (its own); the gain is not surely above 0.5%"


def test_failures_of_nodes_alone_are_no_reason_to_save_less_often(model):
    rare = habits(model, interval_s="120", rate_basis="nodes")

    assert rare.proposed == 840
    assert not rare.is_recommended
    assert rare.reason.endswith("a lower bound, and no reason to save less often")


LEMONS = """
cluster  node_name  failure_count  p_value  q_value  is_lemon  is_gone  classes     cost_gpu_hours
c        gpu-1      9              0.0001   0.005    true      false    [gpu.lost]  400
c        gpu-2      1              0.4      1        false     false    [gpu.mem]   100
c        gpu-3      9              0.0001   0.005    true      true     [gpu.lost]  400
"""


def test_a_lemon_is_named_with_what_it_cost(model):
    model.given("report.lemon_nodes", LEMONS)

    found = advice(model, price=2.5, replays=0)

    lemon, other = found["remove_node", "gpu-1"], found["remove_node", "gpu-2"]
    assert (lemon.is_recommended, other.is_recommended) == (True, False)
    assert (lemon.gain_gpu_hours, lemon.gain_money) == (400, 1000)
    # The exact interval of nine failures is 4.115 to 17.085.
    assert lemon.gain_low == pytest.approx(400 * 4.115 / 9, rel=1e-3)
    assert lemon.gain_high == pytest.approx(400 * 17.085 / 9, rel=1e-3)
    assert lemon.reason == (
        "gpu.lost; by chance at odds of 0.0001, with all nodes looked at 0.005; gain at most"
    )


def test_what_a_lemon_would_gain_is_replayed(small_lake, tmp_path):
    copy = shutil.copy(Lake.open(small_lake).built_warehouse(), tmp_path / "copy.duckdb")
    with connect(copy) as con:
        con.execute("update report.lemon_nodes set is_lemon = true where node_uid = 'n-1'")
        found = {one.subject: one for one in advise(con) if one.advice == "remove_node"}

    # Lost work, the second start and the wait of both nodes (test_what_if.py), in half a day.
    assert found["gpu-1"].gain_gpu_hours == pytest.approx((47 + 10 + 60) * 16 / 60 * 14)
    assert found["gpu-1"].reason.endswith("; gain by replay")


def test_a_lemon_that_is_gone_need_not_be_removed(model):
    model.given("report.lemon_nodes", LEMONS)

    gone = advice(model, replays=0)["remove_node", "gpu-3"]

    assert not gone.is_recommended
    assert gone.reason.endswith("; it is gone already; gain at most")


def test_spares_are_counted_from_the_nodes_that_are_out(model):
    model.given(
        "report.pool_failures",
        """
        cluster  pool   node_count  failure_count  out_hours
        c        train  100         10             84
        c        few    10          2              84
        c        good   10          0              0
        """,
    )

    found = advice(model)

    # 84 hours of a week: half a node is out. Poisson: 0.986 with two spares, 0.998 with three.
    assert found["spare_nodes", "train"].proposed == 3
    assert found["spare_nodes", "train"].is_recommended
    assert not found["spare_nodes", "few"].is_recommended
    assert ("spare_nodes", "good") not in found
    assert advice(model, target=0.98)["spare_nodes", "train"].proposed == 2


HANGS = """
cluster  job_name  hang_count  detections_s  hung_gpus  hang_gpu_hours  shortest_hang_s  recovered_s
c        llama     2           [1800, 1800]  [64, 64]   64              100              250
c        bert      2           [1800, 1800]  [64, 64]   64              100              1000
c        once      1           [1800]        [64]       32              100              -
"""


def test_a_time_out_stays_clear_of_silences_that_were_none(model):
    model.given("report.hang_detection", HANGS)

    found = advice(model)

    assert found["hang_timeout", "llama"].proposed == 500
    assert found["hang_timeout", "llama"].gain_gpu_hours == pytest.approx(2 * 1300 * 64 / 3600)
    assert found["hang_timeout", "llama"].is_recommended
    assert found["hang_timeout", "bert"].gain_gpu_hours == 0
    assert found["hang_timeout", "once"].proposed == 200
    assert not any(found["hang_timeout", job].is_recommended for job in ("bert", "once"))


def test_retries_that_never_help_are_to_stop(model):
    model.given(
        "report.retries",
        """
        cluster  class        retry_default  retry_count  helped_count  wasted_gpu_hours
        c        app.dep      no             3            0             5
        c        app.oom_gpu  after_fix      1            0             2
        c        gpu.lost     auto           8            8             0
        c        net.fabric   auto           4            0             7
        c        unk.none     auto           2            0             7
        """,
    )

    found = advice(model)

    advised = {subject for (_, subject), one in found.items() if one.is_recommended}
    assert advised == {"app.dep", "app.oom_gpu", "net.fabric"}
    assert ("retry_rule", "gpu.lost") not in found
    assert found["retry_rule", "app.dep"].reason == (
        "0 of 3 retries got further (at most 71% may); do not retry it"
    )
    assert found["retry_rule", "app.oom_gpu"].reason.endswith("retry it after a fix only")


def test_a_node_in_all_unexplained_failures_is_to_be_watched(model):
    model.given("staged.nodes", "cluster  node_uid  name\nc        a         gpu-a")
    rows = [
        f"c  J  {i}  {str(i < 8).lower()}  [{'a' if i < 8 else 'z'}, n{i % 5}]" for i in range(40)
    ]
    model.given(
        "report.unattributed_gangs",
        "\n".join(["cluster  job  attempt  is_failed  nodes", *rows]),
    )

    found = advice(model)

    assert [subject for _, subject in found] == ["gpu-a"]
    assert found["watch_node", "gpu-a"].event_count == 8
    assert found["watch_node", "gpu-a"].details["p_value"] == pytest.approx(1 / 1001)
    assert not found["watch_node", "gpu-a"].is_recommended


def test_what_is_recommended_and_gains_most_comes_first(model):
    model.given(
        "report.retries",
        """
        cluster  class       retry_default  retry_count  helped_count  wasted_gpu_hours
        c        app.dep     no             3            0             5
        c        app.code    no             3            0             50
        c        host.power  auto           2            0             500
        """,
    )

    assert [one.subject for one in advise(model.con)] == ["app.code", "app.dep", "host.power"]


def test_the_verb_lists_what_is_recommended_and_counts_the_rest(goodput):
    result = goodput("advise")

    assert result.exit_code == 0
    header, row = result.stdout.splitlines()
    assert header.split()[:3] == ["advice", "subject", "current"]
    assert row.split()[:2] == ["retry_rule", "app.dep"]
    assert result.stderr == "6 more are not recommended; --all lists them with the reason\n"


def test_the_verb_prices_gains_from_the_build_or_as_it_is_told(goodput):
    rows = json.loads(goodput("advise", "-o", "json").stdout)
    dearer = json.loads(goodput("advise", "--price", "3", "-o", "json").stdout)

    # gpu-1 cost 47.2 GPU-hours in half a day; a GPU-hour costs 2 dollars.
    [money] = [row["gain_money"] for row in rows if row["advice"] == "remove_node"]
    assert money == pytest.approx(47.2 * 14 * 2)
    [money] = [row["gain_money"] for row in dearer if row["advice"] == "remove_node"]
    assert money == pytest.approx(47.2 * 14 * 3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"price": math.nan}, "a price is 0 to 1000000000 for a GPU-hour, not nan"),
        ({"price": math.inf}, "a price is 0 to 1000000000 for a GPU-hour, not inf"),
        ({"price": -1}, "a price is 0 to 1000000000 for a GPU-hour, not -1"),
        *[
            ({"target": value}, f"the target of spares is a share between 0 and 1, not {value}")
            for value in (math.nan, 0, 1, 2)
        ],
    ],
)
def test_a_price_or_target_that_is_none_is_refused(small, options, sentence):
    with pytest.raises(UsageError) as refused:
        advise(small, **options)
    assert str(refused.value) == sentence


def test_the_verb_needs_a_build(tmp_path):
    lake = tmp_path / "lake"
    Lake.open(lake, create=True)

    for words in (["advise"], ["what-if", "--spares", "1"]):
        result = CliRunner().invoke(main, ["--lake", str(lake), *words])
        assert result.exit_code == 4
        assert "nothing has been built" in result.stderr


def test_a_build_without_these_tables_is_to_be_made_again(tmp_path):
    lake = Lake.open(tmp_path / "lake", create=True)
    with connect(lake.local_root / "warehouse.duckdb") as con:
        con.execute("create schema meta")
        con.execute(
            "create table meta.build as"
            " select now() as window_start, now() as window_end, now() as as_of"
        )

    for words in (["advise"], ["what-if", "--spares", "1"]):
        result = CliRunner().invoke(main, ["--lake", str(tmp_path / "lake"), *words])
        assert (result.exit_code, result.stderr.count("run `goodput build` again")) == (4, 1)
