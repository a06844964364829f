"""`reflection gate test`: verdicts on decisions as a set with versions, and what another model breaks of it."""

import re
from functools import partial

import orjson
import pytest

from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from gate.models import GateReplay, MemoryGateDecision, RegressionSet
from people.configuration import setting_values
from people.models.bookkeeping import AuditEntry
from tests.gate.runner.judged_turns import DB, answer
from tests.ledger.transcript_records import store_group_chat
from tests.llm_endpoint import says
from tests.suite import commands

from .replay_rows import LIST, NAMES, create_decisions, lose_window, replays, store_decision, text_of

pytestmark = pytest.mark.django_db
run_verb = partial(commands.reflection, "gate", "test", "--model", "other")


def judge(agent, name, right=""):
    """Judge a decision right, or wrong with the right decision."""
    correction = Correction(right, "" if right == "NO_WRITE" else "A fact.", "So.") if right else None
    verdict_service.give_verdict(DECISION, agent, name, "wrong" if right else "right", by="ann", correction=correction)


def answers(**planted):
    """Return the behaviour of a model that decides as the first gate did, but for planted decisions."""

    def decide(request):
        number = int(re.search(r"Question (\d+)", orjson.loads(request.words)["currentUserMessage"])[1])
        decision = planted.get(f"d{number}", NAMES[number % len(NAMES)])
        return answer(decision, fact=None if decision == "NO_WRITE" else "A fact.")

    return says(decide)


@pytest.fixture
def judged(ada):
    """Forty decisions that people judged right."""
    create_decisions(40)
    for number in range(40):
        judge(ada, f"d{number}")
    return ada


def test_exactly_the_planted_decisions_break(judged, endpoint, as_stranger):
    endpoint.then(answers(d3="NO_WRITE", d10="UPDATE_SOUL", d31="NO_WRITE"))
    status, out, _error = run_verb("--yes")
    assert status == 1
    assert out.splitlines() == [
        "Broken: 3", "  d31", "  d3", "  d10", "Fixed: 0", "Left out: 0",
        "Cases: 40. Difference in percentage points: -7.5 (95% interval -19.9 to +2.5)",
        "40 decisions replayed. 3 are different.",
    ]  # fmt: skip
    row = replays().get()
    assert (row.chosen["set"], row.chosen["version"]) == ("gate-1", 1)
    detail = as_stranger.get(f"/api/v1/agents/ada/gate/replays/{row.id}").json()["comparison"]
    assert detail["broken"] == ["d31", "d3", "d10"]
    assert (detail["original"]["right"], detail["new"]["right"], detail["difference"]) == (40, 37, -0.075)
    assert [round(end, 4) for end in detail["interval"]] == [-0.1986, 0.0255]
    page = text_of(as_stranger.get(f"{LIST}{row.id}/"))
    assert "<dt>Broken</dt> <dd> <a" in page
    assert page.index("Broken") < page.index("Agreement")
    assert set(re.findall(r"/agents/ada/gate/(d\d+)/", page)) == {"d3", "d10", "d31"}
    assert "version 1" in page


def test_right_answers_are_those_of_the_set(judged, endpoint):
    judge(judged, "d4", "UPDATE_TOOLS")
    endpoint.then(answers(d4="UPDATE_TOOLS", d5="NO_WRITE"))
    status, out, _error = run_verb("--yes", "--json")
    receipt = orjson.loads(out)["comparison"]
    assert (status, receipt["broken"], receipt["fixed"]) == (1, ["d5"], ["d4"])
    judge(judged, "d4")  # today's verdict does not change what version 1 says
    compared = orjson.loads(run_verb("--yes", "--json", "--set", "1")[1])["comparison"]
    assert compared["fixed"] == ["d4"]
    assert orjson.loads(run_verb("--yes", "--json")[1])["comparison"]["broken"] == ["d5", "d4"]
    assert [row.chosen["version"] for row in replays()] == [1, 1, 2]


def test_an_answer_that_is_no_decision_breaks(judged, endpoint):
    endpoint.then(*[answers()] * 39, says("no decision"))
    status, out, _error = run_verb("--yes")
    assert (status, out.splitlines()[:2]) == (1, ["Broken: 1", "  d0"])


