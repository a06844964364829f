"""One POST, bounded in time and size: what came back, and what ended it. No failure of the other side is raised."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import httpcore
import httpx

from .. import VERSION
from .endpoint import Endpoint
from .failures import Failure
from .sockets import Transport

MOST_BYTES = 1_000_000  # of an answer, packed and unpacked
UNPACKED = ("", "identity")
GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


@dataclass(slots=True)
class Exchange:
    """What came back until `failure`, which is None for a complete body of any status. It may repeat the key."""

    status: int | None = None
    headers: httpx.Headers = field(default_factory=httpx.Headers, repr=False)
    body: bytearray = field(default_factory=bytearray, repr=False)
    failure: Failure | None = None
    cause: OSError | None = None


def post(endpoint: Endpoint, path: str, content: bytes, seconds: float) -> Exchange:
    """What comes back in so many seconds when a body of JSON is posted to an endpoint."""
    found = Exchange()
    transport = Transport(seconds)
    url, headers = endpoint.base_url.rstrip("/") + path, _headers(endpoint.key)
    try:
        with (
            httpx.Client(transport=transport, trust_env=False, follow_redirects=False, headers=headers) as client,
            client.stream("POST", url, content=content) as answer,
        ):
            found.status, found.headers = answer.status_code, answer.headers
            _read(answer, found)
    except httpcore.TimeoutException:
        found.failure = Failure.timed_out
    except httpcore.ConnectError as exc:
        found.failure = Failure.unreachable
        found.cause = next((cause for cause in exc.args if isinstance(cause, OSError)), None)
    except httpcore.NetworkError:
        found.failure = Failure.cut_off
    except httpcore.RemoteProtocolError:
        found.failure = Failure.cut_off if transport.sockets.was_closed else Failure.wrong_type
    except (httpx.InvalidURL, httpcore.LocalProtocolError, httpcore.UnsupportedProtocol):
        found.failure = Failure.unreachable
    return found


def _headers(key: str) -> httpx.Headers:
    headers = httpx.Headers(
        {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"openclaw-web/{VERSION}",
        }
    )
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _read(answer: httpx.Response, found: Exchange) -> None:
    """Read a body until it ends or is too large; what arrived is kept when something is raised."""
    unpacked = _unpacking(answer.headers.get("content-encoding", "").strip().lower())
    if unpacked is None:
        found.failure = Failure.wrong_type
        return
    received = 0
    try:
        for part in answer.iter_raw():
            received += len(part)
            found.body += unpacked(part, MOST_BYTES + 1 - len(found.body))
            if max(received, len(found.body)) > MOST_BYTES:
                del found.body[MOST_BYTES:]
                found.failure = Failure.too_large
                return
    except zlib.error:
        found.failure = Failure.cut_off


def _unpacking(encoding: str) -> Callable[[bytes, int], bytes] | None:
    """What unpacks the next bytes of a body into so many at most; None when nothing of ours can."""
    if encoding in UNPACKED:
        return lambda part, most: part[:most]
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(GZIP_OR_ZLIB).decompress
    return None
