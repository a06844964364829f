"""One request to a model: an answer, or a failure with its reason."""

import json
import socket
import ssl
import subprocess

import pytest

from openclaw_web import VERSION
from openclaw_web.llm.client import CallFailed, Failure, ask_model
from openclaw_web.llm.endpoint import Endpoint
from tests import llm_endpoint as scripted

KEY = 'sk-secret/"1"'
QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it? 是 \ud83d"}]


def ask_server(server, *, url=None, key=KEY, seconds=60):
    """Returns the answer of a server, or the failure."""
    endpoint = Endpoint(server.url if url is None else url, key)
    try:
        return ask_model(endpoint, model="small", messages=QUESTION, max_tokens=50, seconds=seconds)
    except CallFailed as failure:
        failure_text = "".join([str(failure), repr(failure), failure.sentence, failure.body])
        assert not key or key not in failure_text
        assert failure.__context__ is None, "a traceback would lead to what was sent"
        return failure


def ask_scripted(behaviour, **options):
    with scripted.Endpoint(behaviour) as server:
        return ask_server(server, **options)


def test_it_works():
    with scripted.Endpoint(scripted.says("Yes.", prompt_tokens=12, completion_tokens=2, cost=0.00012)) as server:
        answer = ask_server(server)
    assert (answer.text, answer.model) == ("Yes.", "small-1")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cost_usd) == (12, 2, 0.00012)
    assert answer.latency_ms >= 0 and json.loads(answer.body)["id"] == "chat-1"
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Host"] == server.root.removeprefix("http://")
    assert request.headers["User-Agent"] == f"openclaw-web/{VERSION}"
    assert request.question == {
        "model": "small",
        "messages": QUESTION,
        "max_tokens": 50,
        "temperature": 0,
        "stream": False,
    }


def test_without_a_key_none_is_sent():
    with scripted.Endpoint() as server:
        assert ask_server(server, url=server.url + "/", key="").text == "yes"
    assert server.requests[0].path == "/v1/chat/completions"
    assert "Authorization" not in server.requests[0].headers


def test_an_address_of_the_sixth_version():
    with scripted.Endpoint(host="::1") as server:
        assert ask_server(server).text == "yes"
    assert server.requests[0].headers["Host"] == server.root.removeprefix("http://") == f"[::1]:{server.port}"


