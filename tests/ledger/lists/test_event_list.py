"""The list of an agent's records."""

import csv
import io
import json
import re

import orjson
import pytest

from people.models.kept import AuditEntry
from tests.factories import T0, EventFactory, IdentityFactory, SessionFactory
from tests.ledger.talks import text_of

ADA = "/agents/ada/events/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


def said(text, role="user"):
    return orjson.dumps(
        {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}
    ).decode()


def record(session, seq, **columns):
    columns = {"created_at": T0 + seq, "kind": "user", "event_json": said(f"number {seq}")} | columns
    EventFactory(session=session, seq=seq, **columns)
    IdentityFactory(session=session, seq=seq, event_id=f"r/{seq}")


@pytest.fixture
def session(ada):
    return SessionFactory(id="s1", title="The nightly import")


def shown(response):
    """The numbers in the texts of a page, in order."""
    return [int(number) for number in re.findall(r"number (\d+)<", text_of(response))]


def test_it_works(client, session):
    record(session, 1, turn_number=3)
    record(session, 2, kind="tool_result", tool_name="exec", is_failed=True, event_json=said("number 2", "toolResult"))
    page = client.get(ADA)
    assert shown(page) == [2, 1]
    for words in ("2 records of ada", "The nightly import", "exec", "Tool result", "Failed"):
        assert words in text_of(page)
    assert 'href="../sessions/s1/?record=r%2F2#r-r%2F2"' in text_of(page)


def test_it_says_what_words_are_looked_for_in(client, session):
    told = text_of(client.get(ADA))
    assert re.search(r'<input type="search" name="q"[^>]* aria-describedby="id_q_help">', told)
    assert re.search(r'<p class="[^"]*" id="id_q_help">[^<]*Searches the start of long texts', told)


def test_adas_page_does_not_show_bobs_rows(client, session):
    EventFactory(session=SessionFactory(db="agent_bob", id="bobs"), db="agent_bob", seq=7, event_json=said("number 7"))
    assert shown(client.get(ADA)) == []
    assert shown(client.get("/agents/bob/events/")) == [7]


def test_nobody_in_particular_has_to_sign_in(client):
    client.logout()
    assert client.get(ADA)["Location"].startswith("/sign-in/")


def test_without_records_it_says_how_to_get_them(client):
    assert "openclaw-web collect" in text_of(client.get(ADA))


@pytest.mark.parametrize(
    "query",
    ["?kind=assistant", "?tool=exec", "?model=gpt", "?session=s2", "?failed=on", "?q=NUMBER+2", '?q="text":"number+2"'],
)
def test_filters(client, session, query):
    record(session, 1)
    columns = {"kind": "assistant", "tool_name": "exec", "model": "gpt", "is_failed": True}
    record(SessionFactory(id="s2"), 2, **columns)
    wanted = [] if '"' in query else [2]  # what is searched is what was said, quotation marks of the format are not
    assert shown(client.get(ADA + query)) == wanted


def test_days(client, session):
    for number, day in enumerate((0, 1, 2)):
        record(session, number, created_at=1_767_225_600_000 + day * 86_400_000)  # from the first of January 2026 on
    assert shown(client.get(f"{ADA}?from=2026-01-01&to=2026-01-02")) == [1, 0]
    assert shown(client.get(f"{ADA}?from=2026-01-03")) == [2]


@pytest.mark.parametrize("query", ["", "?session=s1", "?kind=user", "?q=number", "?sort=time"])
def test_pages_go_both_ways_without_loss_or_doubles(client, session, monkeypatch, query):
    monkeypatch.setattr("ledger.lists.event_list.WINDOW", 30)
    monkeypatch.setattr("ledger.lists.event_list.TEXT_WINDOW", 30)
    for number in range(120):
        record(session, number, created_at=T0 + number // 40)
    pages, page = [], client.get(ADA + query)
    while True:
        pages.append(shown(page))
        following = page.context["page"].next
        if not following:
            break
        page = client.get(ADA + query, {**dict(page.wsgi_request.GET.items()), "after": following, "before": ""})
    assert sorted(number for page in pages for number in page) == list(range(120))
    back = []
    while before := page.context["page"].previous:
        page = client.get(ADA + query, {**dict(page.wsgi_request.GET.items()), "before": before, "after": ""})
        back += shown(page)
    assert set(back) | set(pages[-1]) == set(range(120))


@pytest.mark.parametrize(
    "query", ["?kind=x", "?from=yesterday", "?from=2026-02-02&to=2026-02-01", "?sort=cost", "?q=a%00b"]
)
def test_an_impossible_address_says_what_to_do(client, query):
    page = client.get(ADA + query)
    assert page.status_code == 409
    assert "Start again" in text_of(page)


def test_what_a_record_holds_is_only_text(client, session):
    record(session, 1, event_json=said("<script>x</script>\u202e{0}"), tool_name="<b>", kind="unknown")
    record(session, 2, event_json='{"type": "' + "<i>" * 9000)  # longer than what is read of it
    page = text_of(client.get(ADA))
    assert "<script>x" not in page
    assert "<i>" not in page
    assert '<span class="glyph">U+202E</span>{0}' in page


def test_files_hold_what_the_filter_shows(client, session):
    for number in range(120):
        record(session, number, kind="user" if number % 2 else "assistant")
    lines = client.get(f"{ADA}?kind=user&format=jsonl").getvalue().decode().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(119, 0, -2))
    table = client.get(f"{ADA}?kind=user&format=csv").getvalue().decode("utf-8-sig")
    assert next(csv.DictReader(io.StringIO(table)))["text"] == "number 119"
    entry = AuditEntry.objects.filter(action="downloaded").latest("id")
    assert (entry.object_id, entry.agent_id, orjson.loads(entry.detail_json)) == (
        "events",
        "ada",
        {"filter": "?kind=user", "format": "csv"},
    )


def test_the_number_of_queries_does_not_grow(client, session, django_assert_num_queries):
    client.get(ADA)
    for rows in (range(1), range(1, 30)):
        for number in rows:
            record(session, number)
        with django_assert_num_queries(4, using="agent_ada"), django_assert_num_queries(4):
            client.get(ADA)
