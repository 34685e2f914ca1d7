"""The API server of a cluster, read as raw JSON.

Typed models are not used, as one object that they cannot hold loses a whole list. Only GET is ever
sent, but for the question what this account may do, which the server answers and forgets.
"""

from __future__ import annotations

import json
import math
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import IO, Any, NoReturn

import urllib3

from goodput import __version__
from goodput.errors import SourceUnreachable
from goodput.sources.deadline import within
from goodput.sources.kube_access import ClusterAccess
from goodput.sources.kube_answers import (
    Answer,
    Refused,
    Unanswered,
    json_list,
    json_object,
    retry_after_s,
    server_time,
)
from goodput.sources.kube_patience import Patience, patiently

# What passes by itself; anything else that is not 200 is the server's last word.
_PASSING = frozenset({429, 500, 502, 503, 504})
_OK = 200
_CREATED = 201
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_UNAUTHORIZED = 401
_CHUNK_BYTES = 64 << 10
# Unpacked; a page of 500 pods has some MB.
_LARGEST_BODY_BYTES = 256 << 20
# etcd holds no object of more than some MB.
_LONGEST_LINE_BYTES = 32 << 20
# A Date header has whole seconds, and an answer takes its time.
_AGREE = timedelta(seconds=2)


class KubernetesApi:
    """GET requests to one API server, tried again where that can help."""

    def __init__(
        self,
        access: ClusterAccess,
        sign_in: Callable[[], ClusterAccess],
        patience: Patience | None = None,
    ) -> None:
        """Sends nothing yet.

        Args:
            access: the credentials as they are now.
            sign_in: reads them anew when a token has run out.
            patience: None means the defaults.
        """
        self._access = access
        self._sign_in = sign_in
        self._patience = patience or Patience()
        self._pool = _pool(access)
        self._signing_in = threading.Lock()
        self._ahead = timedelta()

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Answer:
        """The JSON object at a path.

        Raises:
            Refused: the server said no.
            Unanswered: it said nothing usable until patience ran out.
            SourceUnreachable: its certificate is not trusted.
        """
        return self._ask(path, parameters or {}, json_object)

    def get_list(self, path: str, parameters: Mapping[str, str]) -> Answer:
        """The JSON object at a path; its `items` are `Objects` where they are a list.

        Raises:
            Refused, Unanswered, SourceUnreachable: as `get`.
        """
        return self._ask(path, parameters, json_list)

    def fetch(
        self, path: str, parameters: Mapping[str, str], file: IO[bytes], attempts: int
    ) -> datetime:
        """Writes the text at a path, such as a log, into a file that is emptied before each try.

        Args:
            attempts: how often it is tried; what a node must answer, it often cannot.

        Returns:
            When it was so, by the server's clock.

        Raises:
            Refused: the server said no.
            Unanswered: there was no connection, or it broke or was too slow, however often it was
                tried.
        """

        def ask() -> datetime:
            file.seek(0)
            file.truncate()
            response = self._open(path, parameters, "identity")
            try:
                if response.status != _OK:
                    self._refuse(response, self._body(response))
                for chunk in _chunks(response, self._patience.body_s):
                    file.write(chunk)
                return server_time(response.headers.get("Date"))
            finally:
                response.close()

        return patiently(ask, attempts, self._patience)

    def follow(self, path: str, parameters: Mapping[str, str]) -> Iterator[bytes]:
        """The lines of a watch, as they come, until the server ends it.

        Silence for as long as an answer may take ends it too: the connection may be dead.

        Raises:
            Refused: the server said no.
            Unanswered: there was no connection, or it broke, or a line has no end.
        """
        response = self._open(path, parameters, "identity")
        try:
            if response.status != _OK:
                self._refuse(response, self._body(response))
            self._set_clock(response)
            yield from _lines(response, self._patience.body_s)
        finally:
            response.close()

    def may(self, verb: str, group: str, resource: str, namespace: str | None = None) -> bool:
        """Whether this account may do something, by the server's own review.

        Args:
            resource: plural, or with a part such as pods/log.
            namespace: None means everywhere.

        Raises:
            Refused: it does not say.
            Unanswered: it said nothing usable until patience ran out.
        """
        resource, _, part = resource.partition("/")
        attributes = {"verb": verb, "group": group, "resource": resource, "subresource": part}
        question = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {**attributes, "namespace": namespace or ""}},
        }

        def ask() -> bool:
            response = self._open(_REVIEWS, {}, "identity", json.dumps(question).encode())
            try:
                data = self._body(response)
            finally:
                response.close()
            if response.status not in (_OK, _CREATED):
                self._refuse(response, data)
            status = (json_object(data) or {}).get("status")
            allowed = status.get("allowed") if isinstance(status, dict) else None
            if not isinstance(allowed, bool):
                raise Unanswered("the answer is no access review", response.status)
            return allowed

        return patiently(ask, self._patience.attempts, self._patience)

    def now(self) -> datetime:
        """What the server's clock shows now; that of this machine, if they agree."""
        ahead = self._ahead if abs(self._ahead) > _AGREE else timedelta()
        instant = datetime.now(UTC) + ahead
        return instant.replace(microsecond=instant.microsecond // 1000 * 1000)

    def close(self) -> None:
        """Closes its connections."""
        self._pool.clear()

    def _ask(
        self,
        path: str,
        parameters: Mapping[str, str],
        decode: Callable[[bytearray], dict[str, Any] | None],
    ) -> Answer:
        return patiently(
            lambda: self._try(path, parameters, decode), self._patience.attempts, self._patience
        )

    def _try(
        self,
        path: str,
        parameters: Mapping[str, str],
        decode: Callable[[bytearray], dict[str, Any] | None],
    ) -> Answer:
        response, data = self._send(path, parameters)
        if response.status != _OK:
            self._refuse(response, data)
        at = self._set_clock(response)
        body = decode(data)
        if body is None:
            reason = "the answer is no JSON object, or only half of one"
            raise Unanswered(reason, response.status)
        return Answer(body, at)

    def _set_clock(self, response: urllib3.BaseHTTPResponse) -> datetime:
        """Notes how far the server's clock is ahead; what it shows."""
        at = server_time(response.headers.get("Date"))
        self._ahead = at - datetime.now(UTC)
        return at

    def _refuse(self, response: urllib3.BaseHTTPResponse, data: bytearray) -> NoReturn:
        """Raises what an answer other than 200 means."""
        body = json_object(data) or {}
        if response.status in _PASSING:
            reason = body.get("message") or response.reason
            wait = retry_after_s(response.headers.get("Retry-After"))
            raise Unanswered(f"{response.status}: {reason}", response.status, wait)
        raise Refused(response.status, body, server_time(response.headers.get("Date")))

    def _send(
        self, path: str, parameters: Mapping[str, str]
    ) -> tuple[urllib3.BaseHTTPResponse, bytearray]:
        """The answer and its whole body."""
        response = self._open(path, parameters, "gzip")
        try:
            data = self._body(response)
        except Unanswered:
            response.close()  # what is left of it must not be taken for the next answer
            raise
        response.release_conn()
        return response, data

    def _body(self, response: urllib3.BaseHTTPResponse) -> bytearray:
        body = bytearray()
        for chunk in _chunks(response, self._patience.body_s):
            body += chunk
            if len(body) > _LARGEST_BODY_BYTES:
                reason = f"the answer has more than {_LARGEST_BODY_BYTES} bytes"
                raise Unanswered(reason, response.status)
        return body

    def _open(
        self, path: str, parameters: Mapping[str, str], encoding: str, body: bytes | None = None
    ) -> urllib3.BaseHTTPResponse:
        """The answer, its body still to come; asked for with a new token if the old one ran out."""
        access = self._access
        response = self._request(path, parameters, encoding, body)
        if response.status != _UNAUTHORIZED:
            return response
        response.close()
        # Projected tokens are replaced hourly; the new one already lies in its file. Of several
        # watches whose token runs out, the first signs in for all.
        with self._signing_in:
            if self._access is access:
                self.close()
                self._access = self._sign_in()
                self._pool = _pool(self._access)
        return self._request(path, parameters, encoding, body)

    def _request(
        self, path: str, parameters: Mapping[str, str], encoding: str, body: bytes | None
    ) -> urllib3.BaseHTTPResponse:
        access, patience = self._access, self._patience
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "Accept-Encoding": encoding,
            "User-Agent": f"goodput/{__version__}",
            **({"Authorization": access.authorization} if access.authorization else {}),
        }
        sent = {"fields": dict(parameters)} if body is None else {"body": body}

        def ask() -> urllib3.BaseHTTPResponse:
            return self._pool.request(
                "GET" if body is None else "POST",
                f"{access.host}{path}",
                **sent,
                headers=headers,
                timeout=urllib3.Timeout(connect=patience.connect_s, read=patience.read_s),
                retries=False,  # stamina tries again, and knows Retry-After and cut bodies
                redirect=False,
                preload_content=False,
            )

        # A silence that is allowed, and then the headers.
        longest = patience.read_s + patience.body_s
        try:
            return within(longest, ask)
        except TimeoutError:
            raise Unanswered(f"no answer began within {longest:g} s") from None
        except urllib3.exceptions.HTTPError as error:
            if error.args and isinstance(error.args[0], ssl.SSLCertVerificationError):
                raise SourceUnreachable(
                    f"the certificate of {access.host} is not trusted: {error}; name its"
                    " authority in the kubeconfig"
                ) from None
            raise Unanswered(f"{type(error).__name__}: {error}") from None


