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
    assert "?agent=ada" in as_admin.get(URL).text
    assert as_admin.get(URL, {"agent": "../ada"}).status_code == 404
    RejectedFactory(file="agents/main/sessions/broken.jsonl", reason="not_utf8", byte_offset=1234, detail="byte 7")
    RejectedFactory(reason="reason_of_tomorrow")
    rows = as_admin.get(URL, {"agent": "ada"}).text
    for words in ("agents/main/sessions/broken.jsonl", "Bytes that are not UTF-8", "1,234", "byte 7"):
        assert words in rows
    assert "reason_of_tomorrow" in rows, "an unknown reason is shown as it is"


def test_what_a_line_holds_is_shown_and_does_nothing(as_admin, ada):
    RejectedFactory(raw_preview='<script>alert(1)</script>\x1b[2J\x07{"x":"\u202e gnp.exe"}')
    page = as_admin.get(URL, {"agent": "ada"}).text
    assert not [odd for odd in ("<script>alert(1)", "\x1b", "\u202e") if odd in page]
    assert not [words for words in ("&lt;script&gt;alert(1)", "ESC", "U+202E") if words not in page]


def test_a_line_links_to_its_session_when_that_exists(as_admin, ada):
    SessionFactory(id="known")
    RejectedFactory(session_id="known")
    RejectedFactory(session_id="never-stored")
    page = as_admin.get(URL, {"agent": "ada"}).text
    assert "/agents/ada/sessions/known/" in page and "never-stored" not in page
