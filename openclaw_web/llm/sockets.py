"""Connections that end when the time of the whole call is over.

Every wait has that deadline, however slowly the other side sends.
"""

import functools
import socket
import ssl
import time
from collections.abc import Iterator

import httpcore
import httpx

PIECE = 16_384  # bytes that are written at once; the deadline is checked between pieces


class Transport(httpx.BaseTransport):
    """HTTP transport with new connections and one deadline, `seconds` from now.

    Proxies that the environment names are ignored.
    """

    def __init__(self, seconds: float) -> None:
        self.sockets = Sockets(time.monotonic() + seconds)
        self._pool = httpcore.ConnectionPool(ssl_context=_create_ssl_context(), network_backend=self.sockets)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        place = request.url
        url = httpcore.URL(scheme=place.raw_scheme, host=place.raw_host, port=place.port, target=place.raw_path)
        answer = self._pool.handle_request(
            httpcore.Request(request.method, url, headers=request.headers.raw, content=request.stream)
        )
        headers = [(name, value) for name, value in answer.headers if name.lower() != b"set-cookie"]  # not needed
        return httpx.Response(answer.status, headers=headers, stream=_Body(answer.stream))

    def close(self) -> None:
        self._pool.close()


class Sockets(httpcore.NetworkBackend):
    """Opens connections that share one deadline, `ends` (monotonic time).

    `was_closed`: the other side has closed one.
    """

    def __init__(self, ends: float) -> None:
        self.ends = ends
        self.was_closed = False
        self._system = httpcore.SyncBackend()

    def get_seconds_left(self) -> float:
        """Seconds until the deadline. Raises ReadTimeout after it."""
        if (seconds := self.ends - time.monotonic()) <= 0:
            raise httpcore.ReadTimeout
        return seconds

    def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        """Connect to the first address of a host that answers.

        The remaining time is shared among the addresses, so that a silent one leaves time for the others.
        """
        addresses = _resolve_host(host, port)
        for others, address in zip(reversed(range(len(addresses))), addresses, strict=True):
            try:
                return Stream(self, self._system.connect_tcp(address, port, self.get_seconds_left() / (others + 1)))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not others:
                    raise
        raise httpcore.ConnectError  # the name has no address


class Stream(httpcore.NetworkStream):
    """A connection of `Sockets`."""

    def __init__(self, sockets: Sockets, stream: httpcore.NetworkStream) -> None:
        self._sockets = sockets
        self._stream = stream

    def read(self, max_bytes, timeout=None):
        data = self._stream.read(max_bytes, self._sockets.get_seconds_left())
        self._sockets.was_closed = not data
        return data

    def write(self, buffer, timeout=None):
        for begin in range(0, len(buffer), PIECE):
            self._stream.write(buffer[begin : begin + PIECE], self._sockets.get_seconds_left())

    def start_tls(self, ssl_context, server_hostname=None, timeout=None):
        return Stream(
            self._sockets, self._stream.start_tls(ssl_context, server_hostname, self._sockets.get_seconds_left())
        )

    def get_extra_info(self, info):
        return self._stream.get_extra_info(info)

    def close(self):
        self._stream.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, parts):
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    def close(self) -> None:
        self._parts.close()


@functools.cache
def _create_ssl_context() -> ssl.SSLContext:
    """A TLS context that trusts the public authorities in certifi.

    It is cached, because reading them takes a while.
    """
    return httpx.create_ssl_context(trust_env=False)


def _resolve_host(host: str, port: int) -> list[str]:
    try:
        infos = socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise httpcore.ConnectError(exc) from exc
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))
