"""The list of samples."""

import orjson
import pytest
from django.urls import reverse

from openclaw_web.sqlite import time_limits
from tests.datasets.exports.export_helpers import FORM_FIELDS
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
URL = "/samples/"


def make_content(user, reply="Done."):
    body = {"type": "annotated_turn", "context": [], "userMessage": user, "agentReply": reply}
    return orjson.dumps(body).decode()


def ids(response):
    return [sample["id"] for sample in response.context["page"]]


def test_it_works(as_admin, ada):
    SampleFactory(id="one", content=make_content("When does the train leave?", "At nine."))
    assert reverse("datasets:sample_list") == URL
    page = as_admin.get(URL)
    assert page.status_code == 200
    assert "When does the train leave?" in page.text
    assert "At nine." in page.text
    assert 'href="one/"' in page.text


@pytest.mark.parametrize("address", [URL, "/datasets/", "/exports/", "/findings/", "/review/"])
def test_an_empty_page_of_training_is_one_sentence_and_one_button(as_reviewer, ada, address):
    page = as_reviewer.get(address).text
    main = page[page.index("<main") :]
    assert main.count('class="empty"') == main.count('<a class="button button--primary"') == 1
    assert not any(part in main for part in ('id="line"', 'id="boxes"', 'class="segments"', "JSONL"))
    narrowed = as_reviewer.get(address, {"agent": "ada"} if address == URL else {"by": "ann"}).text
    assert 'id="line"' in narrowed or address in ("/review/", "/findings/")


def test_filters_are_kept_in_the_links(as_admin, ada):
    SampleFactory(id="wanted", agent_id="ada", session_id="s1", annotation_status="needs_review")
    chosen = {"status": "needs_review", "agent": "ada", "session": "s1", "type": "annotated_turn"}
    page = as_admin.get(URL, chosen)
    assert ids(page) == ["wanted"]
    assert "wanted/?status=needs_review&amp;agent=ada&amp;type=annotated_turn&amp;session=s1" in page.text
    assert "?type=annotated_turn&amp;status=needs_review&amp;session=s1" in page.text  # the chip takes ada away


def test_the_tabs_count_each_status(as_admin, ada):
    SampleFactory.create_batch(3, annotation_status="pending")
    SampleFactory.create_batch(2, annotation_status="auto_approved")
    page = as_admin.get(URL, {"status": "pending"})
    counts = {tab["label"]: tab["amount"].count for tab in page.context["tabs"]}
    assert counts == {
        "All": 5,
        "Pending": 3,
        "Approved": 0,
        "Rejected": 0,
        "Needs review": 0,
        "Approved automatically": 2,
    }
    assert [tab["label"] for tab in page.context["tabs"] if tab["is_current"]] == ["Pending"]


def test_nobody_counts_beyond_a_thousand(as_admin, ada, monkeypatch):
    monkeypatch.setattr(time_limits, "STEPS", 10**9)  # the time of a count is never up
    SampleFactory.create_batch(1001, annotation_status="approved")
    page = as_admin.get(URL, {"status": "approved"})
    assert "1,000+" in page.text and "1,001 samples" in page.text


def test_an_edited_reply_is_what_the_list_shows(as_admin, ada):
    SampleFactory(content=make_content("Hello", "own words"), output="better words")
    page = as_admin.get(URL).text
    assert "better words" in page
    assert "own words" not in page


def test_what_the_list_shows_leads_to_an_export_of_it(as_reviewer, as_stranger, ada):
    for sample_type in ("memory_gate_negative", "memory_gate_positive"):
        SampleFactory(annotation_status="approved", sample_type=sample_type, agent_id="ada")
    page = as_reviewer.get(URL + "?agent=ada&type=memory_gate_negative")
    form = as_reviewer.get(page.context["export_href"].removesuffix("#new")).context["form"]
    names = ("sample_filter", "task", "sample_types")
    line = "agent:ada type:memory_gate_negative"
    assert [form[name].value() for name in names] == [line, "gate", ["memory_gate_negative"]]
    dataset_form = as_reviewer.get(page.context["dataset_href"].removesuffix("#new")).context["form"]
    assert [dataset_form[name].value() for name in names[:2]] == [line, "gate"]
    chosen = FORM_FIELDS | {name: form[name].value() for name in names}
    fits = as_reviewer.post("/exports/count/", chosen).context["fits"]
    assert not fits["problem"] and fits["result"].samples == 1
    assert "Export these" in as_reviewer.get(URL).text and "Export these" not in as_stranger.get(URL).text
    part = as_reviewer.get(URL + "?filter=agent:ada", headers={"HX-Request": "true"}).text
    assert "sample_filter=agent%3Aada#new" in part  # the filter that was typed last


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("agent=ada&ending=complete", "/review/?agent=ada&ending=complete"),
        ("status=needs_review&agent=ada", "/review/needs_review/?agent=ada"),
        ("status=approved", ""),
    ],
)
def test_what_the_list_shows_leads_to_its_queue(as_reviewer, ada, query, address):
    SampleFactory(agent_id="ada", annotation_status="needs_review")
    page = as_reviewer.get(f"{URL}?{query}")
    assert page.context["review_href"] == address and not page.context["unqueued"]
    assert not address or as_reviewer.get(address).status_code == 200
    sentence = "The queue has no filter for: Edited only, From day (UTC)"
    SampleFactory(agent_id="ada", output="Better.")
    assert sentence in as_reviewer.get(f"{URL}?agent=ada&edited=on&from=1970-01-01").text
