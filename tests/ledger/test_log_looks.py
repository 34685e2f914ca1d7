"""When somebody last looked at the log that supplies the steps of an open attempt."""

import pytest
from tables import bench as table_bench

POD = "kubernetes /var/log/pods/team_p_u1/main/0.log"


@pytest.fixture
def bench(warehouse):
    """Jobs A and B run, C is over; each has one log, named like it."""
    with table_bench(warehouse, rebuilds=()) as tables:
        tables.window("00:00", "12:00")
        tables.given(
            "staged.attempts",
            """
            cluster  job  attempt  ended_at
            c        A    1        -
            c        B    1        -
            c        C    1        09:00
            """,
        )
        tables.given(
            "observed.step_streams",
            """
            cluster  job  attempt  stream
            c        A    1        a
            c        B    1        b
            c        C    1        c
            """,
        )
        tables.given(
            "observed.log_attempts",
            """
            cluster  job  attempt  log_id  stream
            c        A    1        a       a
            c        A    1        rank1   rank1
            c        B    1        b       b
            c        C    1        c       c
            """,
        )
        yield tables


def read(bench, text):
    table = "raw.log_reads"
    # What is only there to know a file again does not matter here.
    for name in ("file_bytes", "unread_bytes", "lines", "head_bytes"):
        bench.con.execute(f"alter table {table} alter {name} set default 0")
    for name in ("stream", "head_hash", "steps_hash", "reader"):
        bench.con.execute(f"alter table {table} alter {name} set default ''")
    bench.given(table, "cluster  log_id  path  root  ingested_at\n" + text)


def listed(bench, text):
    columns = "cluster  root  listed_at  is_complete  files  unseen"
    bench.given("raw.log_lists", f"{columns}\n{text}")


def test_the_newest_listing_of_any_root_of_the_log_counts(bench):
    read(
        bench,
        """
        c  a  /logs/a.log    /logs   01:00
        c  a  /logs/a.log.1  /l*/a*  01:30
        c  b  /logs/b.log    /logs   01:00
        c  c  /logs/c.log    /logs   01:00
        """,
    )
    listed(
        bench,
        """
        c      /logs   02:00  true  3  []
        c      /logs   03:00  true  3  []
        c      /l*/a*  04:00  true  1  []
        c      /other  05:00  true  1  []
        other  /logs   06:00  true  1  []
        c      /logs   12:01  true  3  []
        """,
    )
    bench.expect(
        "staged.log_looks",
        """
        cluster  job  attempt  root    looked_at
        c        A    1        /l*/a*  04:00
        c        B    1        /logs   03:00
        """,
    )


def test_a_look_that_could_not_see_the_log_is_none_of_it(bench):
    read(
        bench,
        f"""
        c  a  {POD}.20260302-000000  pods   01:00
        c  a  {POD}.20260302-060000  pods   07:00
        c  b  /logs/job/b.log.2      /logs  01:00
        """,
    )
    listed(
        bench,
        f"""
        c  pods   08:00  false  9  [/logs, {POD}1]
        c  pods   09:00  false  9  [x, {POD}]
        c  pods   10:00  false  0  -
        c  /logs  08:00  false  9  [/logs/jo, /log]
        c  /logs  09:00  false  9  [/logs/job]
        c  /logs  10:00  false  9  [/logs/job/b.log]
        """,
    )
    bench.expect(
        "staged.log_looks",
        """
        job  root   looked_at
        A    pods   08:00
        B    /logs  08:00
        """,
    )


def test_reading_the_log_is_a_look_itself(bench):
    read(bench, "c  a  /logs/a.log  /logs  07:00")
    listed(
        bench,
        """
        c  /logs  06:00  true   1  []
        c  /logs  08:00  false  1  -
        """,
    )
    bench.expect("staged.log_looks", "job  root   looked_at\nA    /logs  07:00")


def test_only_the_log_that_supplies_the_steps_counts(bench):
    read(
        bench,
        """
        c  a      /0/a.log  /0  01:00
        c  rank1  /1/a.log  /1  01:00
        """,
    )
    listed(bench, "c  /1  09:00  true  1  []")
    bench.expect("staged.log_looks", "job  root  looked_at\nA    /0    01:00")


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("raw.steps", "cluster  job  attempt  first  last  end\nc  B  1  1  1  00:10"),
        ("raw.phases", "cluster  job  attempt  kind  start\nc  B  1  eval  00:10"),
        ("raw.step_logs", "cluster  job  attempt  tz   lines\nc  B  1  UTC  []"),
        ("observed.steps_tracker", "cluster  job  attempt\nc  B  1"),
        ("observed.phases_tracker", "cluster  job  attempt\nc  B  1"),
    ],
)
def test_who_tells_steps_otherwise_does_not_depend_on_looks(bench, table, row):
    read(
        bench,
        """
        c  a  /logs/a.log  /logs  01:00
        c  b  /logs/b.log  /logs  01:00
        """,
    )
    bench.given(table, row)
    bench.expect("staged.log_looks", "job  looked_at\nA    01:00")


def test_readings_from_before_looks_were_noted_say_nothing(bench):
    read(
        bench,
        """
        c  a  /logs/a.log  -      01:00
        c  b  /logs/b.log  /logs  01:00
        """,
    )
    listed(bench, "c  /logs  09:00  true  2  []")
    bench.expect("staged.log_looks", "job  looked_at\nB    09:00")


def gone(bench, text):
    bench.given(
        "raw.log_reads", f"cluster  log_id  path  root  ingested_at  gone_at  returned_at\n{text}"
    )


