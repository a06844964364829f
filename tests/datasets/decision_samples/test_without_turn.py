"""Decisions without a known turn are judged, reviewed and exported by the gate's window."""

import pytest

from datasets.exports.export_count import count_export
from datasets.exports.options import Options
from datasets.exports.source import PlainRows
from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION
from datasets.kinds.kind import VERDICTS
from datasets.kinds.review_requests import describe_problems, queue_decisions
from datasets.models import DatasetSample
from datasets.services import make_samples
from ledger.models import Session
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.datasets.decision_samples.test_gate_exports import judge_decision, turns  # noqa: F401 - a fixture
from tests.datasets.exports.export_helpers import build_export, excluded_counts, read_rows
from tests.datasets.kinds.gates import FACT, make_window, store_decision
from tests.datasets.page_text import read_text

pytestmark = pytest.mark.django_db
KEY = "channel:irc:alice"
WRAPPED = 'Sender (untrusted metadata):\n```json\n{"label": "alice"}\n```\n\nI get up early.'


@pytest.fixture
def decision(ada):
    """A decision on an envelope, a message of the agent and the reply; no session matches."""
    window = make_window(("agent", "Morning?"), ("user", WRAPPED), reply="Noted.")
    return store_decision("d1", turn=None, session_id=KEY, session_key=KEY, match="none", window=window)


def only():
    return DatasetSample.objects.get()


def test_it_is_judged_and_becomes_a_sample_without_a_turn(ada, decision):
    sample = judge_decision(ada, "d1")
    assert (sample.turn_id, sample.turn_number, sample.session_id) == (None, None, KEY)
    assert (sample.sample_type, sample.annotation_status, sample.prompted_by) == (
        "memory_gate_positive",
        "approved",
        "",
    )
    assert sample.turn_traits == "envelope"
    assert [message["message"] for message in sample.body["conversation"]] == ["Morning?", "I get up early.", "Noted."]
    assert judge_decision(ada, "d1", "wrong").id == sample.id
    assert only().sample_type == "memory_gate_negative"


def test_without_a_verdict_it_is_its_own_sample(ada, decision):
    sample = verdict_service.give_verdict(DECISION, ada, "d1", "none", by="ann")
    assert (sample.sample_type, sample.annotation_status, sample.gate_label) == (
        "memory_gate_positive",
        "pending",
        None,
    )
    assert verdict_service.give_verdict(DECISION, ada, "d1", "none", by="ann").id == sample.id


def test_people_are_asked_about_it(ada, decision):
    assert queue_decisions(ada, ["d1"], by="ann").sentence == "1 sample added to the queue."
    assert only().annotation_status == "needs_review"
    assert queue_decisions(ada, ["d1"], by="ann").existing == [only().id]
    DatasetSample.objects.update(annotation_status="rejected")
    assert (
        queue_decisions(ada, ["d1"], by="ann").skipped[0]["reason"] == "The sample of this decision has been reviewed."
    )


def test_what_nobody_typed_is_not_a_persons_word(ada):
    prompts = {"cron": "[cron:job-1 mail] Look for mail", "heartbeat": "Read HEARTBEAT.md if it exists"}
    for name, text in prompts.items():
        store_decision(
            name, turn=None, session_id=KEY, window=make_window(("user", "hello"), ("user", text), reply="Done.")
        )
        assert judge_decision(ada, name).prompted_by == name
    store_decision("quiet", turn=None, session_id=KEY, window=make_window(user="hello", reply="NO_REPLY"))
    assert judge_decision(ada, "quiet").prompted_by == "silent"


ODD = "Weather (untrusted metadata):\n```json\n{broken\n```\n\nI get up early."


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize(("recent", "turn_texts"), [([("user", ODD)], {}), ([], {"user": ODD})])
def test_words_in_an_unknown_wrapper_are_left_out_by_default_and_counted(ada, recent, turn_texts):
    store_decision("odd", turn=None, session_id=KEY, window=make_window(*recent, reply="Noted.", **turn_texts))
    store_decision("placed", turn="s1:u1")
    queued = queue_decisions(ada, ["odd"], by="ann")
    assert (queued.made, dict(queued.excluded)) == ([], {"unknown_envelope": 1})
    assert describe_problems(queued) == ["1 decision: In lines like OpenClaw's own that are not known"]
    assert "unrecognized" in judge_decision(ada, "odd").turn_traits.split()
    judge_decision(ada, "placed")
    export = build_export(task="gate")
    assert (excluded_counts(export)["unknown_envelope"], len(read_rows(export))) == (1, 1)
    assert len(read_rows(build_export(task="gate", include=["unrecognized"]))) == 2


