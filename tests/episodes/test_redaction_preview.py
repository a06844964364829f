"""Redaction on its page: a preview first, always within a scope."""

import pytest

from agents import services
from episodes.models import EpisodicEvent
from tests.episodes.ledger_events import store_event
from tests.ledger.transcript_records import get_text

PAGE = "/agents/main/episodes/redact/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def events(real_files):
    agent = services.register("main")
    for name, scope in (("a", "alpha"), ("b", "alpha"), ("c", "beta")):
        store_event(db=agent.db, event_id=name, scope=scope, payload={"text": "bread"}, refs={"a": 1})
    return EpisodicEvent.objects.using(agent.db).order_by("id")


def list_redacted(events):
    return [event.event_id for event in events.all() if event.redacted]


def test_a_preview_counts_and_changes_nothing(as_operator, events):
    assert "2 events will be redacted" in get_text(as_operator.get(f"{PAGE}?scope=alpha&session_id=s1"))
    assert "1 event will be redacted" in get_text(as_operator.get(f"{PAGE}?scope=alpha&event_id=a"))
    assert "Nothing to redact" in get_text(as_operator.get(f"{PAGE}?scope=beta&event_id=a"))
    assert list_redacted(events) == []


@pytest.mark.parametrize(("replacement", "payload"), [("null", None), ("placeholder", '"[REDACTED]"')])
def test_a_session_is_redacted_within_its_scope(as_operator, events, replacement, payload):
    answer = as_operator.post(f"{PAGE}do/?scope=alpha&session_id=s1", {"replacement": replacement}, follow=True)
    assert "2 events were redacted." in get_text(answer)
    assert answer.redirect_chain[0][0] == "/agents/main/episodes/replay/s1/?scope=alpha"
    assert list_redacted(events) == ["a", "b"]
    first = events.first()
    assert (first.summary, first.payload_json, first.refs_json, first.salt) == ("[REDACTED]", payload, None, None)


def test_an_event_of_another_scope_stays(as_operator, events):
    as_operator.post(f"{PAGE}do/?scope=beta&event_id=a", {"replacement": "null"})
    assert list_redacted(events) == []


@pytest.mark.parametrize("query", ["", "?event_id=a", "?scope=alpha", "?scope=alpha&event_id=a&session_id=s1"])
def test_an_address_names_a_scope_and_one_thing(as_operator, events, query):
    assert as_operator.get(f"{PAGE}{query}").status_code == 400
    assert as_operator.post(f"{PAGE}do/{query}", {"replacement": "null"}).status_code == 400
    assert list_redacted(events) == []


def test_another_replacement_is_refused(as_operator, events):
    assert as_operator.post(f"{PAGE}do/?scope=alpha&event_id=a", {"replacement": "x"}).status_code == 422
    assert list_redacted(events) == []