def test_a_log_that_went_was_seen_by_the_listing_before(bench):
    read(
        bench,
        """
        c  a  /logs/a.log  /logs  01:00
        c  b  /logs/b.log  /logs  01:00
        """,
    )
    gone(
        bench,
        """
        c  a  /logs/a.log  /logs  05:00  05:00  -
        c  b  /logs/b.log  /logs  03:00  03:00  -
        c  b  /logs/b.log  /logs  05:00  -      05:00
        """,
    )
    listed(
        bench,
        """
        c  /logs  02:00  true   2  []
        c  /logs  03:00  true   1  []
        c  /logs  04:00  false  1  [/logs/a.log]
        c  /logs  05:00  true   1  []
        c  /logs  06:00  true   1  []
        """,
    )
    bench.expect("staged.log_looks", "job  looked_at\nA    03:00\nB    06:00")


def test_a_log_that_is_gone_below_one_root_may_be_there_below_another(bench):
    read(
        bench,
        """
        c  a  /logs/a.log  /logs    01:00
        c  a  /logs/a.log  /logs/*  01:30
        """,
    )
    gone(bench, "c  a  /logs/a.log  /logs  05:00  05:00  -")
    listed(
        bench,
        """
        c  /logs    04:00  true   2  []
        c  /logs/*  03:00  true   1  []
        c  /logs    05:00  true   2  []
        """,
    )
    bench.expect("staged.log_looks", "job  root   looked_at\nA    /logs  04:00")
    listed(bench, "c  /logs/*  06:00  true   1  []")
    bench.expect("staged.log_looks", "job  root     looked_at\nA    /logs/*  06:00")


def test_of_the_parts_of_a_log_the_last_one_counts(bench):
    bench.given(
        "observed.log_attempts",
        """
        cluster  job  attempt  log_id  stream  ended_at
        c        A    1        a1      a       02:00
        c        A    1        a2      a       01:00
        """,
    )
    read(
        bench,
        """
        c  a1  /logs/a.log    /logs  01:00
        c  a2  /logs/a.log.1  /logs  01:00
        c  a2  /old/a.log.1   /old   01:00
        """,
    )
    gone(bench, "c  a2  /logs/a.log.1  /logs  03:00  03:00  -")
    listed(
        bench,
        """
        c  /logs  04:00  true  1  []
        c  /old   05:00  true  1  []
        """,
    )
    bench.expect("staged.log_looks", "job  root   looked_at\nA    /logs  04:00")


def test_listings_that_missed_a_log_one_after_the_other_or_with_pauses(bench):
    read(
        bench,
        """
        c  a  /logs/x/a.log  /logs  00:10
        c  b  /logs/x/b.log  /logs  00:10
        """,
    )
    listed(
        bench,
        """
        c  /logs  01:00  true   2  []
        c  /logs  02:00  false  2  [/logs/x/a.log, /logs/y]
        c  /logs  03:00  false  2  [/logs/x, /logs/x/a.log]
        c  /logs  04:00  false  2  [/logs/x/b]
        c  /logs  04:00  false  2  [/logs/x]
        c  /logs  05:00  false  2  [/logs/x/a, /logs/x/b.log.1]
        """,
    )
    bench.expect("staged.log_looks", "job  looked_at\nA    01:00\nB    05:00")
    listed(
        bench,
        """
        c  /logs  06:00  true   2  []
        c  /logs  07:00  false  2  [/logs]
        """,
    )
    bench.expect("staged.log_looks", "job  looked_at\nA    06:00\nB    06:00")


def test_pods_that_nobody_sees_any_more_bound_what_silence_says(bench):
    """A's log was read to its last line at 03:00, after the last look at its pods; B's is newer."""
    bench.given(
        "observed.log_attempts",
        """
        cluster  job  attempt  log_id  stream  ended_at
        c        A    1        a       a       03:00
        c        B    1        b       b       01:00
        """,
    )
    bench.given(
        "staged.pod_looks",
        """
        cluster  job  attempt  seen_at
        c        A    1        02:00
        c        B    1        07:00
        """,
    )
    read(bench, "c  a  /logs/a.log  /logs  01:00\nc  b  /logs/b.log  /logs  01:00")
    listed(bench, "c  /logs  06:00  true  2  []")
    bench.expect(
        "staged.log_looks",
        """
        job  looked_at  seen_at  known_until
        A    06:00      02:00    03:00
        B    06:00      07:00    06:00
        """,
    )


def test_pods_are_seen_by_each_look_of_a_cluster_and_by_a_dump_when_it_was_made(bench):
    """The dump r2 tells of 05:00, when it saw A's pod; what shows no pod is no look at it."""
    bench.given("staged.pods", "cluster  job  attempt  pod_uid\nc  A  1  p1\nc  C  1  p3")
    bench.given(
        "raw.kube_objects",
        """
        cluster  kind  uid  run_id  observed_at  is_deleted  api_version  name  body
        c        Pod   p1   r1      02:00        false       v1           a     {}
        c        Pod   p1   r2      03:00        false       v1           a     {}
        c        Pod   p1   r3      09:00        true        v1           a     {}
        c        Node  p1   r4      10:00        false       v1           a     {}
        c        Pod   p3   r4      10:00        false       v1           c     {}
        """,
    )
    bench.given(
        "raw.kube_lists",
        """
        cluster  kind   run_id  observed_at  items  labels
        c        Event  r2      05:00        1      {}
        c        Pod    r4      10:00        1      {}
        """,
    )
    bench.expect("staged.pod_looks", "job  attempt  seen_at\nA  1  05:00")
