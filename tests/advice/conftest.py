"""The bench for the tests of advice, and half a day of a small fleet to reckon by hand."""

from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from tables import bench, make_empty_warehouse, open_warehouse

from goodput.cli import main
from goodput.lake import Lake
from goodput.sources.typed import import_files
from goodput.warehouse.build import build
from goodput.warehouse.connection import connect
from goodput.window import Window

DAY = "2026-03-02T"


def instants(text):
    """Clock times as instants of the day."""
    return ",".join(
        f"{DAY}{cell}:00Z" if len(cell) == 5 and cell[2] == ":" else cell
        for cell in text.split(",")
    )


# llama trains on two nodes. At 03:00 a GPU of gpu-1 falls off the bus, and the job waits for gpu-3
# until 04:00; gpu-1 is back at 06:00. flaky makes steps until 07:00 and hangs until it is killed
# at 08:00; two retries die of a missing library before their first step.
TABLES = {
    "nodes": """\
node_uid,name,pool,gpus,registered_at,ready_at
n-1,gpu-1,train,8,2026-02-01T00:00:00Z,2026-02-01T00:00:00Z
n-2,gpu-2,train,8,2026-02-01T00:00:00Z,2026-02-01T00:00:00Z
n-3,gpu-3,train,8,2026-02-01T00:00:00Z,2026-02-01T00:00:00Z
""",
    "node_admin": """\
node_uid,kind,action,planned,class,from,to
n-1,repair,reset,false,gpu.lost,03:00,06:00
""",
    "jobs": """\
job,name,namespace,kind,state,ended_at
j-1,llama,ml,training,succeeded,08:10
j-2,chat,web,serving,succeeded,04:00
j-3,flaky,ml,training,failed,08:30
""",
    "attempts": """\
job,attempt,start,end,outcome
j-1,1,01:00,03:00,failed
j-1,2,04:00,08:10,succeeded
j-3,1,06:00,08:00,failed
j-3,2,08:00,08:10,failed
j-3,3,08:20,08:30,failed
""",
    "pods": """\
pod_uid,name,job,attempt,node_uid,gpus,bound_at,running_at,terminated_at
p-1,llama-0,j-1,1,n-1,8,01:00,01:00,03:00
p-2,llama-1,j-1,1,n-2,8,01:00,01:00,03:00
p-3,chat-0,j-2,1,n-3,8,00:00,00:00,04:00
p-4,llama-0,j-1,2,n-2,8,04:00,04:00,08:10
p-5,llama-1,j-1,2,n-3,8,04:00,04:00,08:10
p-6,flaky-0,j-3,1,n-1,8,06:00,06:00,08:00
p-7,flaky-0,j-3,2,n-1,8,08:00,08:00,08:10
p-8,flaky-0,j-3,3,n-1,8,08:20,08:20,08:30
""",
    "queue": """\
job,attempt,pool,pods,gpus_per_pod,from,to
j-1,2,train,2,8,03:00,04:00
""",
    "steps": """\
job,attempt,first,last,start,end
j-1,1,1,60,01:10,02:10
j-1,1,61,107,02:13,03:00
j-1,2,61,300,04:10,08:10
j-3,1,1,55,06:05,07:00
""",
    "phases": """\
job,attempt,kind,start,end
j-1,1,ckpt_save,02:10,02:13
""",
    "checkpoints": """\
job,attempt,step,write_start,committed_at
j-1,1,30,01:40,01:40
j-1,1,60,02:10,02:13
j-1,2,300,08:10,08:10
j-3,1,50,06:55,06:55
""",
    "evidence": """\
node_uid,job,attempt,t,source,value,class
n-1,j-1,1,03:00,xid,79,
,j-3,2,08:10,log,ModuleNotFoundError: No module named 'flash_attn',app.dep
,j-3,3,08:30,log,ModuleNotFoundError: No module named 'flash_attn',app.dep
""",
    "prices": """\
pool,from,microdollars_per_gpu_hour
train,2026-02-01T00:00:00Z,2000000
""",
}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory):
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("empty")))
    yield con
    con.close()


@pytest.fixture
def model(warehouse):
    with bench(warehouse, rebuilds=("rollups",)) as tables:
        yield tables


@pytest.fixture(scope="session")
def small_lake(tmp_path_factory):
    """The lake of half a day, built; its folder."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "tables").mkdir()
    for name, text in TABLES.items():
        lines = [instants(line) for line in text.splitlines()]
        (folder / "tables" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    lake = Lake.open(folder / "lake", create=True)
    assert import_files(lake, folder / "tables").quarantined == 0
    window = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert not [check for check in build(lake, window).checks if check.rows]
    return folder / "lake"


@pytest.fixture(scope="session")
def small(small_lake):
    """A connection to the built half day."""
    con = connect(Lake.open(small_lake).built_warehouse(), read_only=True)
    yield con
    con.close()


@pytest.fixture
def goodput(small_lake):
    """Runs a verb on the lake of half a day."""

    def run(*arguments):
        return CliRunner().invoke(main, ["--lake", str(small_lake), *arguments])

    return run