def test_a_name_of_which_only_the_second_address_answers(monkeypatch):
    look_up = socket.getaddrinfo

    def both(host, port, *args, **options):
        hosts = ["::1", "127.0.0.1"] if host == b"localhost" else [host]
        return [address for name in hosts for address in look_up(name, port, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with scripted.Endpoint() as server:
        assert ask_server(server, url=f"http://LocalHost:{server.port}/v1").text == "yes"
    assert server.requests[0].headers["Host"] == f"localhost:{server.port}"


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes"}]


def test_text_in_parts():
    answer = ask_scripted(scripted.says([*PARTS, {"type": "text", "text": "."}]))
    assert answer.text == "Yes."
    assert answer.prompt_tokens is answer.completion_tokens is answer.cost_usd is None


@pytest.mark.parametrize("encoding", ["gzip", "X-Gzip"])
def test_an_answer_that_is_packed_although_nobody_asked(encoding):
    with scripted.Endpoint(scripted.packed(scripted.answer("Yes."), encoding=encoding)) as server:
        assert ask_server(server).text == "Yes."
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


def test_json_of_another_type_is_an_answer():
    assert ask_scripted(scripted.sends(scripted.answer("Yes."), content_type="text/plain")).text == "Yes."


MESSAGE = {"role": "assistant", "content": None}
PACKED_BOMB = scripted.packed({"x": "x" * 50_000_000})
KINDS = {
    "a status of a key": (scripted.fails(401), Failure.http_error, True),
    "a status of a model": (scripted.fails(404), Failure.http_error, True),
    "a status of the request": (scripted.fails(400), Failure.http_error, True),
    "a slow request": (scripted.fails(408), Failure.http_error, False),
    "a status of a fault": (scripted.fails(500), Failure.http_error, False),
    "a switch of protocols": (scripted.fails(101), Failure.wrong_type, False),
    "too many requests": (scripted.fails(429), Failure.rate_limited, False),
    "another address": (scripted.redirects("/elsewhere"), Failure.redirected, True),
    "a page": (scripted.web_page(), Failure.wrong_type, False),
    "a stream of events": (
        scripted.sends(b"data: {}\n\n", content_type="text/event-stream"),
        Failure.wrong_type,
        False,
    ),
    "an unknown packing": (scripted.sends(b"\x0b", content_encoding="br"), Failure.wrong_type, False),
    "two packings": (scripted.packed({}, encoding="gzip, gzip"), Failure.wrong_type, False),
    "no HTTP": (scripted.says_bytes(b"220 mail.example.com ESMTP\r\n" * 8_000), Failure.wrong_type, False),
    "no JSON": (scripted.not_json(), Failure.not_json, False),
    "half JSON": (scripted.half_json(), Failure.not_json, False),
    "nothing": (scripted.sends(b""), Failure.not_json, False),
    "no type": (scripted.says_bytes(b"HTTP/1.1 200 OK\r\n\r\nHello"), Failure.not_json, False),
    "text that is not Unicode": (scripted.sends(b'{"choices": "\xff"}'), Failure.not_json, False),
    "half a character": (
        scripted.sends(rb'{"choices": [{"message": {"content": "\ud83d"}}]}'),
        Failure.not_json,
        False,
    ),
    "deep JSON": (scripted.sends(b"[" * 500_000), Failure.not_json, False),
    "too large": (scripted.too_large(), Failure.too_large, False),
    "too large when unpacked": (PACKED_BOMB, Failure.too_large, False),
    "a body that is cut": (scripted.cut_off(), Failure.cut_off, False),
    "no body": (scripted.says_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n{"), Failure.cut_off, False),
    "half a chunk": (
        scripted.says_bytes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"),
        Failure.cut_off,
        False,
    ),
    "bytes that are not packed": (scripted.sends(b"{}", content_encoding="gzip"), Failure.cut_off, False),
    "a reset": (scripted.resets(), Failure.cut_off, False),
    "no answer": (scripted.says_bytes(b""), Failure.cut_off, False),
    "an error as an answer": (scripted.sends({"error": {"message": "no"}}), Failure.no_answer, False),
    "no content": (scripted.says(None), Failure.no_answer, False),
    "blanks": (scripted.says(" \n"), Failure.no_answer, False),
    "an image": (scripted.says([*PARTS, {"type": "image_url"}]), Failure.no_answer, False),
    "a call of a tool": (
        scripted.sends({"choices": [{"message": {"content": "x", "tool_calls": [{"id": "1"}]}}]}),
        Failure.no_answer,
        False,
    ),
}


@pytest.mark.parametrize("case", KINDS)
def test_each_failure_has_a_kind(case):
    behaviour, kind, is_final = KINDS[case]
    failure = ask_scripted(behaviour)
    assert (failure.kind, failure.is_final) == (kind, is_final)
    assert "127.0.0.1:" in failure.sentence and "%" not in failure.sentence
    assert len(failure.body) <= 20_000


def test_every_kind_is_met():
    met = {kind for _, kind, _ in KINDS.values()} | {Failure.unreachable, Failure.timed_out}
    assert met == set(Failure)


def test_the_largest_answer():
    frame = len(json.dumps(scripted.answer("")))
    assert len(ask_scripted(scripted.says("x" * (1_000_000 - frame))).body) == 1_000_000
    assert ask_scripted(scripted.says("x" * (1_000_001 - frame))).kind == Failure.too_large


def test_a_failure_tells_its_status_its_body_and_when_to_return():
    failure = ask_scripted(scripted.fails(503, retry_after=2, body=b"<h1>Busy</h1>"))
    assert (failure.status, failure.body, failure.retry_after) == (503, "<h1>Busy</h1>", 2)
    failure = ask_scripted(scripted.says_bytes(b"HTTP/1.1 429 No\r\nRetry-After: 1.5\r\nContent-Length: 99\r\n\r\nno"))
    assert (failure.kind, failure.status, failure.body, failure.retry_after) == (Failure.rate_limited, 429, "no", 1.5)


def test_a_useless_answer_tells_what_it_used():
    failure = ask_scripted(scripted.says("", prompt_tokens=12, completion_tokens=50, cost=0.1))
    assert failure.kind == Failure.no_answer
    assert (failure.usage.prompt_tokens, failure.usage.completion_tokens, failure.usage.cost_usd) == (12, 50, 0.1)


@pytest.mark.parametrize("behaviour", [scripted.hangs(), scripted.trickles("head"), scripted.trickles("body")])
def test_the_time_is_that_of_the_whole_call(behaviour):
    failure = ask_scripted(behaviour, seconds=0.4)
    assert (failure.kind, failure.is_final) == (Failure.timed_out, False)
    assert failure.latency_ms >= 400


def test_no_time_at_all():
    assert ask_scripted(scripted.says("yes"), seconds=0).kind == Failure.timed_out


def test_a_server_that_reads_nothing():
    """The buffers of the kernel are full at some moment."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = Endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", KEY)
        messages = [{"role": "user", "content": "x" * 30_000_000}]
        with pytest.raises(CallFailed) as failed:
            ask_model(endpoint, model="small", messages=messages, max_tokens=1, seconds=0.4)
    assert failed.value.kind == Failure.timed_out


def test_nobody_is_there():
    with scripted.nothing_listens() as url:
        failure = ask_server(None, url=url)
    assert (failure.kind, failure.is_final) == (Failure.unreachable, False)
    assert "Nothing answers at 127.0.0.1:" in failure.sentence


def test_a_name_that_nobody_has():
    failure = ask_server(None, url=f"https://{'.'.join(['x' * 63] * 5)}/v1")  # longer than a name may be
    assert (failure.kind, failure.is_final) == (Failure.unreachable, True)
    assert "No machine is known" in failure.sentence


@pytest.mark.parametrize(("key", "words"), [("", "asks for a key"), (KEY, "refused the key")])
def test_a_key_that_is_missing_or_wrong(key, words):
    assert words in ask_scripted(scripted.fails(401), key=key).sentence


@pytest.fixture
def certificate(tmp_path):
    """A self-signed certificate of localhost."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    alternatives = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, *alternatives, "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def test_a_certificate_that_nobody_vouches_for(certificate, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))  # not even when the environment does
    with scripted.Endpoint(certificate=certificate) as server:
        failure = ask_server(server)
    assert (failure.kind, failure.is_final) == (Failure.unreachable, True)
    assert "certificate" in failure.sentence and not server.requests


def test_no_encryption_where_some_is_expected():
    with scripted.Endpoint() as server:
        failure = ask_server(server, url=server.url.replace("http:", "https:"))
    assert failure.kind in (Failure.unreachable, Failure.cut_off) and not server.requests


@pytest.mark.parametrize("url", ["http://api.example.com/v1", "file:///etc/passwd", "", "http://[127.0.0.1]/v1"])
def test_nothing_is_sent_to_an_address_that_cannot_be(url):
    failure = ask_server(None, url=url)
    assert (failure.kind, failure.is_final) == (Failure.unreachable, True)
    assert "OPENCLAW_WEB_LLM_URL" in failure.sentence
