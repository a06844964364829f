"""The place on a decision's page where people say that it is right or wrong."""

import re
from html import unescape

import pytest
from django.urls import reverse

from datasets.kinds import judging
from datasets.kinds.decision import DECISION
from datasets.models import DatasetSample, SampleLabel
from tests.datasets.conversations import tell_turns
from tests.datasets.from_decisions.gates import FACT, decide

pytestmark = pytest.mark.django_db
URL = "/agents/ada/verdicts/d1/"
GIVE = "/agents/ada/judge/d1/"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def decision(ada):
    tell_turns(3)
    return decide()


def give(client, verdict="right", headers=HTMX, expected="", url=GIVE, **fields):
    return client.post(url, {"verdict": verdict, "expected": expected, **fields}, headers=headers)


def said(page):
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.text)).split())


def expected(page):
    return re.search(r'name="expected" value="([^"]*)"', page.text)[1]


def test_it_works(as_reviewer):
    page = as_reviewer.get(URL)
    assert page.status_code == 200
    assert 'href="/agents/ada/gate/d1/">View decision</a>' in page.text
    assert 'aria-current="true">Memory</a>' in page.text
    assert "Nobody has judged this decision." in said(page)
    assert FACT in said(page)
    assert 'href="/agents/ada/gate/d1/"' in page.text
    part = as_reviewer.get(URL, headers=HTMX)
    assert part.text.strip().startswith('<section id="decision-verdict"')
    for key, verdict in (("r", "right"), ("w", "wrong")):
        assert re.search(rf'name="verdict" value="{verdict}" data-key="{key}"', part.text)


def test_right_is_said_and_undone_where_the_buttons_are(as_reviewer):
    answer = give(as_reviewer)
    sample = DatasetSample.objects.get()
    assert "Saved: right. Right Approved reviewer" in said(answer)
    assert f'href="/samples/{sample.id}/"' in answer.text
    assert expected(answer) == sample.label_id
    answer = give(as_reviewer, "undo", expected=sample.label_id)
    assert "Undone: “Approved” on “" in said(answer)
    assert "Nobody has judged this decision." in said(answer)
    assert "Sample:" not in said(answer)  # as before the verdict
    assert "Undone" in as_reviewer.get("/samples/").text
    assert "Sample: Pending" in said(give(as_reviewer, "none"))
    answer = give(as_reviewer, "undo", expected=sample.label_id)
    assert answer.status_code == 422
    assert "undone already" in said(answer)


def test_only_ones_own_verdict_can_be_undone(as_reviewer, ada):
    label = judging.say(DECISION, ada, "d1", "right", by="somebody").label_id
    page = as_reviewer.get(URL)
    assert 'value="undo"' not in page.text
    assert give(as_reviewer, "undo", expected=label).status_code == 422
    assert DatasetSample.objects.get().gate_label == "correct"


def test_wrong_with_what_would_be_right(as_reviewer):
    answer = give(as_reviewer, "wrong")
    assert "Nobody has said what would have been right" in said(answer)
    right = {"correct_decision": "UPDATE_SOUL", "correct_fact": "is an early bird", "correct_reason": "It lasts."}
    answer = give(as_reviewer, "wrong", expected=expected(answer), **right)
    assert "Saved: wrong. Wrong Approved reviewer" in said(answer)
    assert "What would have been right Decision UPDATE_SOUL Fact is an early bird Reason It lasts." in said(answer)
    assert 'value="is an early bird"' in answer.text
    answer = give(as_reviewer, "right", expected=expected(answer), **right)  # the fields begin with what was said
    assert "Saved: right." in said(answer)
    assert SampleLabel.objects.count() == 3


def test_what_is_refused_keeps_what_was_typed(as_reviewer):
    answer = give(as_reviewer, "wrong", correct_fact="is an early bird")
    assert answer.status_code == 422
    assert "Choose the decision that memory_gate should have made." in said(answer)
    assert 'value="is an early bird"' in answer.text
    assert give(as_reviewer, "maybe").status_code == 422
    assert not DatasetSample.objects.exists()


def test_what_somebody_else_said_meanwhile_is_shown(as_reviewer, ada):
    judging.say(DECISION, ada, "d1", "wrong", by="somebody")
    answer = give(as_reviewer)
    assert answer.status_code == 422
    assert "somebody chose Needs review" in said(answer)
    assert "Wrong Needs review somebody" in said(answer)


def test_a_sample_without_a_verdict(as_reviewer):
    answer = give(as_reviewer, "none")
    assert "Sample created. Nobody has judged this decision. Sample: Pending" in said(answer)
    assert 'value="none"' not in answer.text
    assert DatasetSample.objects.get().sample_type == "annotated_turn"
    give(as_reviewer)
    assert DatasetSample.objects.count() == 2


def test_a_decision_without_turn_and_window_has_a_sentence_and_no_buttons(as_reviewer, ada):
    decide("d2", turn=None)
    page = as_reviewer.get("/agents/ada/verdicts/d2/")
    assert "What the gate saw is not stored for this decision" in said(page)
    assert 'name="verdict"' not in page.text
    assert give(as_reviewer, url="/agents/ada/judge/d2/").status_code == 422


def test_without_scripts_it_is_a_page(as_reviewer):
    answer = as_reviewer.post(GIVE, {"verdict": "right"}, follow=True)
    assert answer.redirect_chain == [(URL, 302)]
    assert "Saved: right." in said(answer)
    answer = as_reviewer.post(GIVE, {"verdict": "none", "next": "/samples/"})
    assert answer["Location"] == "/samples/"
    assert as_reviewer.post(GIVE, {"verdict": "wrong", "correct_fact": "x"}).status_code == 422


def test_who_may_not(as_stranger, ada):
    judging.say(DECISION, ada, "d1", "right", by="ann")
    page = as_stranger.get(URL)
    assert "Right Approved ann" in said(page)
    assert 'name="verdict"' not in page.text
    assert give(as_stranger).status_code == 403


def test_only_decisions_of_the_agent(as_reviewer, bob):
    assert as_reviewer.get("/agents/bob/verdicts/d1/").status_code == 404
    assert give(as_reviewer, url="/agents/nobody/judge/d1/").status_code == 404


def test_ids_and_words_of_any_kind(as_reviewer, ada):
    evil = "<b>\"&amp;'</b>"
    name = f"a/b {evil}?#%2F."
    decide(name, reason=evil, candidate_fact=evil)
    page = as_reviewer.get(reverse("datasets:decision_verdict", args=["ada", name]))
    assert page.status_code == 200
    assert "<b>" not in page.text
    answer = give(as_reviewer, url=reverse("datasets:decision_judge", args=["ada", name]))
    assert "Saved: right." in said(answer)
