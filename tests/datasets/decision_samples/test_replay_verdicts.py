"""A replay compared with people's verdicts.

Precision and recall, replays of approved samples, and disagreements for the review queue.
"""

import re
from html import unescape

import pytest

from datasets.kinds.decision import Correction
from datasets.models import DatasetSample
from tests.datasets.conversations import store_turns
from tests.datasets.decision_samples.test_gate_exports import judge_decision
from tests.datasets.kinds.gates import FACT, store_decision
from tests.factories import T0
from tests.gate.replays.replay_rows import rows, run_replay
from tests.gate.runner.conftest import endpoint, gate_on  # noqa: F401 - the same endpoint
from tests.gate.runner.judged_turns import answer
from tests.llm_endpoint import says

pytestmark = pytest.mark.django_db
WRITE, NOTHING = answer("UPDATE_USER"), answer("NO_WRITE", fact=None)


def text_of(answer):
    return " ".join(answer.content.decode().split())


@pytest.fixture
def replayed(ada, endpoint):  # noqa: F811
    """A replay of six decisions, NO_WRITE and UPDATE_USER in turn.

    The replay writes each time, but not for the newest decision.
    """
    store_turns(6)
    for number in range(6):
        fact = FACT if number % 2 else None
        named = {"decision": "UPDATE_USER" if fact else "NO_WRITE", "candidate_fact": fact}
        store_decision(f"d{number}", turn=f"s1:u{number + 1}", created_at=T0 + number, **named)
    endpoint.then(says(NOTHING), says(WRITE))  # d5, then the others
    return run_replay(ada)[0]


def page_of(played):
    return f"/agents/ada/replays/{played.id}/verdicts/"


def test_it_says_how_good_both_gates_are(ada, replayed, as_stranger):
    judge_decision(ada, "d0", "wrong", Correction("UPDATE_USER", "Likes tea.", "They said so."))
    judge_decision(ada, "d1")
    judge_decision(ada, "d2")
    judge_decision(ada, "d5")
    judge_decision(ada, "d4", "wrong")  # without a correction
    page = text_of(as_stranger.get(page_of(replayed)))
    assert "People judged 4 of these decisions. The originals were right in 75%, the replay in 50%." in page
    assert "1 decision was judged wrong without saying what is right" in page
    row = page.split('badge--UPDATE_USER">')[1]
    assert [row.split(f'{label}">')[1].split("<")[0] for label in (
        "Right, as judged", "Precision, original", "Precision, replay", "Recall, original", "Recall, replay"
    )] == ["3", "100%", "67%", "67%", "67%"]  # fmt: skip
    assert "Send" not in page


def pairs_of(page):
    """The decisions on the page of a replay."""
    return re.findall(r'href="/agents/ada/gate/(d\d)/"', page.split('id="pairs"')[1])


def test_each_number_of_the_matrix_leads_to_its_decisions(ada, replayed, as_stranger):
    page = text_of(as_stranger.get(replayed.get_absolute_url()))
    cells = re.findall(r'<a href="([^"]*)#pairs" aria-label="(\w+) became (\w+): (\d+)"', page)
    assert {(original, decision): int(count) for _href, original, decision, count in cells} == {
        ("NO_WRITE", "UPDATE_USER"): 3, ("UPDATE_USER", "UPDATE_USER"): 2, ("UPDATE_USER", "NO_WRITE"): 1,
    }  # fmt: skip
    for href, _original, _decision, count in cells:
        assert len(pairs_of(text_of(as_stranger.get(unescape(href))))) == int(count)
    assert as_stranger.get(f"{replayed.get_absolute_url()}?original=x").status_code == 409


def test_what_was_right_and_is_different_comes_first(ada, replayed, as_stranger):
    address = replayed.get_absolute_url()
    assert pairs_of(text_of(as_stranger.get(address))) == ["d5", "d4", "d2", "d0"]
    judge_decision(ada, "d2")
    judge_decision(ada, "d4", "wrong")
    judge_decision(ada, "d1")
    page = text_of(as_stranger.get(address))
    assert pairs_of(page) == ["d2"]
    assert "<dt>Different, was right</dt>" in page
    numbers = re.findall(r'show=(\w+)#pairs"[^>]*>[^<]*<span class="muted">(\d+)<', page)
    assert dict(numbers) == {"regressions": "1", "fixed": "1", "different": "4", "same": "2"}
    for kind, count in numbers:
        assert len(pairs_of(text_of(as_stranger.get(f"{address}?show={kind}")))) == int(count)


def test_without_verdicts_it_says_so(ada, replayed, as_stranger):
    assert "Nobody has judged these decisions." in text_of(as_stranger.get(page_of(replayed)))


def test_it_is_a_fragment_of_the_page_of_a_replay(ada, replayed, as_stranger):
    page = text_of(as_stranger.get(replayed.get_absolute_url()))
    assert f'<a id="replay-verdicts" href="{page_of(replayed)}" hx-get="{page_of(replayed)}"' in page
    part = as_stranger.get(page_of(replayed), HTTP_HX_REQUEST="true").content.decode()
    assert part.strip().startswith("<section")


def test_one_click_queues_the_disagreements(ada, replayed, as_reviewer):
    assert "Send 4 decisions to review" in text_of(as_reviewer.get(page_of(replayed)))
    answer = as_reviewer.post(f"/agents/ada/replays/{replayed.id}/queue/", follow=True)
    assert answer.redirect_chain[0][0] == replayed.get_absolute_url()
    assert "4 samples added to the queue." in text_of(answer)
    samples = DatasetSample.objects.all()
    assert {sample.decision_id for sample in samples} == {"d0", "d2", "d4", "d5"}
    assert {sample.annotation_status for sample in samples} == {"needs_review"}
    page = text_of(as_reviewer.get(page_of(replayed)))
    assert "Send" not in page
    assert "4 decisions are different; 0 can be sent to review." in page
    assert "4 are samples already, or their turns are." in page
    as_reviewer.post(f"/agents/ada/replays/{replayed.id}/queue/")
    assert DatasetSample.objects.count() == 4


def test_only_decisions_in_approved_samples(ada, replayed, endpoint, as_operator):  # noqa: F811
    judge_decision(ada, "d1")
    judge_decision(ada, "d2", "wrong")  # needs review
    rows().delete()
    approved_replay, _job = run_replay(ada, is_approved=True)
    assert [row.decision_id for row in rows()] == ["d1"]
    page = text_of(as_operator.get(approved_replay.get_absolute_url()))
    assert "Only decisions in approved samples" in page


def test_a_replay_that_there_is_not(ada, as_reviewer):
    assert as_reviewer.get("/agents/ada/replays/nothing/verdicts/").status_code == 404
    assert as_reviewer.post("/agents/ada/replays/nothing/queue/").status_code == 404
