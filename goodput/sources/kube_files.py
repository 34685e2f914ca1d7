"""Dumped files with Kubernetes objects: JSON, YAML, Lists, watch streams, many in one file."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from goodput.sources.artefact import Hints, Row
from goodput.sources.kube_documents import End, Item, json_documents, yaml_documents
from goodput.sources.kube_objects import ObjectReader

_HEAD_BYTES = 64 << 10
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PROMPT = re.compile(rb"\A\s*[$>#%]\s*(?:kubectl|oc)\s[^\n]*\n")
_JSON_HEAD = re.compile(rb'"(apiVersion|creationTimestamp|lastTransitionTime)"\s*:')
_YAML_HEAD = re.compile(rb"^ {0,4}(- )?apiVersion: ?[\w./\"'-]+\s*$", re.MULTILINE)
_FRAGMENT = re.compile(
    rb"(?:#[^\n]*\n|\s*\n)*(?:- )?(?:(?:status|spec|metadata|items|conditions):\s*\n|last\w+Time:)"
)


def sniff(head: bytes, name: str) -> bool:
    """Whether a file begins like Kubernetes objects in JSON or YAML."""
    del name
    return _looks_like(head) is not None


def _looks_like(head: bytes) -> str | None:
    """Whether a file begins as "json" or "yaml", perhaps below the command that printed it."""
    text = head.removeprefix(codecs.BOM_UTF8)
    if text.startswith(_UTF16):
        text = text[2:].replace(b"\0", b"")
    text = _PROMPT.sub(b"", text, count=1).lstrip()
    if text[:1] in (b"{", b"[") and _JSON_HEAD.search(text):
        return "json"
    return "yaml" if _YAML_HEAD.search(text) or _FRAGMENT.match(text) else None


def read(stream: BinaryIO, hints: Hints) -> dict[str, list[Row]]:
    """Rows of kube_objects, kube_events, kube_lists and quarantine from one dumped file.

    Args:
        stream: the uncompressed bytes.
        hints: `cluster`, `file` and `now` (RFC 3339; instants after it were not observed).
    """
    reader = ObjectReader(hints)
    for part in _parts(stream):
        if isinstance(part, Item):
            reader.take(part.value, part.line)
        else:
            reader.end(part)
    return reader.finish()


def _parts(stream: BinaryIO) -> Iterator[Item | End]:
    head = stream.read(_HEAD_BYTES)
    encoding = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    form = _looks_like(head)
    rest = _Joined(_PROMPT.sub(b"", head, count=1), stream)
    text = io.TextIOWrapper(io.BufferedReader(rest), encoding=encoding, errors="replace")
    return json_documents(text) if form == "json" else yaml_documents(text)


class _Joined(io.RawIOBase):
    """The bytes that were looked at, then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :] if self._head else b""
        buffer[: len(data)] = data
        return len(data)
