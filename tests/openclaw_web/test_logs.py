import io
import logging

import pytest

from openclaw_web.logs import LineFormatter
from people.accounts import services as accounts
from people.accounts import tokens
from tests.factories import UserFactory


@pytest.fixture
def person(db):
    return UserFactory()


@pytest.fixture
def log_stream(monkeypatch):
    """The log of a test as it would stand on standard output."""
    handler = next(handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, LineFormatter))
    stream = io.StringIO()
    monkeypatch.setattr(handler, "stream", stream)
    return stream


def test_a_link_that_still_works_is_not_in_the_log(client, person, log_stream):
    path = accounts.make_sign_in_link(person)
    assert client.post(path, {"password": "short", "again": "short"}).status_code == 422
    assert "/welcome/…" in log_stream.getvalue() and path.split("/")[2] not in log_stream.getvalue()


@pytest.mark.django_db
def test_who_may_not_is_a_line_and_no_traceback(client, stranger, log_stream):
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/operations/users/").status_code == 403
    assert log_stream.getvalue().count("\n") == 1 and "Forbidden" in log_stream.getvalue()


@pytest.mark.parametrize("headers", [{"host": "other.example"}, {"x-forwarded-proto": "https"}, {"host": "bad host@"}])
def test_a_request_past_a_wrong_proxy_is_a_line_and_no_traceback(client, db, settings, log_stream, headers):
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.HTTPS = True
    assert client.get("/sign-in/", headers=headers, REMOTE_ADDR="203.0.113.9").status_code == 400
    assert log_stream.getvalue().count("\n") == 1


def test_a_token_is_not_in_the_log(client, person, log_stream):
    _, text = tokens.make_token(person, name="x", role="viewer")
    client.get(f"/{text}")
    assert text[:12] in log_stream.getvalue() and text not in log_stream.getvalue()
