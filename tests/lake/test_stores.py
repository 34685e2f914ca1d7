"""The door to object stores: what addresses mean, where keys come from, what errors say."""

import json
from urllib.parse import parse_qsl

import pytest

from goodput._files import local_path
from goodput.errors import UsageError
from goodput.stores import Address, ObjectChanged, ObjectStore


@pytest.mark.parametrize(
    ("text", "name", "bucket", "prefix", "options"),
    [
        ("s3://b", "s3://b", "b", "", {}),
        ("s3://b/a/b/", "s3://b/a/b", "b", "a/b", {}),
        (
            "s3://KEY:se%2Fcret@b/p?region=eu-west-1&endpoint=http://h:9000",
            "s3://b/p",
            "b",
            "p",
            {
                "access_key_id": "KEY",
                "secret_access_key": "se/cret",
                "region": "eu-west-1",
                "endpoint": "http://h:9000",
            },
        ),
        # As PyArrow has it.
        (
            "s3://b/p?endpoint_override=h:9000&scheme=http",
            "s3://b/p",
            "b",
            "p",
            {"endpoint": "http://h:9000"},
        ),
        ("s3://b?endpoint_override=h", "s3://b", "b", "", {"endpoint": "https://h"}),
        ("gs://b/p", "gs://b/p", "b", "p", {}),
        ("az://c/p", "az://c/p", "c", "p", {}),
        (
            "abfs://c@acc.dfs.core.windows.net/p",
            "abfs://c@acc.dfs.core.windows.net/p",
            "c",
            "p",
            {"account_name": "acc"},
        ),
        (
            "az://acc:se/cret==@c/p",
            "az://c@acc/p",
            "c",
            "p",
            {"account_name": "acc", "account_key": "se/cret=="},
        ),
        (
            "abfs://c:se%2Fcret@acc.dfs.core.windows.net/p@1",
            "abfs://c@acc.dfs.core.windows.net/p@1",
            "c",
            "p@1",
            {"account_name": "acc", "account_key": "se/cret"},
        ),
        (
            "s3://KEY:+se/cret@b/p@1/x",
            "s3://b/p@1/x",
            "b",
            "p@1/x",
            {"access_key_id": "KEY", "secret_access_key": "+se/cret"},
        ),
    ],
)
def test_an_address_is_a_bucket_a_prefix_and_how_to_get_there(text, name, bucket, prefix, options):
    address = Address.parse(text)
    assert (address.name, address.bucket, address.prefix) == (name, bucket, prefix)
    assert address.options == options
    assert "cret" not in repr(address)


