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
def written(monkeypatch):
    """What the log says while a test runs, as it would stand on standard output."""
    handler = next(handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, LineFormatter))
    stream = io.StringIO()
    monkeypatch.setattr(handler, "stream", stream)
    return stream


def test_a_link_that_still_works_is_not_in_the_log(client, person, written):
    path = accounts.make_sign_in_link(person)
    assert client.post(path, {"password": "short", "again": "short"}).status_code == 422
    assert "/welcome/…" in written.getvalue() and path.split("/")[2] not in written.getvalue()


@pytest.mark.django_db
def test_who_may_not_is_a_line_and_no_traceback(client, stranger, written):
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/operations/users/").status_code == 403
    assert written.getvalue().count("\n") == 1 and "Forbidden" in written.getvalue()


def test_a_token_is_not_in_the_log(client, person, written):
    _, text = tokens.make_token(person, name="x", role="viewer")
    client.get(f"/{text}")
    assert text[:12] in written.getvalue() and text not in written.getvalue()