@pytest.mark.usefixtures("turns")
class TestExports:
    def test_it_is_in_the_export_of_the_gate(self, ada, decision):
        store_decision("placed", turn="s1:u1")
        judge_decision(ada, "d1"), judge_decision(ada, "placed")
        rows = read_rows(build_export(task="gate"))
        mine = next(row for row in rows if row["session_id"] == KEY)
        assert mine["input"] == "Agent: Morning?\nUser: I get up early.\nAgent: Noted."
        assert mine["turn_number"] == "" and FACT in mine["output"]
        assert len(rows) == 2

    @pytest.mark.parametrize("format_", ["openai", "sharegpt", "raw", "csv"])
    def test_every_format_has_it(self, ada, decision, format_):
        judge_decision(ada, "d1")
        export = build_export(format_, "gate")
        assert export.manifest["counts"]["rows"] == 1

    def test_many_of_one_session_are_read_in_batches(self, ada, monkeypatch):
        for number in range(25):
            window = make_window(user=f"word{number} " * 5 + f"number {number * 7919}", reply=f"fine{number} " * 9)
            store_decision(f"n{number}", turn=None, session_id="s1", window=window)
            judge_decision(ada, f"n{number}")
        store_decision("placed", turn="s1:u1")
        judge_decision(ada, "placed")
        monkeypatch.setattr(PlainRows, "FIRST", 4)
        monkeypatch.setattr(PlainRows, "SMALLEST", 4)
        monkeypatch.setattr(PlainRows, "BIGGEST", 4)
        assert len(read_rows(build_export(task="gate", duplicates="keep"))) == 26

    def test_what_says_the_same_stays_the_one_with_a_turn(self, ada):
        store_decision("placed", turn="s1:u1", window=make_window(user="question 1", reply="answer 1"))
        store_decision("loose", turn=None, session_id="s1", window=make_window(user="question 1", reply="answer 1"))
        judge_decision(ada, "loose"), judge_decision(ada, "placed")
        (row,) = read_rows(build_export(task="gate"))
        assert row["turn_number"] == "1"

    def test_while_somebody_is_opted_out_it_is_left_out(self, ada, decision):
        store_decision("placed", turn="s1:u1")
        judge_decision(ada, "d1"), judge_decision(ada, "placed")
        Session.objects.using(ada.db).filter(id="s1").update(session_key="agent:ada:main")  # of one person, not 42
        configuration.put("collector.optedOutSenders", ["42"])
        export = build_export(task="gate")
        assert excluded_counts(export)["opted_out"] == 1
        assert [row["session_id"] for row in read_rows(export)] == ["s1"]

    def test_an_export_of_replies_has_no_place_for_it(self, ada, decision):
        judge_decision(ada, "d1")
        make_samples(ada, "s1", [1], by="ann")
        count = count_export(Options("alpaca", "reply", only_approved=False))
        assert (count.samples, count.excluded) == (1, {})
        assert count_export(Options("alpaca", "gate")).samples == 1


def test_opting_out_withholds_it_as_before(ada, decision):
    configuration.put("collector.optedOutSenders", ["42"])
    for verdict in VERDICTS:
        with pytest.raises(Refused, match="Somebody opted out"):
            verdict_service.give_verdict(DECISION, ada, "d1", verdict, by="ann")
    assert queue_decisions(ada, ["d1"], by="ann").made == []


class TestPages:
    def test_the_page_of_the_decision_has_the_buttons(self, as_reviewer, decision):
        page = as_reviewer.get("/agents/ada/verdicts/d1/")
        assert 'value="right" data-key="r"' in page.text and "cannot become a sample" not in page.text
        answer = as_reviewer.post("/agents/ada/judge/d1/", {"verdict": "none"}, headers={"HX-Request": "true"})
        assert "Sample created." in read_text(answer) and 'value="none"' not in answer.text

    def test_the_row_of_the_list_has_them(self, as_reviewer, decision):
        store_decision("blind", turn=None)
        page = as_reviewer.get("/agents/ada/verdicts/?ids=d1&ids=blind").text
        assert page.count('data-row-key="r"') == 1
        configuration.put("collector.optedOutSenders", ["42"])
        assert "data-row-key" not in as_reviewer.get("/agents/ada/verdicts/?ids=d1").text

    @pytest.mark.parametrize("address", ["/samples/{}/", "/review/?sample={}", "/samples/", "/review/"])
    def test_reviewers_see_what_the_gate_saw(self, as_reviewer, ada, decision, address):
        queue_decisions(ada, ["d1"], by="ann")
        page = read_text(as_reviewer.get(address.format(only().id)))
        if address != "/samples/":
            assert "I get up early." in page and "Not found: judge the decision by what the gate saw" in page
            assert "?turn=None" not in page
