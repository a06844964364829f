"""Addresses of endpoints that are allowed, and the reasons for refusing others."""

import os
import subprocess
import sys

import pytest

from openclaw_web.errors import Refused
from openclaw_web.llm.endpoint import from_environment, is_configured
from tests.suite.sources import ROOT


@pytest.fixture
def configured(settings):
    def configure(url, key="k-1"):
        settings.LLM_API_URL, settings.LLM_API_KEY = url, key

    return configure


GOOD = {
    "https://api.example.com/v1": "api.example.com",
    "HTTPS://API.example.com./": "api.example.com.",
    "https://api.example.com:8443/a/b/": "api.example.com:8443",
    "https://192.0.2.7": "192.0.2.7",
    "https://[2001:db8::7]:8443/v1": "[2001:db8::7]:8443",
    "http://127.0.0.1:11434/v1": "127.0.0.1:11434",
    "http://127.200.0.9/v1": "127.200.0.9",
    "http://[::1]:8080/v1/": "[::1]:8080",
    "http://LOCALHOST:8080": "localhost:8080",
    "http://localhost.:8080": "localhost.:8080",
}


@pytest.mark.parametrize("url", GOOD)
def test_it_works(configured, url):
    configured(url)
    endpoint = from_environment()
    assert is_configured()
    assert (endpoint.host, endpoint.key, endpoint.base_url) == (GOOD[url], "k-1", url.rstrip("/"))


def test_nothing_is_configured(configured):
    configured("", "")
    assert not is_configured()
    with pytest.raises(Refused, match="Set OPENCLAW_WEB_LLM_URL"):
        from_environment()


BAD = {
    "begins with https://": [
        *("sk-secret", "api.secret.example/v1", "ftp://secret.example/", "//secret.example"),
        *("https://secret.example/v1 ", "https://sec\tret.example", "https://secrét.example"),
    ],
    "without a user name": [
        *("https://secret@example.com/v1", "https://ada:secret@example.com/v1"),
        *("https://example.com/v1?key=secret", "https://example.com/v1?", "https://example.com/v1#secret"),
        *("http://127.0.0.1\\@secret.example/", "http://127.0.0.1@secret.example/"),
    ],
    "no possible host": [
        *("https://:443", "https:///secret", "https://secret..example", "https://.secret"),
        *("https://-secret.example", f"https://{'x' * 64}.example", "https://secret:port/v1"),
        *("https://secret:0/v1", "https://secret:65536/v1", "https://[secret]/v1", "https://[::1/secret"),
        *("https://[::1]secret/v1", "https://[1::2::3]/secret", "https://sec%72et.example/v1"),
    ],
    "unencrypted": [
        *("http://secret.example/v1", "http://127.0.0.1.secret.example/v1", "http://localhost.secret.example/v1"),
        *("http://secret-localhost/v1", "http://127.1/secret", "http://2130706433/secret"),
        *("http://0x7f000001/secret", "http://0.0.0.0/secret", "http://192.168.0.2/secret"),
        *("http://[::ffff:127.0.0.1]/secret", "http://[::]/secret"),
    ],
}


@pytest.mark.parametrize(("why", "url"), [(why, url) for why, urls in BAD.items() for url in urls])
def test_addresses_that_are_refused(configured, why, url):
    configured(url)
    with pytest.raises(Refused, match=why) as refused:
        from_environment()
    assert "secret" not in refused.value.sentence


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "null\0", "\x7f"])
def test_keys_that_cannot_be_sent(configured, key):
    configured("https://api.example.com/v1", key)
    with pytest.raises(Refused, match="OPENCLAW_WEB_LLM_KEY contains characters") as refused:
        from_environment()
    assert key not in refused.value.sentence


READ = """
import django, logging
django.setup()
from openclaw_web.llm.endpoint import from_environment
import openclaw_web.llm.client, sys
print(from_environment(), from_environment().key == "$k-1", "httpx" in sys.modules)
print(logging.getLogger("httpcore.connection").isEnabledFor(logging.DEBUG), logging.getLogger("httpx").level)
"""


def test_the_environment_names_it(tmp_path):
    """The address may have blanks around it; the HTTP client is not loaded."""
    env = os.environ | {
        "OPENCLAW_WEB_LLM_URL": " https://api.example.com/v1/\n",
        "OPENCLAW_WEB_LLM_KEY": "$k-1\n",
        "OPENCLAW_WEB_LOG_LEVEL": "DEBUG",
        "OPENCLAW_WEB_HOME": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
    }
    process = subprocess.run(
        [sys.executable, "-c", READ], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert "Endpoint('api.example.com') True False\nFalse 30\n" in process.stdout
    assert "k-1" not in process.stdout + process.stderr
