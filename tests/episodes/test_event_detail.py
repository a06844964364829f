"""The page of one event: texts, references with links, the chain, neighbours."""

import pytest

from artifacts import services as artifacts
from episodes.models import EpisodicEvent
from tests.episodes.ledger_events import store_event
from tests.factories import T0, SessionFactory
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text

PAGE = "/agents/ada/episodes/event/{}/?scope=global"
pytestmark = pytest.mark.django_db


def read(client, event_id="e1"):
    return get_text(client.get(PAGE.format(event_id)))


def test_texts_are_shown_escaped(as_stranger, ada):
    payload = {"text": "<script>alert(1)</script>"}
    store_event(event_id="e1", summary="<b>bread</b>", payload=payload, refs={"recordRef": "obs:42"})
    page = read(as_stranger)
    for words in ("&lt;b&gt;bread", "&lt;script&gt;alert(1)", "obs:42"):
        assert words in page
    assert "<script>alert" not in page
    assert bytes(EpisodicEvent.objects.using(ada.db).get().chain_hash).hex() in page


def test_an_event_of_another_scope_is_not_there(as_stranger, ada):
    store_event(event_id="e1", scope="alpha")
    answer = as_stranger.get(PAGE.format("e1"))
    assert answer.status_code == 404 and "There is no such event in this scope." in get_text(answer)
    assert as_stranger.get("/agents/ada/episodes/event/e1/").status_code == 400


def test_references_lead_to_what_is_stored(as_stranger, ada):
    SessionFactory(id="s1")
    create_write(ada.db, 1, None, b"x")
    artifact = artifacts.stash(ada.db, "a long output\n" * 900, place=artifacts.Place("s1", None, None, "exec"))[0]
    missing = "ocm_artifact:v1:sha256:" + "0" * 64
    store_event(event_id="c1", type="tool.call", refs={"toolCallId": "k1"})
    refs = {"toolCallId": "k1", "artifact": artifact.handle, "more": [missing], "memory_ids": ["w1", "gone", 3]}
    store_event(event_id="r1", type="tool.result", ts_ms=T0 + 5, refs=refs)
    page = read(as_stranger, "r1")
    for address in ("episodes/event/c1/?scope=global", f"artifacts/{artifact.sha256}/", "writes/w1/", "sessions/s1/"):
        assert f'href="/agents/ada/{address}"' in page
    assert page.count("not stored") == 2
    assert 'href="/agents/ada/episodes/event/r1/?scope=global"' in read(as_stranger, "c1")


def test_neighbours_are_of_the_session_and_the_scope(as_stranger, ada):
    for number in range(3):
        store_event(event_id=f"e{number}")
    store_event(event_id="x", session_id="s2")
    store_event(event_id="y", scope="alpha")
    page = as_stranger.get(PAGE.format("e1"))
    assert (page.context["before"].event_id, page.context["after"].event_id) == ("e0", "e2")
    page = as_stranger.get(PAGE.format("e2"))
    assert (page.context["before"].event_id, page.context["after"]) == ("e1", None)


def test_a_redacted_event_has_no_texts_and_no_button(as_operator, ada):
    store_event(event_id="e1", summary="bread", payload={"text": "bread"}, refs={"toolCallId": "k"}, is_redacted=True)
    store_event(event_id="e2")
    page = read(as_operator)
    assert "[REDACTED]" in page and "bread" not in page and "Redact event" not in page
    assert "Redact event" in read(as_operator, "e2")
