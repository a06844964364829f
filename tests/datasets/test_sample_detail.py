"""One sample."""

import re

import orjson
import pytest

from datasets.review import verdicts
from datasets.review.forms import DEFAULTS
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
CONTEXT = [
    {"role": "user", "message": "the very first thing"},
    {"role": "agent", "message": "a first answer"},
    {"role": "user", "message": "and then?"},
]


def content(**changes):
    body = {
        "type": "annotated_turn",
        "conversationId": "s1",
        "turnNumber": 7,
        "context": CONTEXT,
        "userMessage": "Which train?",
        "agentReply": "The one at nine.",
    }
    return orjson.dumps({**body, **changes}).decode()


@pytest.fixture
def sample(ada):
    return SampleFactory(id="one", session_id="s1", turn_number=7, content=content())


def test_it_works(as_admin, sample):
    page = as_admin.get("/samples/one/")
    assert page.status_code == 200
    for words in ("Which train?", "The one at nine.", "the very first thing", "and then?", "No verdicts yet."):
        assert words in page.text
    assert "/agents/ada/sessions/s1/?turn=7" in page.text


def test_viewers_have_nothing_to_fill_in(as_stranger, sample):
    page = as_stranger.get("/samples/one/").text
    assert "The one at nine." in page and 'name="status"' not in page and "<textarea" not in page


def test_a_sample_that_is_not_there_is_not_found(as_admin, ada):
    assert as_admin.get("/samples/none/").status_code == 404


def test_the_way_to_the_samples_beside_it_keeps_the_filter(as_admin, ada):
    for number, status in enumerate(["pending", "approved", "pending", "pending"]):
        SampleFactory(id=f"n{number}", created_at=1000 + number, annotation_status=status)
    page = as_admin.get("/samples/n2/?status=pending").text
    assert 'rel="prev" href="/samples/n3/?status=pending" data-key="k ArrowLeft"' in page
    assert 'rel="next" href="/samples/n0/?status=pending" data-key="j ArrowRight"' in page
    assert 'rel="prev"' not in as_admin.get("/samples/n3/?status=pending").text
    assert 'rel="next"' not in as_admin.get("/samples/n0/?status=pending").text


def test_samples_of_the_same_moment_are_walked_through_one_by_one(as_admin, ada):
    for name in "abc":
        SampleFactory(id=name, created_at=1000)
    assert as_admin.get("/samples/b/").context["before"] == "c"
    assert as_admin.get("/samples/b/").context["after"] == "a"


def test_the_history_names_everybody(as_admin, sample):
    verdicts.label_sample("one", "needs_review", by="reviewer", notes="Is nine right?")
    verdicts.label_sample("one", "approved", by="root", output="The one at ten.")
    page = as_admin.get("/samples/one/").text
    for words in ("reviewer", "Is nine right?", "root", "with an edited reply", "The one at ten.", "The one at nine."):
        assert words in page


@pytest.mark.parametrize("address", ["/samples/evil/", "/review/?sample=evil"])
def test_what_people_and_agents_wrote_does_nothing(as_admin, ada, address):
    evil = "</textarea><script>alert(1)</script>\u202e"
    gate = {"output": {"decision": evil, "reason": evil, "candidateFact": evil}}
    context = [{"role": "user", "message": evil}, {"role": "agent", "message": evil}, "no message", {"role": "agent"}]
    SampleFactory(id="evil", content=content(userMessage=evil, agentReply=evil, context=context, memoryGate=gate))
    verdicts.label_sample("evil", "rejected", by="<b>root</b>", notes=evil)
    page = as_admin.get(address).text
    assert "<script>alert" not in page and "<b>root" not in page
    assert page.count("</textarea>") == 2


def test_characters_that_hide_are_pointed_out(as_admin, ada):
    SampleFactory(id="hides", content=content(agentReply="all fine\u202e enif lla"))
    page = as_admin.get("/samples/hides/").text
    assert "The reply contains characters that the text field does not show" in page
    assert "U+202E" in page


def test_a_very_long_message_is_cut_and_says_so(as_admin, ada):
    SampleFactory(id="long", content=content(userMessage="u" * 30_000, agentReply="r" * 150_000))
    page = as_admin.get("/samples/long/").text
    assert "Showing 20,000 of 30,000 characters" in page
    assert "Showing 20,000 of 150,000 characters" in page
    assert len(page) < 100_000
    assert 'name="output"' not in page


def test_a_filter_that_does_not_exist_is_refused(as_admin, sample):
    assert as_admin.get("/samples/one/?status=fine").status_code == 409


def test_the_bar_is_the_one_of_review_without_what_only_a_queue_can_do(as_reviewer, ada):
    for number in range(3):
        SampleFactory(id=f"n{number}", created_at=number)
    as_reviewer.post("/review/keys/save/", DEFAULTS | {"approve": "x"})
    bars = [_bar_of(as_reviewer.get(address).text) for address in ("/samples/n1/", "/review/?sample=n1")]
    assert bars[0] == ["Approve x", "Reject r", "Needs review n", "k Previous", "Next j"]
    assert [button for button in bars[1] if button != "Skip s"] == bars[0]


def _bar_of(page):
    bar = page.partition('<div class="verdicts">')[2].partition("</div>")[0]
    buttons = re.findall(r"<(?:button|a) .*?</(?:button|a)>", bar, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", button).split()) for button in buttons]
