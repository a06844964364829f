"""Drafts: text that was typed and not sent.

A draft is kept for its author, shown to nobody else, and removed with its author's verdict.
"""

import re
from html import unescape

import orjson
import pytest

from datasets.models import DatasetSample, SampleDraft
from datasets.review import bulk, drafts, verdicts
from datasets.review.parts import PartVerdict
from tests.datasets.page_text import HTMX
from tests.datasets.test_sample_detail import content
from tests.factories import SampleFactory, UserFactory

pytestmark = pytest.mark.django_db
REPLY = "It failed on the last line."
GATE = {"output": {"decision": "UPDATE_USER", "reason": "A habit.", "candidateFact": "travels early"}}
PAGES = ["/review/?sample=one", "/samples/one/"]


@pytest.fixture(autouse=True)
def samples(ada):
    SampleFactory(id="one", created_at=1003, turn_number=1)
    SampleFactory(id="two", created_at=1002, turn_number=2)


def field(page, name):
    """The value of a field of the page's form."""
    if match := re.search(rf'<textarea name="{name}"[^>]*>\r?\n?(.*?)</textarea>', page.text, re.DOTALL):
        return unescape(match[1])
    return unescape(re.search(rf'name="{name}" value="([^"]*)"', page.text)[1])


def type_fields(client, page, **fields):
    """Type into the fields of an open page, as its script sends it."""
    place = {name: field(page, name) for name in ("draft_page", "draft_base")}
    boxes = {name: field(page, name) for name in ("output", "notes")}
    return client.post("/review/draft/", {"sample": "one", **place, **boxes, **fields}, headers=HTMX)


def judge(client, page, status="approved", **fields):
    boxes = {name: field(page, name) for name in ("output", "notes", "draft_page", "draft_base")}
    return client.post("/review/label/", {"sample": "one", "status": status, **boxes, **fields}, headers=HTMX)


@pytest.mark.parametrize("address", PAGES)
def test_what_was_typed_is_there_when_the_page_is_opened_again(as_reviewer, address):
    page = as_reviewer.get(address)
    assert page["Cache-Control"] == "private, no-store"  # for whoever presses Back
    assert 'data-state=""' in page.text
    answer = type_fields(as_reviewer, page, output="It failed on line 12.", notes="Look at it.")
    assert 'data-state="kept"' in answer.text
    for address in PAGES:
        again = as_reviewer.get(address)
        assert (field(again, "output"), field(again, "notes")) == ("It failed on line 12.", "Look at it.")
        assert 'data-state="kept"' in again.text
        assert DatasetSample.objects.get(id="one").output is None


def test_the_answer_shows_the_reply_and_what_was_changed(as_reviewer):
    answer = type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="It failed on the **first** line.")
    assert "<strong>first</strong>" in answer.text
    assert "<del>last</del><ins>**first**</ins>" in answer.text
    assert "<textarea" not in answer.text


def test_nobody_else_sees_it(as_reviewer):
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="mine", notes="also mine")
    as_reviewer.post("/sign-out/")
    other = UserFactory(username="bea", role="admin")
    as_reviewer.force_login(other, backend="django.contrib.auth.backends.ModelBackend")
    for address in (*PAGES, "/review/", "/api/v1/samples/one"):
        page = as_reviewer.get(address)
        assert "mine" not in page.text
        assert "Draft saved" not in page.text or 'data-state=""' in page.text
    assert SampleDraft.objects.get().username == "reviewer"


def test_it_is_gone_with_its_verdict(as_reviewer):
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="better")
    judge(as_reviewer, as_reviewer.get(PAGES[0]))
    assert not SampleDraft.objects.exists()
    assert DatasetSample.objects.get(id="one").output == "better"
    assert 'data-state=""' in as_reviewer.get(PAGES[1]).text


