"""The verdict on a write's page, and the page of its sample."""

import re
from html import unescape

import pytest

from datasets.kinds import verdict_service
from datasets.kinds.write import WRITE
from datasets.models import DatasetSample
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import store_decision
from tests.datasets.page_text import read_text
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db
URL = "/agents/ada/write-verdicts/w1/"


@pytest.fixture(autouse=True)
def write(ada):
    store_turns(3)
    store_decision()
    return create_write("agent_ada", 1, b"# Memory\n", b"# Memory\nLikes tea.\n", turn_id="s1:u2", decision_id="d1")


def test_wrong_is_an_opinion_of_two_kinds(as_reviewer):
    page = as_reviewer.get(URL, headers={"HX-Request": "true"})
    assert re.search(r'href="/agents/ada/opinions/w1/\?opinion=should_not_be_there" data-key="w"', page.text)
    assert "Wrong: should say …" in read_text(page)
    sent = {"verdict": "wrong", "expected": "", "correct_status": "refused"}
    page = as_reviewer.post("/agents/ada/judge-write/w1/", sent, headers={"HX-Request": "true"})
    assert "Wrong: should not be there" in read_text(page)
    detail = as_reviewer.get(f"/api/v1/samples/{DatasetSample.objects.get().id}").json()
    assert detail["guardian_corrected_output"]["status"] == "refused"


def test_a_sample_that_waits_leads_to_its_place_in_the_queue(as_reviewer, ada):
    sample = verdict_service.give_verdict(WRITE, ada, "w1", "none", by="ann")
    assert f'href="/review/?sample={sample.id}"' in as_reviewer.get(URL).text


def test_the_page_of_the_sample_shows_every_word_of_its_row(as_reviewer, ada):
    create_correction(reason="In <jest>.")
    sample = verdict_service.give_verdict(WRITE, ada, "w1", "none", by="ann")
    for address in (f"/samples/{sample.id}/", "/review/?type=write_guardian_decision"):
        page = as_reviewer.get(address)
        for words in ("Likes tea.", "# Memory", "In <jest>.", "The whole file afterwards", "prefers mornings"):
            assert words in unescape(page.text), (address, words)
        assert 'name="guardian_content"' in page.text and 'name="gate_label"' in page.text


def test_the_whole_file_can_be_written_as_it_should_be(as_reviewer, ada):
    sample = verdict_service.give_verdict(WRITE, ada, "w1", "none", by="ann")
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
    create_correction(reason="A remark.", by="oli")
    sample = verdict_service.give_verdict(WRITE, ada, "w1", "none", by="ann")
    page = as_reviewer.get(f"/review/?sample={sample.id}")
    assert "<dt>Reason</dt><dd>A remark." not in page.text and "A remark. By oli" in read_text(page)
    answer = as_reviewer.post("/review/label/", {"sample": sample.id, "status": "approved"}, follow=True)
    assert "Approved: “Likes tea.”" in unescape(read_text(answer))


def test_the_list_names_the_fact(as_reviewer, ada):
    verdict_service.give_verdict(WRITE, ada, "w1", "right", by="ann")
    page = as_reviewer.get("/samples/?type=write_guardian_decision")
    assert "Likes tea." in page.text and "Written" in page.text


def test_corrected_writes_are_sent_to_review(as_reviewer, ada):
    create_correction()
    assert as_reviewer.post("/agents/ada/queue-writes/").status_code == 302
    assert DatasetSample.objects.get().annotation_status == "needs_review"
    answer = as_reviewer.post("/api/v1/agents/ada/guardian/samples", {}, "application/json").json()
    assert answer == {"made": [], "existing": ["w1"], "skipped": []}
