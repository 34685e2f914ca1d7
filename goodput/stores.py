"""The only door to object stores: S3 and what speaks like it, Google Cloud Storage, Azure.

A store is an address such as s3://bucket/prefix. Credentials come from the environment, as for each
cloud's own tools; what the address says besides (keys, endpoint, region) is used to reach the store
and never shown or stored. Every failure is an OSError of one line.
"""

from __future__ import annotations

import configparser
import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, InvalidPathError, PreconditionError
from obstore.store import AzureStore, GCSStore, S3Store

from goodput.errors import UsageError

if TYPE_CHECKING:
    from obstore import GetOptions

FORMS = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, abfs://container@account…"

_KINDS = {
    "s3": S3Store,
    "s3a": S3Store,
    "gs": GCSStore,
    "gcs": GCSStore,
    "az": AzureStore,
    "azure": AzureStore,
    "abfs": AzureStore,
    "abfss": AzureStore,
}
_CHUNK_BYTES = 8 << 20
_MOST_PARTS = 5_000
_PAGE = 1_000
_MESSAGE = re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL)
_NO_CREDENTIALS = re.compile(r"169\.254\.|metadata\.google|token request")
_STATUS = re.compile(r"status code: (\d+ [^:]*)")
_LONGEST_REASON = 300


class ObjectChanged(OSError):
    """An object is another one than it was when it was looked at."""


@dataclass(frozen=True, slots=True)
class Item:
    """One object.

    Attributes:
        path: its key below the bucket.
        version: changes when the object does.
    """

    path: str
    size: int
    written_at: datetime
    version: str