def test_a_verdict_on_the_samples_own_page_ends_it_too(as_reviewer):
    page = as_reviewer.get(PAGES[1])
    type_fields(as_reviewer, page, notes="typed")
    place = {name: field(page, name) for name in ("draft_page", "draft_base")}
    as_reviewer.post("/samples/one/label/", {"status": "approved", "notes": "typed", **place})
    assert not SampleDraft.objects.exists()


def test_a_refused_verdict_keeps_it(as_reviewer):
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="better")
    page = as_reviewer.get(PAGES[0])
    DatasetSample.objects.filter(id="one").update(annotation_status="approved", annotated_by="bea")  # meanwhile
    answer = judge(as_reviewer, page, expected_status="pending")
    assert answer.status_code == 422
    assert field(answer, "output") == "better"
    assert SampleDraft.objects.count() == 1


def test_skipping_keeps_it_and_the_page_names_it(as_reviewer):
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="better")
    page = as_reviewer.post("/review/skip/", {"sample": "one"}, follow=True)
    assert "1 draft" in page.text
    assert 'href="/review/?sample=one"' in page.text


def test_undo_gives_back_what_was_judged(as_reviewer):
    page = as_reviewer.get(PAGES[0])
    judge(as_reviewer, page, output="better", notes="a note")
    page = as_reviewer.post("/review/undo/", headers=HTMX)
    assert (field(page, "output"), field(page, "notes")) == ("better", "a note")
    assert 'data-state="kept"' in page.text
    assert DatasetSample.objects.get(id="one").output is None
    judge(as_reviewer, page)
    assert (DatasetSample.objects.get(id="one").output, SampleDraft.objects.count()) == ("better", 0)


def test_undo_of_a_verdict_without_words_makes_no_draft(as_reviewer):
    judge(as_reviewer, as_reviewer.get(PAGES[0]))
    as_reviewer.post("/review/undo/", headers=HTMX)
    assert not SampleDraft.objects.exists()


def test_what_was_said_of_a_part_is_typed_too(as_reviewer):
    DatasetSample.objects.filter(id="one").update(content=content(memoryGate=GATE))
    fields = {"gate_label": "corrected", "gate_decision": "NO_WRITE", "gate_fact": "", "gate_reason": "Said once."}
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), **fields)
    page = as_reviewer.get(PAGES[0])
    assert 'value="corrected" checked' in page.text
    assert field(page, "gate_reason") == "Said once."
    verdicts.label_sample(
        "one", "approved", by="reviewer",
        gate=PartVerdict("corrected", {"decision": "NO_WRITE", "candidateFact": "", "reason": "Undone."}),
    )  # fmt: skip
    page = as_reviewer.post("/review/undo/", headers=HTMX)
    assert 'value="corrected" checked' in page.text
    assert field(page, "gate_reason") == "Undone."


def test_text_that_is_as_it_was_is_no_draft(as_reviewer):
    page = as_reviewer.get(PAGES[0])
    type_fields(as_reviewer, page, output="better")
    assert 'data-state=""' in type_fields(as_reviewer, page, output=REPLY).text
    assert not SampleDraft.objects.exists()


def test_two_tabs_do_not_write_over_each_other(as_reviewer):
    first, second = as_reviewer.get(PAGES[0]), as_reviewer.get(PAGES[0])
    type_fields(as_reviewer, first, output="typed in the first tab")
    type_fields(as_reviewer, second, output="typed in the second tab")
    again = as_reviewer.get(PAGES[0])
    assert field(again, "output") == "typed in the second tab"
    assert "typed in the first tab" in again.text  # under Your drafts in other tabs
    judge(as_reviewer, second, output="typed in the second tab")
    assert field(as_reviewer.get(PAGES[0]), "output") == "typed in the first tab"


def test_a_page_that_goes_on_with_a_draft_takes_its_place(as_reviewer):
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="begun")
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="begun and ended")
    assert [orjson.loads(row.fields_json) for row in SampleDraft.objects.all()] == [{"output": "begun and ended"}]


