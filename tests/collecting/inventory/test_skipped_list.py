"""The page of skipped sources, and its list in the API."""

import pytest
from django.urls import reverse

from agents import skipped_sources
from agents.models import SkippedSource
from agents.skipped_sources import Kind, Reason, SkippedItem

pytestmark = pytest.mark.django_db
URL = "/operations/skipped/"


def note(agent_id, *skipped):
    skipped_sources.replace_skipped("/home/u/.openclaw", agent_id, skipped)


@pytest.fixture
def noted(ada, bob):
    note(
        "ada",
        SkippedItem(Kind.FILE, "agents/ada/sessions/notes.txt", Reason.NOT_TRANSCRIPT),
        SkippedItem(Kind.INDEX_ENTRY, "agent:ada:gone", Reason.NO_RECORDS, "gone.jsonl", "gone"),
    )
    note("bob", SkippedItem(Kind.FOLDER, "agents/bob/sessions/<b>link</b>", Reason.LINK))


def test_it_works(as_admin, noted):
    assert reverse("collecting:skipped_list") == URL
    page = as_admin.get(URL).text
    for words in ("notes.txt", "Not a transcript", "agent:ada:gone", "No records found", "Index entry", "Link"):
        assert words in page
    assert "<b>link</b>" not in page


def test_what_holds_no_more_goes_and_what_stays_is_not_written_again(noted):
    before = SkippedSource.objects.get(agent_id="bob")
    note("bob", SkippedItem(Kind.FOLDER, "agents/bob/sessions/<b>link</b>", Reason.LINK))
    assert SkippedSource.objects.get(agent_id="bob").noted_at == before.noted_at
    note("bob")
    assert not SkippedSource.objects.filter(agent_id="bob").exists()
    assert SkippedSource.objects.filter(agent_id="ada").count() == 2