def _pool(access: ClusterAccess) -> urllib3.PoolManager:
    """Connections, through the proxy if there is one."""
    ours: dict[str, Any] = {"ssl_context": access.tls} if access.tls else {}
    if access.server_name:
        ours["server_hostname"] = access.server_name
    if access.proxy is None:
        return urllib3.PoolManager(**ours)
    auth = urllib3.util.parse_url(access.proxy).auth
    headers = urllib3.make_headers(proxy_basic_auth=auth) if auth else None
    return urllib3.ProxyManager(access.proxy, proxy_headers=headers, **ours)


def _chunks(response: urllib3.BaseHTTPResponse, seconds: float) -> Iterator[bytes]:
    """A body as it comes, piece by piece: one that only drips never fills a larger read.

    Raises:
        Unanswered: it broke, or was not over in time.
    """
    until = time.monotonic() + seconds
    try:
        while chunk := response.read1(_CHUNK_BYTES, decode_content=True):
            yield chunk
            if time.monotonic() > until:
                raise Unanswered(f"the answer was not over after {seconds:g} s", response.status)
    except urllib3.exceptions.HTTPError as error:
        raise Unanswered(f"{type(error).__name__}: {error}", response.status) from None


def _lines(response: urllib3.BaseHTTPResponse, seconds: float) -> Iterator[bytes]:
    """The whole lines of a body that may go on for ever, but not within a line.

    Raises:
        Unanswered: it broke, or a line was too long or not over in time.
    """
    rest = bytearray()
    until = math.inf
    for chunk in _chunks(response, math.inf):
        *whole, begun = chunk.split(b"\n")
        for line in whole:
            yield bytes(rest + line)
            rest.clear()
        if not rest:
            until = time.monotonic() + seconds
        rest += begun
        if len(rest) > _LONGEST_LINE_BYTES:
            reason = f"a line of a watch has more than {_LONGEST_LINE_BYTES} bytes"
            raise Unanswered(reason, response.status)
        if rest and time.monotonic() > until:
            reason = f"a line of a watch was not over after {seconds:g} s"
            raise Unanswered(reason, response.status)
