"""A scripted server on loopback in place of an endpoint of language models.

    with Endpoint(fails(429, retry_after=2), says("yes", prompt_tokens=7, completion_tokens=1)) as endpoint:
        settings.LLM_API_URL = endpoint.url
        ...
    assert [request.question["model"] for request in endpoint.requests] == ["small", "small"]

Each request is answered by the next behaviour of the script, and by the last one when the script is at its end.
"""

import gzip
import json
import socket
import socketserver
import ssl
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 240  # seconds until a silent server speaks: a guard, not a measure


@dataclass(frozen=True)
class Request:
    """A request as a client sent it."""

    path: str
    headers: Message
    body: bytes

    @property
    def question(self):
        """The body, parsed as JSON."""
        return json.loads(self.body)

    @property
    def words(self) -> str:
        """The content of the last message."""
        return self.question["messages"][-1]["content"]


class Endpoint:
    """A server that runs in its own threads inside a `with` block.

    `requests` has the requests received, in order.
    """

    def __init__(self, *script: "Behaviour", host="127.0.0.1", certificate=None):
        self.script = list(script) or [says("yes")]
        self.requests: list[Request] = []
        self.over = threading.Event()  # ends what hangs
        self._turn = threading.Lock()
        self._server = _Server((host, 0), self)
        if certificate:
            self._server.socket = certificate.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        name = f"[{host}]" if ":" in host else host
        self.root = f"{'https' if certificate else 'http'}://{name}:{self.port}"
        self.url = f"{self.root}/v1"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc_info):
        self.over.set()
        self._server.shutdown()
        self._server.server_close()  # waits for the threads of requests
        self._thread.join()
        assert not self._server.faults, self._server.faults

    def then(self, *behaviours: "Behaviour"):
        """Replace the rest of the script with these behaviours."""
        with self._turn:
            self.script[:] = behaviours

    def next_for(self, request):
        """Store a request, and return the behaviour that answers it."""
        with self._turn:
            self.requests.append(request)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class Handler(BaseHTTPRequestHandler):
    """The request handler that a behaviour uses to answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.endpoint = self.server.endpoint
        self.close_connection = True
        body = self.rfile.read(length := int(self.headers["Content-Length"]))
        if len(body) < length:  # the client was killed while it sent the request
            return
        self.request_read = Request(self.path, self.headers, body)
        self.endpoint.next_for(self.request_read)(self)

    do_GET = do_PUT = do_DELETE = do_CONNECT = lambda self: self.send_error(405)

    def head(self, status, **headers):
        """Send the status line and headers; `content_type` becomes Content-Type."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-").title(), str(value))
        self.send_header("Connection", "close")
        self.end_headers()

    def whole(self, body: bytes, status=200, content_type="application/json", **headers):
        """Send a complete answer."""
        self.head(status, content_type=content_type, content_length=len(body), **headers)
        self.wfile.write(body)

    def log_message(self, *args):
        pass


Behaviour = Callable[[Handler], None]


def answer(text, *, model="small-1", prompt_tokens=None, completion_tokens=None, cost=None):
    """The JSON value of an answer, as an endpoint sends it."""
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "cost": cost}
    usage = {name: value for name, value in usage.items() if value is not None}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "chat-1", "object": "chat.completion", "model": model, "choices": [choice]} | (
        {"usage": usage} if usage else {}
    )


def says(text, **usage) -> Behaviour:
    """Answers with a text, and with the token usage that `answer` takes.

    The text may be a function of the Request that returns one.
    """

    def act(handler):
        content = text(handler.request_read) if callable(text) else text
        handler.whole(json.dumps(answer(content, **usage)).encode())

    return act


def uses(*calls, text=None, **usage) -> Behaviour:
    """Answers with tool calls, each a name and its arguments.

    Arguments that are a text are sent unchanged, anything else as JSON.
    """
    value = answer(text, **usage)
    called = [
        {"id": f"call-{n}", "type": "function", "function": {"name": name, "arguments": _as_text(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    value["choices"][0]["message"]["tool_calls"] = called
    return sends(value)


def _as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def sends(body, **head) -> Behaviour:
    """Answers with this body: bytes unchanged, anything else as JSON.

    `head` may have `status`, `content_type` and further headers.
    """
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler: handler.whole(data, **head)


def fails(status, *, retry_after=None, body=b'{"error": {"message": "not now"}}', **headers) -> Behaviour:
    """Answers with a status of failure, such as 429 or 500."""
    if retry_after is not None:
        headers["retry_after"] = retry_after
    return sends(body, status=status, **headers)


def redirects(to, status=307) -> Behaviour:
    """Redirects clients to another address."""
    return sends(b"", status=status, location=to)


def packed(value, *, encoding="gzip") -> Behaviour:
    """Answers with a compressed body."""
    return sends(gzip.compress(json.dumps(value).encode()), content_encoding=encoding)


def web_page() -> Behaviour:
    """Answers with a page instead of JSON."""
    return sends(b"<!doctype html><title>Sign in</title>", content_type="text/html; charset=utf-8")


def not_json() -> Behaviour:
    """Answers with a body that is no JSON, though its content type says so."""
    return sends(b"Welcome!")


def half_json(text="yes") -> Behaviour:
    """Sends the first half of an answer as if it were complete."""
    data = json.dumps(answer(text)).encode()
    return sends(data[: len(data) // 2])


def cut_off(text="yes") -> Behaviour:
    """Closes the connection in the middle of the body."""

    def act(handler):
        data = json.dumps(answer(text)).encode()
        handler.head(200, content_type="application/json", content_length=len(data))
        handler.wfile.write(data[: len(data) // 2])

    return act


def resets() -> Behaviour:
    """Resets the connection before any answer."""

    def act(handler):
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.rfile.close()  # keeps the connection open
        handler.connection.close()

    return act


def hangs() -> Behaviour:
    """Sends nothing while the endpoint is open."""
    return lambda handler: handler.endpoint.over.wait(PATIENCE)


def trickles(part="body", text="yes", *, pause=0.01) -> Behaviour:
    """Sends its head or its body byte by byte, and never the last byte.

    Each byte comes within a read timeout, the whole answer never does.
    """

    def act(handler):
        body = json.dumps(answer(text)).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        begin = len(head) if part == "body" else 0
        handler.wfile.write(head[:begin])
        for byte in (head + body)[begin:-1]:
            if handler.endpoint.over.wait(pause):
                return
            handler.wfile.write(bytes([byte]))
        handler.endpoint.over.wait(PATIENCE)

    return act


def too_large(size=2_000_000) -> Behaviour:
    """Answers with a text of `size` characters."""
    return says("x" * size)


def says_bytes(data: bytes) -> Behaviour:
    """Writes these bytes to the connection, HTTP or not, and closes it."""
    return lambda handler: handler.wfile.write(data)


@contextmanager
def nothing_listens():
    """Yield the address of a port that refuses connections and that no other program gets."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for them
    block_on_close = True

    def __init__(self, address, endpoint):
        self.endpoint = endpoint
        self.faults = []
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)

    def server_bind(self):
        """Bind without looking up the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, request, client_address):
        """Note an error of a behaviour; ignore clients that disconnect."""
        exc = sys.exc_info()[1]
        if not isinstance(exc, ConnectionError | ssl.SSLError):
            self.faults.append(repr(exc))