def test_but_not_of_one_that_another_tab_went_on_with(as_reviewer, later):
    first = as_reviewer.get(PAGES[0])
    type_fields(as_reviewer, first, output="begun")
    second = as_reviewer.get(PAGES[0])
    later(seconds=5)
    type_fields(as_reviewer, first, output="begun, and more in the first")
    type_fields(as_reviewer, second, output="begun, and more in the second")
    assert SampleDraft.objects.count() == 2


def test_nobody_has_twenty_tabs(as_reviewer):
    page = as_reviewer.get(PAGES[0])
    for number in range(drafts.MOST_PAGES):
        assert type_fields(as_reviewer, page, draft_page=f"p{number}", output=f"text {number}").status_code == 200
    answer = type_fields(as_reviewer, page, draft_page="another", output="more")
    assert answer.status_code == 409
    assert SampleDraft.objects.count() == drafts.MOST_PAGES


@pytest.mark.parametrize("address", PAGES)
def test_a_draft_can_be_discarded(as_reviewer, address):
    type_fields(as_reviewer, as_reviewer.get(address), output="better")
    assert re.search(r'form="discard"[^>]*>Discard draft', as_reviewer.get(address).text)
    page = as_reviewer.post("/review/discard/", {"sample": "one", "next": address}, follow=True)
    assert field(page, "output") == REPLY
    assert not SampleDraft.objects.exists()


def test_the_drafts_of_others_stay(as_reviewer):
    sample = DatasetSample.objects.get(id="one")
    drafts.save(sample, {"notes": "bea's"}, {}, by="bea", page="p")
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="better")
    judge(as_reviewer, as_reviewer.get(PAGES[0]))
    as_reviewer.post("/review/discard/", {"sample": "one"})
    assert SampleDraft.objects.get().username == "bea"


def test_a_verdict_on_many_does_not_end_what_was_typed(as_reviewer):
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="better")
    bulk.label_all(bulk.Scope(DatasetSample.objects.all()), "approved", by="reviewer", expected_count=2)
    assert field(as_reviewer.get(PAGES[0]), "output") == "better"


@pytest.mark.parametrize("body", [{}, {"draft_page": "x" * 50}, {"draft_page": "p", "output": "x" * 1_000_001}])
def test_what_no_page_sends_is_refused(as_reviewer, body):
    assert as_reviewer.post("/review/draft/", {"sample": "one", **body}).status_code == 409
    assert as_reviewer.post("/review/draft/", {"sample": "none", **body}).status_code == 404
    assert not SampleDraft.objects.exists()


def test_what_is_typed_does_nothing(as_reviewer):
    evil = "</textarea><script>alert(1)</script>\u202e"
    answer = type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output=evil, notes=evil)
    assert "<script>alert" not in answer.text + as_reviewer.get(PAGES[0]).text
    assert field(as_reviewer.get(PAGES[0]), "output") == evil


def test_line_endings_of_a_form_are_no_edit(as_reviewer):
    DatasetSample.objects.filter(id="one").update(content=content(agentReply="one\r\ntwo\n"))
    type_fields(as_reviewer, as_reviewer.get(PAGES[0]), output="one\r\ntwo\r\n")
    assert not SampleDraft.objects.exists()


def test_the_number_of_queries_does_not_grow(as_reviewer, django_assert_max_num_queries):
    for count in (1, 15):
        for number in range(count):
            sample = SampleFactory(turn_number=number)
            drafts.save(sample, {"notes": "n"}, {}, by="reviewer", page="p")
            drafts.save(sample, {"notes": "m"}, {}, by="reviewer", page="q")
        page = as_reviewer.get(PAGES[0])
        # session, user, the sample; begin, what it began with (3), how many others, update or create (4), commit;
        # values that people added
        with django_assert_max_num_queries(15):
            type_fields(as_reviewer, page, output=f"better {count}")
