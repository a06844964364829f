"""One POST to an endpoint, bounded in time and size.

Failures of the other side are part of the result; none is raised.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpcore
import httpx

from .. import VERSION
from .endpoint import Endpoint
from .failures import Failure
from .sockets import Transport

MOST_BYTES = 1_000_000  # of an answer, compressed and uncompressed
UNPACKED = ("", "identity")
GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


@dataclass(slots=True)
class Exchange:
    """The response of an endpoint, or as much of it as arrived before `failure`.

    `failure` is None for a complete body of any status. The body may repeat the key.
    """

    status: int | None = None
    headers: httpx.Headers = field(default_factory=httpx.Headers, repr=False)
    body: bytearray = field(default_factory=bytearray, repr=False)
    failure: Failure | None = None
    cause: OSError | None = None


def post(endpoint: Endpoint, path: str, content: bytes, seconds: float, headers: Mapping[str, str] = {}) -> Exchange:
    """Post a JSON body to an endpoint, and return the response within `seconds`. Only models are sent the key."""
    outcome = Exchange()
    transport = Transport(seconds)
    url = endpoint.base_url.rstrip("/") + path if path else endpoint.base_url
    ours = _build_headers(endpoint.key if endpoint.is_model else "")
    try:
        with (
            httpx.Client(transport=transport, trust_env=False, follow_redirects=False, headers=ours) as client,
            client.stream("POST", url, content=content, headers=headers) as answer,
        ):
            outcome.status, outcome.headers = answer.status_code, answer.headers
            _read_body(answer, outcome)
    except httpcore.TimeoutException:
        outcome.failure = Failure.timed_out
    except httpcore.ConnectError as exc:
        outcome.failure = Failure.unreachable
        outcome.cause = next((cause for cause in exc.args if isinstance(cause, OSError)), None)
    except httpcore.NetworkError:
        outcome.failure = Failure.cut_off
    except httpcore.RemoteProtocolError:
        outcome.failure = Failure.cut_off if transport.sockets.was_closed else Failure.wrong_type
    except (httpx.InvalidURL, httpcore.LocalProtocolError, httpcore.UnsupportedProtocol):
        outcome.failure = Failure.unreachable
    return outcome


def _build_headers(key: str) -> httpx.Headers:
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


def _read_body(answer: httpx.Response, outcome: Exchange) -> None:
    """Read a body into `outcome` until it ends or is too large.

    The bytes that arrived are kept when an error is raised.
    """
    decompress = _find_decompressor(answer.headers.get("content-encoding", "").strip().lower())
    if decompress is None:
        outcome.failure = Failure.wrong_type
        return
    received = 0
    try:
        for part in answer.iter_raw():
            received += len(part)
            outcome.body += decompress(part, MOST_BYTES + 1 - len(outcome.body))
            if max(received, len(outcome.body)) > MOST_BYTES:
                del outcome.body[MOST_BYTES:]
                outcome.failure = Failure.too_large
                return
    except zlib.error:
        outcome.failure = Failure.cut_off


def _find_decompressor(encoding: str) -> Callable[[bytes, int], bytes] | None:
    """A function (bytes, most) that decompresses a body in parts.

    It returns at most `most` bytes. None for an encoding that we do not support.
    """
    if encoding in UNPACKED:
        return lambda part, most: part[:most]
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(GZIP_OR_ZLIB).decompress
    return None
