"""The segments of the list of sessions: on the page, in files and in the API.

Also the last words below each title.
"""

import pytest

from tests.factories import SessionFactory, TurnFactory
from tests.ledger.lists.test_session_list import read_session_ids
from tests.ledger.transcript_records import get_text

ADA, API = "/agents/ada/sessions/", "/api/v1/agents/ada/sessions"
ORIGINS = {"talk": "direct", "group": "group", "nightly": "cron", "helper": "subagent", "webhook": "hook"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def sessions(as_stranger, ada):
    """One session of each origin; the last one is the newest."""
    return [SessionFactory(id=name, origin=origin) for name, origin in ORIGINS.items()]


def test_only_a_page_that_nobody_narrowed_shows_the_first_segment(as_stranger, sessions):
    assert set(read_session_ids(as_stranger.get(ADA))) == {"talk", "group"}
    assert set(read_session_ids(as_stranger.get(f"{ADA}?sort=-cost"))) == {"talk", "group"}
    assert set(read_session_ids(as_stranger.get(f"{ADA}?origin=cron"))) == {"nightly"}
    assert len(as_stranger.get(f"{ADA}?format=jsonl").getvalue().splitlines()) == len(ORIGINS)
    assert len(as_stranger.get(API).json()["items"]) == len(ORIGINS)


def test_links_keep_the_segment_and_say_how_many_there_are(as_stranger, sessions):
    page = get_text(as_stranger.get(f"{ADA}?segment=scheduled"))
    assert '<a href="?segment=scheduled" aria-current="true">Scheduled <span class="muted">1</span></a>' in page
    assert '<a href="?">Chats <span class="muted">2</span></a>' in page
    assert '<input type="hidden" name="segment" value="scheduled">' in page
    assert "1 session of ada" in page
    narrow = get_text(as_stranger.get(f"{ADA}?segment=chats&channel={sessions[0].channel_id}"))
    assert 'class="chip" href="?"' in narrow
    assert f'href="?channel={sessions[0].channel_id}">All</a>' in narrow


def test_an_empty_segment_leads_to_the_others(as_stranger, ada):
    SessionFactory(origin="cron")
    page = get_text(as_stranger.get(ADA))
    assert "Nothing in “Chats”" in page
    assert 'href="?segment=all"' in page
    assert read_session_ids(as_stranger.get(f"{ADA}?segment=all"))


def test_the_last_words(as_stranger, ada):
    session = SessionFactory(id="s", title="Bread", origin="direct", cost_usd=0.0028, error_count=3)
    for number, reply in ((1, "first reply"), (2, "<b>last</b> reply \u202e" + "x" * 900)):
        TurnFactory(session=session, turn_number=number, agent_message_content=reply)
    TurnFactory(session=session, turn_number=3, agent_message_content="left", is_active=False)
    page = get_text(as_stranger.get(ADA))
    assert "&lt;b&gt;last&lt;/b&gt; reply" in page
    assert "\u202e" not in page
    assert "x" * 200 not in page
    assert "first reply" not in page
    assert "left" not in page.split("<tbody>")[1]
    assert "&lt;$0.01" in page
    assert '<span class="badge badge--bad">3</span>' in page


def test_a_prompt_of_openclaw_begins_with_a_chip(as_stranger, ada):
    prompt = "[cron:74a523b9-4d1b-4b90-bce4-6cef1edab97c Morning orders] Summarise the orders"
    session = SessionFactory(title=prompt[:100], origin="cron")
    TurnFactory(session=session, user_message_content=prompt, agent_message_content="")
    for address in (f"{ADA}?segment=scheduled", "/agents/ada/turns/"):
        page = get_text(as_stranger.get(address))
        assert "[cron:" not in page
        assert "74a523b9" not in page
        assert '<span class="badge badge--plain">Morning orders</span>' in page
        assert "Summarise the orders" in page


def test_a_prompt_without_a_name_of_its_own_is_a_chip(as_stranger, ada):
    prompt = "[Subagent Context] You are running as a subagent.\n\n[Subagent Task]: count the jars"
    TurnFactory(session=SessionFactory(title="Monday"), user_message_content=prompt)
    page = as_stranger.get("/agents/ada/sessions/").text
    assert '<span class="badge badge--plain">Task for a sub-agent</span> It failed' in page
