"""The place on a write's page where people say that it is right or wrong, and the page of its sample."""

import re
from html import unescape

import pytest

from datasets.kinds import judging
from datasets.kinds.write import WRITE
from datasets.models import DatasetSample
from tests.datasets.conversations import tell_turns
from tests.datasets.from_decisions.gates import decide
from tests.guardian.correcting.correcting import corrected
from tests.guardian.written import wrote

pytestmark = pytest.mark.django_db
URL = "/agents/ada/write-verdicts/w1/"
GIVE = "/agents/ada/judge-write/w1/"
API = "/api/v1/agents/ada/guardian/writes/w1/sample"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def write(ada):
    tell_turns(3)
    decide()
    return wrote("agent_ada", 1, b"# Memory\n", b"# Memory\nLikes tea.\n", turn_id="s1:u2", decision_id="d1")


def give(client, verdict="right", headers=HTMX, expected="", **fields):
    return client.post(GIVE, {"verdict": verdict, "expected": expected, **fields}, headers=headers)


def said(page):
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.text)).split())


def expected(page):
    return re.search(r'name="expected" value="([^"]*)"', page.text)[1]


def test_it_works(as_reviewer):
    page = as_reviewer.get(URL)
    assert "Nobody has judged this write." in said(page) and "<html" in page.text
    part = as_reviewer.get(URL, headers=HTMX)
    assert part.text.strip().startswith('<section id="write-verdict"')
    assert 'name="verdict" value="right" data-key="r"' in part.text
    assert re.search(r'href="/agents/ada/opinions/w1/\?opinion=should_not_be_there" data-key="w"', part.text)
    assert "Wrong: should say …" in said(part)


def test_right_is_said_and_undone_where_the_buttons_are(as_reviewer):
    answer = give(as_reviewer)
    sample = DatasetSample.objects.get()
    assert "Marked as right. Right Approved reviewer" in said(answer)
    assert f'href="/samples/{sample.id}/"' in answer.text and expected(answer) == sample.label_id
    answer = give(as_reviewer, "undo", expected=sample.label_id)
    assert "Nobody has judged this write." in said(answer) and "Sample:" not in said(answer)
    answer = give(as_reviewer, "none")
    assert f'href="/review/?sample={sample.id}"' in answer.text, "what waits leads to its place in the queue"


def test_wrong_with_what_would_be_right(as_reviewer):
    answer = give(as_reviewer, "wrong", correct_status="refused", correct_reason="In jest.")
    assert "Wrong: should not be there Approved" in said(answer) and "In jest." in said(answer)
    answer = give(as_reviewer, "wrong", expected=expected(answer), correct_reason="Why?")
    assert answer.status_code == 422 and "Say whether it should have been" in said(answer)


def test_without_scripts(as_reviewer):
    answer = give(as_reviewer, headers={})
    assert (answer.status_code, answer["Location"]) == (302, URL)


def test_viewers_look(as_stranger):
    assert 'name="verdict"' not in as_stranger.get(URL).text


def test_a_write_that_cannot_be_a_sample_says_why(as_reviewer):
    wrote("agent_ada", 2, None, b"x")
    page = as_reviewer.get("/agents/ada/write-verdicts/w2/")
    assert "it cannot become a sample" in said(page) and 'name="verdict"' not in page.text


def test_the_page_of_the_sample_shows_every_word_of_its_row(as_reviewer, ada):
    corrected(reason="In <jest>.")
    sample = judging.say(WRITE, ada, "w1", "none", by="ann")
    for address in (f"/samples/{sample.id}/", "/review/?type=write_guardian_decision"):
        page = as_reviewer.get(address)
        for words in ("Likes tea.", "# Memory", "In <jest>.", "The whole file afterwards", "prefers mornings"):
            assert words in unescape(page.text), (address, words)
        assert 'name="guardian_content"' in page.text and 'name="gate_label"' in page.text


def test_the_whole_file_can_be_written_as_it_should_be(as_reviewer, ada):
    sample = judging.say(WRITE, ada, "w1", "none", by="ann")
    sent = {
        "status": "approved",
        "guardian_label": "corrected",
        "guardian_status": "written",
        "guardian_file": "MEMORY.md",
        "guardian_reason": "Shorter.",
        "guardian_content": "# Memory\r\nTea.\r\n",
    }
    assert as_reviewer.post(f"/samples/{sample.id}/label/", sent).status_code in (200, 302)
    sample.refresh_from_db()
    assert '"content":"# Memory\\nTea.\\n"' in sample.guardian_corrected_output


def test_each_reason_stands_with_who_gave_it(as_reviewer, ada):
    corrected(reason="A remark.", by="oli")
    sample = judging.say(WRITE, ada, "w1", "none", by="ann")
    page = as_reviewer.get(f"/review/?sample={sample.id}")
    assert "<dt>Reason</dt><dd>A remark." not in page.text and "A remark. By oli" in said(page)
    answer = as_reviewer.post("/review/label/", {"sample": sample.id, "status": "approved"}, follow=True)
    assert "Approved: “Likes tea.”" in unescape(said(answer))


def test_the_list_names_the_fact(as_reviewer, ada):
    judging.say(WRITE, ada, "w1", "right", by="ann")
    page = as_reviewer.get("/samples/?type=write_guardian_decision")
    assert "Likes tea." in page.text and "Written" in page.text


def test_the_api(as_reviewer):
    answer = as_reviewer.post(API, {"verdict": "wrong", "correct_status": "refused"}, "application/json").json()
    sample = DatasetSample.objects.get()
    assert answer == {
        "sample_id": sample.id,
        "sample_type": "write_guardian_decision",
        "annotation_status": "approved",
    }
    detail = as_reviewer.get(f"/api/v1/samples/{sample.id}").json()
    assert detail["guardian_corrected_output"]["status"] == "refused"


def test_corrected_writes_are_sent_to_review(as_reviewer, ada):
    corrected()
    assert as_reviewer.post("/agents/ada/queue-writes/").status_code == 302
    assert DatasetSample.objects.get().annotation_status == "needs_review"
    told = as_reviewer.post("/api/v1/agents/ada/guardian/samples", {}, "application/json").json()
    assert told == {"made": [], "existing": ["w1"], "skipped": []}
