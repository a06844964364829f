"""The scopes of an agent, the switch of capture, heads and verification."""

import re

import pytest

from episodes.models import EpisodeCapture, EpisodeHead
from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry
from tests.episodes.ledger_events import store_event
from tests.factories import T0
from tests.ledger.transcript_records import get_text

PAGE = "/agents/ada/episodes/"
pytestmark = pytest.mark.django_db


def test_each_scope_has_its_counts_and_times(as_stranger, ada):
    store_event(event_id="a", scope="alpha")
    store_event(event_id="b", scope="alpha", type="tool.call", ts_ms=T0 + 5_000)
    store_event(event_id="c", scope="beta")
    page = get_text(as_stranger.get(PAGE))
    alpha, beta = page.partition(">alpha</a>")[2].split(">beta</a>")
    assert "conversation.user</span> 1</a>" in alpha and "tool.call</span> 1</a>" in alpha
    assert "2026-01-05 00:00:05" in alpha and "tool.call" not in beta
    assert 'href="/agents/ada/episodes/scope/?scope=beta"' in page


def test_an_agent_without_events_hears_what_will_be_here(as_stranger, ada):
    page = get_text(as_stranger.get(PAGE))
    assert "No events yet" in page and "An event captured here and one imported from openclaw-mem are two rows." in page
    assert "Create a proof" not in page and "Save capture" not in page


def test_an_admin_sets_capture(as_admin, ada):
    answer = as_admin.post(f"{PAGE}capture/", {"is_on": "on", "scope": "Project Alpha", "allows_tool_output": ""})
    assert answer.status_code == 302
    capture = EpisodeCapture.objects.using(ada.db).get()
    assert (capture.is_on, capture.scope, capture.allows_tool_output) == (True, "project-alpha", False)
    assert "project-alpha" in get_text(as_admin.get(PAGE))
    as_admin.post(f"{PAGE}capture/", {"scope": ""})
    capture.refresh_from_db()
    assert (capture.is_on, capture.scope) == (False, None)


def test_a_scope_that_cannot_be_leaves_capture_as_it_was(as_admin, ada):
    answer = as_admin.post(f"{PAGE}capture/", {"is_on": "on", "scope": "面包"})
    assert answer.status_code == 422 and "1 to 200 letters" in get_text(answer)
    assert not EpisodeCapture.objects.using(ada.db).exists()


def test_a_head_is_given_out_and_shown(as_operator, ada):
    store_event()
    assert as_operator.post(f"{PAGE}head/").status_code == 302
    head = EpisodeHead.objects.using(ada.db).get()
    assert str(head) in get_text(as_operator.get(PAGE)) and re.fullmatch(r"1:[0-9a-f]{64}", str(head))
    assert AuditEntry.objects.get(action="episodes_head").object_id == "1"


def test_an_empty_ledger_has_no_head(as_operator, ada):
    assert "no events yet" in get_text(as_operator.post(f"{PAGE}head/"))


def test_verification_is_a_job(as_operator, ada):
    assert as_operator.post(f"{PAGE}verify/")["Location"] == PAGE
    job = JobRun.objects.get(kind="episodes_verify")
    assert job.params == {"agent": "ada", "heads": []} and job.started_by == "otto"
