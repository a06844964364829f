"""The 404 page names the missing thing and links to pages nearby."""

import re
from html import unescape
from urllib.parse import quote

import pytest

from tests.factories import JobFactory, SessionFactory

pytestmark = pytest.mark.django_db
OVERVIEW = "/"
ADA = "/agents/ada/"
SESSIONS = f"{ADA}sessions/"


def read_not_found(response):
    """Returns the sentence of a 404 page, and the addresses of its buttons."""
    assert response.status_code == 404
    assert '<nav class="rail"' in response.text
    page = response.text.split('id="main"')[1]
    sentence = unescape(re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[1])
    return sentence, re.findall(r'<a class="button[^"]*" href="([^"]+)">', page)


@pytest.mark.parametrize(
    ("address", "sentence", "ways"),
    [
        ("/agents/nope/sessions/", "There is no agent nope.", ["/agents/"]),
        ("/agents/nope/sessions/s1/", "There is no agent nope.", ["/agents/"]),
        ("/agents/nope/files/MEMORY.md/", "There is no agent nope.", ["/agents/"]),
        ("/operations/rejected/?agent=nope", "There is no agent nope.", ["/agents/"]),
        (f"{SESSIONS}s9/", "There is no session s9.", [SESSIONS, "/agents/"]),
        (f"{SESSIONS}s9/?turn=4", "There is no session s9.", [SESSIONS, "/agents/"]),
        (f"{SESSIONS}s9/turns/", "There is no session s9.", [SESSIONS, "/agents/"]),
        (f"{SESSIONS}s1/records/r9/", "There is no record r9 in this session.", [f"{SESSIONS}s1/", SESSIONS]),
        (f"{SESSIONS}s1/steps/9/", "There is no step 9 in this session.", [f"{SESSIONS}s1/", SESSIONS]),
        (f"{ADA}files/NOTES.md/", "There is no file NOTES.md, or not in this version.", [f"{ADA}files/"]),
        (f"{ADA}cron/nightly/", "There is no scheduled task nightly.", [f"{ADA}cron/"]),
        (f"{ADA}checkpoints/{'0' * 64}/", f"There is no checkpoint {'0' * 64}.", [SESSIONS]),
        ("/samples/none/", "There is no sample none.", ["/samples/"]),
        ("/exports/none/", "There is no export none.", ["/exports/"]),
        ("/exports/none/files/train.jsonl", "There is no file train.jsonl in this export.", ["/exports/"]),
        ("/operations/jobs/none/", "There is no job none.", ["/operations/jobs/"]),
        ("/nowhere/", "There is nothing at this address.", []),
        ("/review/nothing/", "There is nothing at this address.", []),
    ],
)
def test_it_works(as_admin, ada, address, sentence, ways):
    SessionFactory(id="s1")
    assert read_not_found(as_admin.get(address)) == (sentence, [*ways, OVERVIEW])


def test_an_artifact_has_a_sentence_of_its_own(as_admin, ada):
    answer = as_admin.get(f"{ADA}artifacts/{'0' * 64}/")
    assert answer.status_code == 404
    assert f"has no artifact artifact:sha256:{'0' * 64}" in answer.text or "0" * 64 in answer.text
    assert f'href="{ADA}artifacts/"' in answer.text


def test_what_one_may_not_see_is_told_as_what_is_not_there(as_stranger):
    job = JobFactory(started_by="somebody")
    hidden, unknown = (
        read_not_found(as_stranger.get(job.get_absolute_url())),
        read_not_found(as_stranger.get("/operations/jobs/none/")),
    )
    assert (hidden[0].replace(job.id, "none"), hidden[1]) == unknown


@pytest.mark.parametrize("name", ["<script>alert(1)", "a\u202eb", "100%s %(name)s", "x" * 2_000, "ä b?c#d"])
def test_a_name_is_only_shown(as_admin, ada, name):
    answer = as_admin.get(f"{SESSIONS}{quote(name, safe='')}/")
    sentence, ways = read_not_found(answer)
    assert sentence.startswith("There is no session ") and len(sentence) < 200
    assert "<script>alert" not in answer.text and "\u202e" not in answer.text
    assert ways == [SESSIONS, "/agents/", OVERVIEW]


def test_programs_are_told_as_before(as_admin, ada):
    answer = as_admin.get("/api/v1/agents/ada/sessions/s9")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no session s9.")


def test_somebody_unknown_is_not_told_what_there_is(client, ada):
    for agent in ("ada", "nope"):
        assert client.get(f"/agents/{agent}/sessions/s9/")["Location"].startswith("/sign-in/")
