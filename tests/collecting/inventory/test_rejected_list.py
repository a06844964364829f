"""The page of rejected records."""

import pytest
from django.urls import reverse

from overview.models import AgentSummary
from tests.factories import RejectedFactory, SessionFactory

pytestmark = pytest.mark.django_db
URL = "/operations/rejected/"


def summary(agent_id, count):
    return AgentSummary.objects.create(agent_id=agent_id, rejected_count=count)


def test_it_works(as_admin, ada):
    summary("ada", 3)
    assert reverse("collecting:rejected_list") == URL
    page = as_admin.get(URL)
    assert page.status_code == 200
    assert "?agent=ada" in page.text
    RejectedFactory(file="agents/main/sessions/broken.jsonl", reason="not_utf8", byte_offset=1234, detail="byte 7")
    rows = as_admin.get(URL, {"agent": "ada"}).text
    assert "agents/main/sessions/broken.jsonl" in rows
    assert "Bytes that are not UTF-8" in rows
    assert "1,234" in rows
    assert "byte 7" in rows


def test_an_agent_that_is_not_there_is_not_found(as_admin, ada):
    assert as_admin.get(URL, {"agent": "nobody"}).status_code == 404
    assert as_admin.get(URL, {"agent": "../ada"}).status_code == 404


def test_without_rejected_lines_it_says_so(as_admin, ada):
    assert "No rejected records" in as_admin.get(URL).text
    assert "No rejected records" in as_admin.get(URL, {"agent": "ada"}).text


def test_what_a_line_holds_is_shown_and_does_nothing(as_admin, ada):
    RejectedFactory(raw_preview='<script>alert(1)</script>\x1b[2J\x07{"x":"\u202e gnp.exe"}')
    page = as_admin.get(URL, {"agent": "ada"}).text
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "ESC" in page
    assert "U+202E" in page


def test_a_line_links_to_its_session_when_that_exists(as_admin, ada):
    SessionFactory(id="known")
    RejectedFactory(session_id="known")
    RejectedFactory(session_id="never-stored")
    page = as_admin.get(URL, {"agent": "ada"}).text
    assert "/agents/ada/sessions/known/" in page
    assert "never-stored" not in page


def test_an_unknown_reason_is_shown_as_it_is(as_admin, ada):
    RejectedFactory(reason="reason_of_tomorrow")
    assert "reason_of_tomorrow" in as_admin.get(URL, {"agent": "ada"}).text