@pytest.mark.parametrize(
    "text",
    ["s4://b/p", "s3://", "://b", "s3:///p", "az://@acc/p", "s3://k:secret", "az://a:b:secret@"],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(
        UsageError, match="cannot be opened; the forms are s3://bucket/prefix, gs"
    ) as caught:
        ObjectStore.open(text)
    assert "secret" not in str(caught.value)


def test_an_option_that_nobody_knows_is_refused_without_its_value():
    with pytest.raises(UsageError) as caught:
        ObjectStore.open("s3://b/p?secret=hunter2")
    assert str(caught.value).startswith("s3://b/p cannot be opened (UnknownConfigurationKeyError)")
    assert "hunter2" not in str(caught.value)


def test_files_are_no_objects():
    assert local_path("/a/b") == "/a/b"
    assert local_path("file:///a/b%20c") == "/a/b c"
    assert local_path("s3://a/b") is None
    with pytest.raises(UsageError, match="file:// cannot be opened"):
        ObjectStore.open("file://a/b")


@pytest.fixture
def no_environment(monkeypatch, tmp_path):
    """A shell without credentials, whose home is tmp_path."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_PROFILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("profile", ["default", "team"])
def test_keys_of_a_profile_are_found(s3, no_environment, monkeypatch, profile):
    secret = s3.environment()["AWS_SECRET_ACCESS_KEY"]
    keys = {"default": "tests", "team": "reader"}
    (no_environment / ".aws").mkdir()
    (no_environment / ".aws/credentials").write_text(
        "".join(
            f"[{name}]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
            for name, key in keys.items()
        )
    )
    monkeypatch.setenv("AWS_PROFILE", profile)
    s3.put("profiles/x", b"x")
    store = ObjectStore.open(f"s3://profiles?endpoint=http://127.0.0.1:{s3.port}")
    assert store.read("x", 0, 1) == b"x"
    if profile == "team":
        with pytest.raises(OSError, match="AccessDenied"):
            store.replace("y", b"y")


def test_a_profile_file_that_is_none_is_as_if_it_were_not_there(s3, no_environment):
    (no_environment / ".aws").mkdir()
    (no_environment / ".aws/credentials").write_bytes(b"\xff\xfe nonsense")
    s3.put("profiles/x", b"x")
    assert ObjectStore.open(s3.url("profiles")).read("x", 0, 1) == b"x"


def test_a_listing_needs_no_right_to_read(s3, no_environment, monkeypatch):
    assert no_environment
    s3.put("listed/a/x", b"x")
    for name, value in s3.environment("lister").items():
        monkeypatch.setenv(name, value)
    store = ObjectStore.open("s3://listed/a")
    store.reach("a")
    assert [item.path for item in store.listing("a")[0]] == ["a/x"]
    with pytest.raises(OSError, match=r"AccessDenied|403 Forbidden"):
        store.read("a/x", 0, 1)
    with pytest.raises(OSError, match="NoSuchBucket"):
        ObjectStore.open("s3://unlisted").reach("")


def test_google_and_azure_find_their_keys_in_the_environment(gcs, azure, monkeypatch):
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(gcs.key_file))
    store = ObjectStore.open("gs://environment/a")
    store.create("a/x", b"x")
    assert store.listing("a")[0][0].path == "a/x"

    azure.make("environment")
    options = dict(parse_qsl(azure.url("").partition("?")[2]))
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", options["account_name"])
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", options["account_key"])
    store = ObjectStore.open(f"az://environment?endpoint={options['endpoint']}")
    store.create("a/x", b"x")
    assert store.listing("a")[0][0].path == "a/x"


def test_an_object_is_made_once_and_replaced_whole(bucket):
    store = bucket.store
    store.create("x", b"one")
    store.create("x", b"one")  # as after a lost answer
    with pytest.raises(FileExistsError):
        store.create("x", b"two")
    assert store.read("x", 0, 10) == b"one"
    version = store.replace("x", b"other")
    head = store.head("x")
    assert (head.size, head.version.strip('"')) == (5, version.strip('"'))
    store.delete("x")
    store.delete("x")
    assert store.head("x") is None
    with pytest.raises(FileNotFoundError):
        store.read("x", 0, 1)


def test_a_large_file_goes_up_and_down_in_parts_and_is_one_version(bucket, tmp_path):
    content = bytes(range(256)) * 80_000
    (tmp_path / "up").write_bytes(content)
    store = bucket.store
    store.replace("big", tmp_path / "up")
    head = store.head("big")
    store.download("big", tmp_path / "down", head.size, head.version)
    assert (tmp_path / "down").read_bytes() == content
    with store.stream("big", 9_000_000) as stream:
        assert stream.read() == content[:9_000_000]
    store.replace("big", b"x" * head.size)
    with pytest.raises(ObjectChanged):
        store.download("big", tmp_path / "down", head.size, head.version)


def test_the_request_of_a_commit_to_google_is_conditional(gcs):
    store = ObjectStore.open(gcs.url("shape"))
    store.create("commit", b"{}")
    store.replace("warehouse", b"x")
    mine = [(path, only_if) for path, only_if in gcs.puts if path.startswith("shape/")]
    assert mine == [("shape/commit", "0"), ("shape/warehouse", None)]
    assert json.loads(gcs.key_file.read_text())["disable_oauth"] is True
