"""What people said of the decisions of a list, all in one answer."""

import re

import pytest

from datasets.kinds import judging
from datasets.kinds.decision import DECISION
from datasets.models import DatasetSample
from datasets.review import parts, verdicts
from datasets.services import make_samples
from openclaw_web import clock
from openclaw_web.pages.formatting import anchor
from tests.datasets.conversations import tell_turns
from tests.datasets.from_decisions.gates import decide

pytestmark = pytest.mark.django_db
URL = "/agents/ada/verdicts/"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def decisions(ada):
    tell_turns(4)
    for number in range(1, 5):
        decide(f"d{number}", turn=f"s1:u{number}")
    decide("unmatched", turn=None)


def places(page):
    """The words of each place, by its id."""
    parts_ = re.split(r'<span id="(verdict-of-\w+)"', page.text.partition('<div class="notice last-verdict')[0])
    return {name: re.sub("<[^>]+>", " ", f"<{text}") for name, text in zip(parts_[1::2], parts_[2::2], strict=True)}


def ask(client, *names):
    return client.get(URL, {"ids": names})


def test_it_works(as_reviewer, ada):
    sample = judging.say(DECISION, ada, "d1", "right", by="ann")
    judging.say(DECISION, ada, "d2", "wrong", by="ann")
    page = ask(as_reviewer, "d1", "d2", "d3", "unmatched", "elsewhere")
    found = {name: places(page)[f"verdict-of-{anchor(name)}"].split() for name in ("d1", "d2", "d3", "unmatched")}
    assert found == {
        "d1": ["Right", "Actions", "Wrong"],
        "d2": ["Wrong", "Actions", "Right"],
        "d3": ["Actions", "Right", "Wrong"],
        "unmatched": [],
    }
    assert len(places(page)) == 4
    assert f'href="/samples/{sample.id}/" title="ann"' in page.text
    assert page.text.count('hx-swap-oob="true"') == 4
    assert page.text.count('data-row-key="r"') == page.text.count('data-row-key="w"') == 2


def test_viewers_get_no_buttons(as_stranger, ada):
    judging.say(DECISION, ada, "d1", "right", by="ann")
    page = ask(as_stranger, "d1", "d2")
    assert "<button" not in page.text
    assert places(page)[f"verdict-of-{anchor('d1')}"].split() == ["Right"]


def test_what_was_said_on_the_sample_of_the_turn_counts_where_the_decision_has_none(as_reviewer, ada):
    (sample_id,) = make_samples(ada, "s1", [3], by="ann").made
    verdicts.label_sample(sample_id, "approved", by="bea", gate=parts.PartVerdict("incorrect"))
    assert places(ask(as_reviewer, "d3"))[f"verdict-of-{anchor('d3')}"].split() == ["Wrong", "Actions", "Right"]
    judging.say(DECISION, ada, "d3", "right", by="ann")
    assert places(ask(as_reviewer, "d3"))[f"verdict-of-{anchor('d3')}"].split() == ["Right", "Actions", "Wrong"]


def test_a_row_is_judged_where_it_is(as_reviewer):
    answer = as_reviewer.post(
        "/agents/ada/judge/d1/", {"verdict": "wrong", "expected": "", "place": "row"}, headers=HTMX
    )
    assert places(answer)[f"verdict-of-{anchor('d1')}"].split() == ["Wrong", "Actions", "Right"]
    assert DatasetSample.objects.get().gate_label == "incorrect"
    answer = as_reviewer.post(
        "/agents/ada/judge/d1/", {"verdict": "right", "expected": "old", "place": "row"}, headers=HTMX
    )
    assert answer.status_code == 422
    assert "reviewer chose Needs review" in answer.text


def test_a_list_of_any_length_costs_the_same(as_reviewer, ada, django_assert_max_num_queries):
    for number in range(1, 5):
        judging.say(DECISION, ada, f"d{number}", "right", by="ann")
    for names in (["d1"], ["d1", "d2", "d3", "d4"]):
        with django_assert_max_num_queries(5):  # session, user, agent, samples, last action; one in the agent's file
            ask(as_reviewer, *names)
    assert not places(ask(as_reviewer, *(f"x{number}" for number in range(100)), "d1"))  # nobody looks at more
    assert not places(ask(as_reviewer))


def notice(page):
    """The words of the notice about the last verdict, and what its form sends."""
    part = page.text.partition('<div class="notice last-verdict')[2]
    sent = re.search(r'hx-post="([^"]+)".*name="expected" value="([^"]+)"', part, re.DOTALL)
    words = " ".join(re.sub("<[^>]+>", " ", part and f"<{part}").split())
    return words, sent and (sent[1], {"verdict": "undo", "place": "row", "expected": sent[2]})


def test_the_last_verdict_is_undone_from_the_list_until_none_is_left(as_reviewer, ada):
    def judge(said):
        label = DatasetSample.objects.filter(decision_id="d1").values_list("label_id", flat=True).first() or ""
        sent = {"verdict": said, "place": "row", "expected": label}
        return notice(as_reviewer.post("/agents/ada/judge/d1/", sent, headers=HTMX))

    def state():
        sample = DatasetSample.objects.get(decision_id="d1")
        return [getattr(sample, name) for name in (*verdicts.CHANGED, "sample_type", "content")]

    assert judge("right")[0] == "Your last verdict: Right · prefers mornings Undo u"
    right = state()
    assert judge("wrong")[0].startswith("Your last verdict: Wrong")
    # Also of another page of the list, which does not show the row.
    words, (address, sent) = notice(ask(as_reviewer, "d2"))
    assert words.startswith("Your last verdict: Wrong")
    words, undo = notice(as_reviewer.post(address, sent, headers=HTMX))
    assert words.startswith("Undone: “Needs review”") and "Your last verdict: Right" in words
    assert state() == right
    words, undo = notice(as_reviewer.post(undo[0], undo[1], headers=HTMX))
    assert words.startswith("Undone: “Approved”") and undo is None
    assert DatasetSample.objects.get(decision_id="d1").gate_label is None


def test_only_recent_verdicts_of_ones_own_on_these_are_offered(as_reviewer, as_stranger, ada, monkeypatch):
    judging.say(DECISION, ada, "d1", "right", by="ann")
    assert notice(ask(as_reviewer, "d1")) == ("", None)
    judging.say(DECISION, ada, "d1", "wrong", by="reviewer")
    assert notice(ask(as_reviewer, "d1"))[1] and notice(ask(as_stranger, "d1"))[1] is None
    assert as_reviewer.get("/agents/ada/write-verdicts/", {"ids": []}).text.count("<button") == 0
    now = clock.now_ms()
    monkeypatch.setattr(clock, "now_ms", lambda: now + 16 * 60_000)
    assert notice(ask(as_reviewer, "d1")) == ("", None)
