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


def test_strangers_may_look_and_people_who_are_not_signed_in_may_not(client, stranger, ada):
    assert client.get(URL).status_code == 302
    client.force_login(stranger)
    assert client.get(URL, {"agent": "ada"}).status_code == 200


def test_adas_page_does_not_show_bobs_rows(as_admin, ada, bob):
    RejectedFactory(db="agent_bob", file="bobs.jsonl")
    RejectedFactory(db="agent_ada", file="adas.jsonl")
    page = as_admin.get(URL, {"agent": "ada"}).text
    assert "adas.jsonl" in page
    assert "bobs.jsonl" not in page


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


def test_pages_go_on_where_the_one_before_ended(as_admin, ada):
    for number in range(60):
        RejectedFactory(file=f"file-{number}.jsonl")
    first = as_admin.get(URL, {"agent": "ada"})
    assert "file-59.jsonl" in first.text
    assert "file-9.jsonl" not in first.text
    second = as_admin.get(URL, {"agent": "ada", "after": first.context["page"].next})
    assert "file-9.jsonl" in second.text
    assert "file-59.jsonl" not in second.text
    assert second.context["page"].next is None


def test_a_damaged_page_address_is_refused(as_admin, ada):
    assert as_admin.get(URL, {"agent": "ada", "after": "bm9uc2Vuc2U"}).status_code == 409


def test_the_number_of_queries_does_not_grow(as_admin, ada, django_assert_num_queries):
    for rows in (1, 30):
        RejectedFactory.create_batch(rows, session_id="known")
        summary(f"agent-{rows}", rows)
        with django_assert_num_queries(3, using="agent_ada"), django_assert_num_queries(4):
            assert as_admin.get(URL, {"agent": "ada"}).status_code == 200
        with django_assert_num_queries(0, using="agent_ada"), django_assert_num_queries(3):
            assert as_admin.get(URL).status_code == 200
