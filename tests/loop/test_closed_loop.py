"""Twelve hours through the real protocols: the ledger is what was injected, or as it looked."""

HOUR = 5040 * 3_600_000
# Nobody can see the end of a pod that is deleted between two looks.
ENDS = {"A.hang", "A.lost.abandoned", "A.lost.recompute", "A.restart_loop", "A.teardown"}


def test_nothing_is_wrong(day):
    account = day.played.account
    assert account.differences == {}
    assert account.wrong == 0
    assert day.played.failed_checks == []


def test_paid_time_is_the_injected_one(day):
    account = day.played.account
    assert sum(account.booked.values()) == sum(row.injected for row in account.rows)


def test_what_a_job_did_until_it_ended_is_exact(day):
    for row in day.played.account.rows:
        if row.state.startswith("A.") and row.state not in ENDS:
            assert (row.state, row.exact) == (row.state, row.injected)


def test_what_nobody_saw_is_unknown_or_seems_to_go_on(day):
    account = day.played.account
    unseen = sum(row.unseen for row in account.rows)
    seeming = unseen - account.booked["A.unknown"]
    assert 0 < account.booked["A.unknown"] < 25 * HOUR
    assert 0 <= seeming < HOUR
    assert sum(row.open_reason for row in account.rows) < HOUR


def test_much_happens_in_the_day(fleet):
    kinds = {kind for _, kind, _ in fleet.sim.trace.faults}
    assert len(kinds) == 15
    assert kinds > {"cancel", "link", "notready", "oom_host", "preemption", "rollback", "xid79"}


def test_every_kind_of_run_took_place(day):
    assert set(day.played.runs) == {
        "kubernetes",
        "prometheus",
        "logs",
        "pod logs",
        "Loki",
        "checkpoints",
        "watch",
        "twice",
        "expired",
        "broken",
        "slow",
        "lost",
        "killed",
    }


def test_a_list_that_outlived_its_version_says_that_it_shows_no_one_moment(day):
    rows = day.rows(
        "select count(distinct observed_at) from raw where kind = 'Pod' and not is_consistent",
        raw="kube_lists",
    )
    assert rows == [(day.played.runs["expired"],)]


def test_lists_that_did_not_come_are_gaps(day):
    rows = day.rows(
        "select source_name, count(*) from raw where source_name like 'kubernetes %' group by all",
        raw="collector_gaps",
    )
    assert rows == [("kubernetes Pod", day.played.runs["lost"])]


def test_two_collectors_at_once_and_killed_ones_leave_each_row_once(day):
    for table in ("kube_objects", "kube_events", "kube_lists"):
        copies = day.rows(
            "select count(*) - count(distinct row_id) from"
            " (select distinct row_id, ingested_at from raw)",
            raw=table,
        )
        assert copies == [(0,)]


def test_checkpoints_of_the_bucket_are_dated_and_deleted(day):
    rows = day.rows(
        "select count(*) > 3, bool_or(deleted_at is not null),"
        " bool_and(last_written_at < timestamptz '2026-11-24 13:00:00+00')"
        " from raw where path like 's3://ml-ckpt/%'",
        raw="checkpoint_files",
    )
    assert rows == [(True, True, True)]
    assert day.bucket.store.refusals > 0


def test_logs_were_read_while_they_grew_and_after_they_were_packed(day):
    rows = day.rows(
        "select max(readings) > 5, bool_or(is_packed) from (select log_id, count(*) as readings,"
        " bool_or(path like '%.gz') as is_packed from raw group by log_id)",
        raw="log_reads",
    )
    assert rows == [(True, True)]


def test_both_runs_of_a_restarted_container_were_read_through_the_api_server(day):
    rows = day.rows(
        "select regexp_extract(path, 'trainer/(.*)\\.\\d+-\\d+$', 1) as log,"
        " count(distinct path) from raw"
        " where path like 'kubernetes /var/log/pods/vision_ablate-1-%' group by all order by all",
        raw="log_reads",
    )
    assert rows == [("0.log", 2), ("1.log", 1)]
    assert not list((day.folder / "logs").glob("vision_ablate-1-*"))


def test_logs_out_of_loki_crossed_the_border_of_two_parts(day):
    rows = day.rows(
        "select count(distinct path) from raw"
        " where path like 'loki-% namespace=speech/var/log/pods/speech_whisper-next-%'",
        raw="log_reads",
    )
    assert rows == [(2,)]
    assert not list((day.folder / "logs").glob("speech_*"))


def test_a_watch_saw_pods_go_but_where_the_server_had_forgotten(day, fleet):
    spans = next(run.watched for run in day.runs if run.watched)
    gone = day.rows("select uid from raw where kind = 'Pod' and is_deleted", raw="kube_objects")
    removed = [pod for pod in fleet.sim.pods if pod.removed]
    watched = {p.uid for p in removed if any(a < p.removed <= b for a, b in spans)}
    forgotten = [p for p in removed if spans[1][1] < p.removed <= spans[2][0]]
    assert len(watched) > 4
    assert len(forgotten) == 4
    assert {uid for (uid,) in gone} == watched


def test_a_watch_that_was_too_late_began_at_a_look(day):
    spans = next(run.watched for run in day.runs if run.watched)
    looks = day.rows(
        "select distinct cast(epoch(observed_at) as bigint) from raw where kind = 'Pod'"
        f" and epoch(observed_at) between {spans[0][0]} and {spans[-1][1]} - 1 order by 1",
        raw="kube_lists",
    )
    assert looks == [(start,) for start, _ in spans]


def test_nothing_was_refused(day):
    assert not list((day.folder / "lake" / "raw").glob("quarantine/**/*.parquet"))
