"""The key never leaks: not through the environment, redirects or repeated answers."""

import json
import logging
import sys

import pytest
from django.views.debug import technical_500_response

from openclaw_web.llm.client import CallFailed, Failure, ask_model
from openclaw_web.llm.endpoint import Endpoint
from tests import llm_endpoint as scripted
from tests.suite.sources import MODULES, ROOT

KEY, USER = "+".join(["sk-live-0123/4567", "89"]), "ada:password"  # in no source line: error pages show source lines
MESSAGES = [{"role": "user", "content": "Hello"}]


def ask_server(url):
    return ask_model(Endpoint(url, KEY), model="small", messages=MESSAGES, max_tokens=5, seconds=60)


def refused(url):
    with pytest.raises(CallFailed) as failed:
        ask_server(url)
    return failed.value


def test_no_proxy_of_the_environment(monkeypatch):
    with scripted.Endpoint() as proxy, scripted.Endpoint() as server:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.root)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert ask_server(server.url).text == "yes"
        assert len(server.requests) == 1 and not proxy.requests


def test_no_password_of_the_environment(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ada password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with scripted.Endpoint() as server:
        ask_model(Endpoint(server.url, ""), model="small", messages=MESSAGES, max_tokens=5, seconds=60)
    assert "Authorization" not in server.requests[0].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect(status):
    with scripted.Endpoint() as other, scripted.Endpoint(scripted.redirects(other.url, status)) as server:
        assert refused(server.url).kind == Failure.redirected
        assert not other.requests


ESCAPED = "".join(f"\\u{ord(character):04X}" for character in KEY)


@pytest.mark.parametrize("spelling", [KEY, json.dumps(KEY)[1:-1], KEY.replace("/", "\\/"), ESCAPED])
@pytest.mark.parametrize("status", [200, 401])
def test_a_key_that_is_repeated_is_hidden(spelling, status):
    body = json.dumps(scripted.answer("Your key is KEY.", model="m KEY")).replace("KEY", spelling)
    with scripted.Endpoint(scripted.sends(body.encode(), status=status)) as server:
        result = ask_server(server.url) if status == 200 else refused(server.url)
    assert "key is …." in result.body and spelling not in result.body
    assert status != 200 or (result.text, result.model) == ("Your key is ….", "m …")


def test_logs_tell_nothing(caplog):
    caplog.set_level(logging.DEBUG)
    with scripted.Endpoint(scripted.says(KEY), scripted.fails(500, set_cookie=KEY)) as server:
        ask_server(server.url)
        refused(server.url)
    assert KEY not in caplog.text and "/v1" not in caplog.text


def test_an_endpoint_shows_its_host():
    endpoint = Endpoint("https://ada:secret@Example.com:8443/a/path?q=1", KEY)
    assert endpoint.host == "example.com:8443"
    assert repr(endpoint) == str(endpoint) == "Endpoint('example.com:8443')"
    assert Endpoint(KEY, "").host == Endpoint(f"https://{KEY}@", "").host == ""
    assert Endpoint("http://[::1]:80/v1", "").host == "[::1]:80"


def test_pages_about_errors_show_no_setting_of_the_endpoint(settings, rf):
    settings.DEBUG = True
    settings.LLM_API_URL, settings.LLM_API_KEY = f"https://{USER}@example.com/v1", KEY
    endpoint = Endpoint(settings.LLM_API_URL, settings.LLM_API_KEY)
    try:
        raise RuntimeError(endpoint)
    except RuntimeError:
        page = technical_500_response(rf.get("/", headers={"accept": "text/html"}), *sys.exc_info()).content.decode()
    assert "LLM_API_KEY" in page and "Endpoint(" in page
    assert KEY not in page and USER not in page


@pytest.mark.parametrize("status", [200, 401])
def test_pages_about_errors_show_no_answer_that_repeats_the_key(settings, rf, status):
    settings.DEBUG = True
    with scripted.Endpoint(scripted.sends({"error": KEY, "usage": KEY}, status=status, x_key=KEY)) as server:
        try:
            ask_server(server.url)
        except CallFailed:
            request = rf.get("/", headers={"accept": "text/html"})
            page = technical_500_response(request, *sys.exc_info()).content.decode()
    assert "latency_ms" in page and KEY not in page


def test_backups_and_reports_cannot_hold_the_key():
    """Only one module reads the key; others name it to tell people to set it."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in MODULES}
    settings = {"openclaw_web/settings.py", "openclaw_web/settings_test.py"}
    assert {name for name, text in texts.items() if "LLM_API_" in text} - settings == {"openclaw_web/llm/endpoint.py"}
    named = {name for name, text in texts.items() if "OPENCLAW_WEB_LLM_KEY" in text} - settings
    assert named == {"openclaw_web/llm/endpoint.py", "operations/service/unit_file.py"}
    assert {name for name, text in texts.items() if "WEBHOOK_API_" in text} - settings == {
        "operations/notifications/delivery.py"
    }