@dataclass(frozen=True)
class Address:
    """A parsed address.

    Attributes:
        name: what may be shown: the address without keys and options.
        prefix: the key below which everything lies; empty for the whole bucket.
        options: how to reach the bucket, in obstore's words.
    """

    name: str
    scheme: str
    bucket: str
    prefix: str
    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Takes an address apart.

        Raises:
            UsageError: no such kind of address, or no bucket. It does not repeat the address.
        """
        scheme, _, rest = text.partition("://")
        where, _, query = rest.partition("?")
        before, authority, prefix = _split_keys(where)
        user, has_secret, secret = (unquote(part) for part in before.partition(":"))
        options = _reachable(dict(parse_qsl(query)))
        bucket, shown = authority, authority
        if before and _KINDS.get(scheme) is AzureStore:
            # An account has dots where its host is named, a container never.
            is_account_first = bool(has_secret) and "." not in authority
            bucket, account = (authority, user) if is_account_first else (user, authority)
            shown = f"{bucket}@{account}"
            options.setdefault("account_name", account.partition(".")[0])
            options.update({"account_key": secret} if secret else {})
        elif before:
            options.update(access_key_id=user, secret_access_key=secret)
        if scheme not in _KINDS or not bucket or {":", "@"} & set(authority):
            raise UsageError(f"an address with {scheme}:// cannot be opened; the forms are {FORMS}")
        prefix = prefix.strip("/")
        return cls(f"{scheme}://{shown}/{prefix}".rstrip("/"), scheme, bucket, prefix, options)


def _split_keys(where: str) -> tuple[str, str, str]:
    """What stands before the @, the bucket or host behind it, and the prefix.

    A key may hold slashes as they are: no bucket has a colon, so what follows one is a key.
    """
    authority = where.partition("/")[0]
    if ":" in authority and "@" not in authority:
        before, _, behind = where.partition("@")
    else:
        before = authority.rpartition("@")[0]
        behind = where[len(before) + bool(before) :]
    host, _, prefix = behind.partition("/")
    return before, host, prefix


class ObjectStore:
    """One bucket, and the prefix of an address in it. Paths are keys below the bucket."""

    def __init__(self, address: Address, store: S3Store | GCSStore | AzureStore) -> None:
        self.name = address.name
        self.prefix = address.prefix
        self._store = store

    @classmethod
    def open(cls, text: str) -> ObjectStore:
        """The store at an address; nothing is sent yet.

        Raises:
            UsageError: the address or one of its options cannot be understood.
        """
        address = Address.parse(text)
        kind = _KINDS[address.scheme]
        options: dict[str, Any] = dict(address.options)
        if kind is S3Store and "access_key_id" not in options:
            options = {**_profile(os.environ), **options}
        # Plain HTTP is used only where an endpoint says so itself.
        client = {"allow_http": True}
        try:
            store = kind(address.bucket, config=options, client_options=client)
        except (BaseError, OSError, TypeError, ValueError) as error:
            # The text of the error may repeat an option, and that may be a key.
            raise UsageError(
                f"{address.name} cannot be opened ({type(error).__name__}): check the options after"
                " its question mark, and the credentials in the environment"
            ) from None
        return cls(address, store)

    def listing(self, prefix: str) -> tuple[list[Item], list[str]]:
        """The objects below a prefix by key, and prefixes that hold names that cannot be used.

        Raises:
            OSError: the store does not answer, or refuses.
        """
        with _plain_errors():
            items, flaws = self._listed(prefix)
        return sorted(items, key=lambda item: item.path), flaws

    def reach(self, prefix: str) -> None:
        """Asks for the beginning of a listing, whatever is in it.

        Raises:
            OSError: the store does not answer, or refuses.
        """
        with _plain_errors(), suppress(InvalidPathError):
            next(iter(obstore.list(self._store, prefix or None)), None)

    def _listed(self, prefix: str) -> tuple[list[Item], list[str]]:
        try:
            stream = obstore.list(self._store, prefix or None, chunk_size=_PAGE)
            return [_item(meta) for page in stream for meta in page], []
        except InvalidPathError:
            pass
        # One name with a line break or an empty part spoils a whole listing: go around it.
        try:
            level = obstore.list_with_delimiter(self._store, prefix or None)
        except InvalidPathError:
            return [], [f"{prefix}/ holds a name with an empty part or a control character"]
        items, flaws = [_item(meta) for meta in level["objects"]], []
        for folder in level["common_prefixes"]:
            inner, bad = self._listed(folder)
            items += inner
            flaws += bad
        return items, flaws

    def head(self, path: str) -> Item | None:
        """One object, if it is there.

        Raises:
            OSError: the store does not answer, or refuses.
        """
        try:
            with _plain_errors():
                return _item(obstore.head(self._store, path))
        except FileNotFoundError:
            return None

    def read(self, path: str, offset: int, size: int, version: str | None = None) -> bytes:
        """Some bytes of an object.

        Args:
            version: fail if the object is another one by now.

        Raises:
            FileNotFoundError: it is not there.
            ObjectChanged: it is not the one of that version.
            OSError: it cannot be read.
        """
        if not size:
            return b""
        options: GetOptions = {"range": (offset, offset + size)}
        if version:
            options["if_match"] = version
        with _plain_errors():
            return bytes(obstore.get(self._store, path, options=options).bytes())

    def stream(self, path: str, size: int) -> IO[bytes]:
        """The first bytes of an object, read in parts as they are asked for.

        Raises:
            OSError: reading may raise it.
        """
        return io.BufferedReader(_Parts(self, path, size))

    def download(self, path: str, target: Path, size: int, version: str | None = None) -> None:
        """Writes an object of a known size into a new file.

        Raises:
            FileNotFoundError: it is not there.
            OSError: it cannot be read, or the file cannot be written.
        """
        with target.open("wb") as file:
            for offset in range(0, size, _CHUNK_BYTES):
                file.write(self.read(path, offset, min(_CHUNK_BYTES, size - offset), version))

    def create(self, path: str, content: bytes) -> None:
        """Puts a new object in one step: readers see none of it or all.

        Raises:
            FileExistsError: there is another object of that name; it is as it was.
            OSError: the store does not answer, or refuses.
        """
        try:
            with _plain_errors():
                obstore.put(self._store, path, content, mode="create", use_multipart=False)
        except FileExistsError:
            # The answer to the first try may have been lost, and the second met its own object.
            with _plain_errors():
                there = bytes(obstore.get(self._store, path).bytes())
            if there != content:
                raise

    def replace(self, path: str, content: bytes | Path) -> str:
        """Puts an object in one step over what is there; gives its version, "" if not told.

        Raises:
            OSError: the store does not answer, or refuses.
        """
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        part = max(_CHUNK_BYTES, size // _MOST_PARTS)
        with _plain_errors():
            return obstore.put(self._store, path, content, chunk_size=part)["e_tag"] or ""

    def delete(self, path: str) -> None:
        """Deletes an object; one that is not there is fine.

        Raises:
            OSError: the store does not answer, or refuses.
        """
        try:
            with _plain_errors():
                obstore.delete(self._store, path)
        except FileNotFoundError:
            pass


class _Parts(io.RawIOBase):
    """An object as a file that is read once from its beginning."""

    def __init__(self, store: ObjectStore, path: str, size: int) -> None:
        super().__init__()
        self._store, self._path, self._size = store, path, size
        self._offset = 0
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            wanted = min(_CHUNK_BYTES, self._size - self._offset)
            self._ready = memoryview(self._store.read(self._path, self._offset, wanted))
            self._offset += len(self._ready)
        data, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _item(meta: Mapping[str, Any]) -> Item:
    return Item(meta["path"], meta["size"], meta["last_modified"], meta["e_tag"] or "")


def _reachable(options: dict[str, str]) -> dict[str, str]:
    """Options in obstore's words: pyarrow's two for an endpoint are known, too."""
    host, scheme = options.pop("endpoint_override", None), options.pop("scheme", "https")
    return {**({"endpoint": f"{scheme}://{host}"} if host else {}), **options}


def _profile(environ: Mapping[str, str]) -> dict[str, str]:
    """The keys of the profile in ~/.aws/credentials, if nothing in the environment names others."""
    if "AWS_ACCESS_KEY_ID" in environ or "AWS_WEB_IDENTITY_TOKEN_FILE" in environ:
        return {}
    home = Path(environ.get("HOME") or "/")
    file = configparser.RawConfigParser()
    try:
        file.read(environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    name = environ.get("AWS_PROFILE") or "default"
    section = file[name] if file.has_section(name) else {}
    known = {
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token",
        "region": "region",
    }
    return {ours: section[theirs] for theirs, ours in known.items() if theirs in section}


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turns what obstore raises into an OSError of one line without addresses that hold keys."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(_reason(error)) from None
    except AlreadyExistsError as error:
        raise FileExistsError(_reason(error)) from None
    except PreconditionError as error:
        raise ObjectChanged(_reason(error)) from None
    except InvalidPathError:
        raise
    except (BaseError, OSError, ValueError) as error:
        raise OSError(_reason(error)) from None


def _reason(error: Exception) -> str:
    text = str(error).partition("\n\nDebug source")[0]
    if said := _MESSAGE.search(text):
        text = f"{said[1]}: {said[2].splitlines()[0]}"
    elif _NO_CREDENTIALS.search(text):
        text = (
            "no credentials were found: set them in the environment, as for the cloud's own tools"
        )
    elif status := _STATUS.search(text):
        text = status[1]
    return re.sub(r"\?\S*", "", " ".join(text.split()))[:_LONGEST_REASON]