def test_a_set_gets_a_version_only_when_verdicts_differ(judged, endpoint, as_operator):
    endpoint.then(answers())
    assert run_verb("--yes")[0] == 0
    assert run_verb("--yes")[0] == 0
    assert RegressionSet.objects.using(DB).count() == 1
    assert RegressionSet.objects.using(DB).get().cases == {f"d{number}": NAMES[number % 2] for number in range(40)}
    as_operator.post("/agents/ada/writes/regressions/store/", {"part": "gate"})
    assert RegressionSet.objects.using(DB).count() == 1
    judge(judged, "d0", "UPDATE_USER")
    judge(judged, "d1", "NO_WRITE")
    as_operator.post("/agents/ada/writes/regressions/store/", {"part": "gate"})
    second = RegressionSet.objects.using(DB).get(id="gate-2")
    assert (second.cases["d0"], second.cases["d1"], second.created_by) == ("UPDATE_USER", "NO_WRITE", "otto")
    assert AuditEntry.objects.filter(action="regression_set_stored").count() == 2


def test_what_is_wrong_without_a_right_decision_is_no_case(judged, endpoint):
    verdict_service.give_verdict(
        DECISION, judged, "d0", "wrong", by="ann", correction=Correction("", reason="Not this.")
    )
    assert orjson.loads(run_verb("--dry-run", "--json")[1])["plan"]["decisions"] == 39


def test_decisions_without_a_window_are_named(judged, endpoint):
    lose_window(MemoryGateDecision.objects.using(DB).get(id="d7"))
    endpoint.then(answers())
    status, out, _error = run_verb("--yes")
    assert (status, out.splitlines()[2:4]) == (0, ["Left out: 1", "  d7"])


def test_words_of_somebody_who_opted_out_are_not_sent(ada, endpoint):
    for number, turn in enumerate(store_group_chat("mei", "tom", "mei")):
        store_decision(f"d{number}", turn, number=number)
        judge(ada, f"d{number}")
    setting_values.put("collector.optedOutSenders", ["tom"])
    endpoint.then(says(answer("NO_WRITE", fact=None)))
    status, out, _error = run_verb("--yes", "--json")
    assert (status, orjson.loads(out)["comparison"]["left_out"]) == (0, ["d2", "d1"])
    assert not any(b"Tom" in request.body for request in endpoint.requests)


def test_without_yes_nothing_is_sent_or_stored(judged, endpoint):
    status, out, _error = run_verb()
    assert (status, "Decisions" in out, endpoint.requests) == (3, True, [])
    assert not RegressionSet.objects.using(DB).exists()
    assert not GateReplay.objects.using(DB).exists()


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--set", "4", "--yes"), 3, "This agent has no version 4 of the regression set."),
        (("--prompt-file", "/nowhere"), 2, "cannot be read"),
    ],
)
def test_what_cannot_be_tested_is_refused(judged, endpoint, words, status, sentence):
    exit_status, _out, error = run_verb(*words)
    assert (exit_status, sentence in error) == (status, True)


def test_without_verdicts_there_is_nothing_to_test(ada, endpoint):
    create_decisions(2)
    assert run_verb("--yes")[::2] == (
        3, "There are no verdicts to test with. Judge decisions or writes first."
    )  # fmt: skip


@pytest.mark.parametrize("words", [("--yes",), ("--dry-run",), ()])
def test_without_an_endpoint_it_is_one_sentence_and_2(judged, words):
    status, out, error = run_verb(*words)
    assert (status, out) == (2, "")
    assert error == "No endpoint for language models is configured. Set OPENCLAW_WEB_LLM_URL to its address."


def test_a_page_starts_a_replay_of_a_version(judged, endpoint, as_operator):
    endpoint.then(answers(d3="NO_WRITE"))
    as_operator.post("/agents/ada/writes/regressions/store/", {"part": "gate"})
    form = as_operator.get(f"{LIST}new/?version=1")
    assert "The decisions of version 1 of the regression set" in text_of(form)
    values = {"new_model": "other", "new_prompt": "Decide.", "limit": "1", "version": "1"}
    assert "40 decisions" in text_of(as_operator.post(f"{LIST}new/plan/", values))
    as_operator.post(f"{LIST}new/start/", values)
    row = replays().get()
    assert (row.total, row.chosen["version"]) == (40, 1)
