"""Decisions whose turn nobody found: judged, reviewed and exported by the window that the gate saw."""

import pytest

from datasets.exports.builder.export_count import count_export
from datasets.exports.builder.plain_rows import PlainRows
from datasets.exports.options import Options
from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION
from datasets.kinds.kind import VERDICTS
from datasets.kinds.review_requests import describe_problems, queue_decisions
from datasets.models import DatasetSample
from datasets.services import make_samples
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.datasets.decision_samples.test_gate_exports import say, turns  # noqa: F401 - a fixture
from tests.datasets.exports.exporting import build, counts_left_out, rows_of
from tests.datasets.kinds.gates import FACT, decide, saw
from tests.datasets.page_text import text_of

pytestmark = pytest.mark.django_db
KEY = "channel:irc:alice"
WRAPPED = 'Sender (untrusted metadata):\n```json\n{"label": "alice"}\n```\n\nI get up early.'


@pytest.fixture
def decision(ada):
    """The gate saw an envelope, a message of the agent and the reply; no session has its key."""
    window = saw(("agent", "Morning?"), ("user", WRAPPED), reply="Noted.")
    return decide("d1", turn=None, session_id=KEY, session_key=KEY, match="none", window=window)


def only():
    return DatasetSample.objects.get()


def test_it_is_judged_and_becomes_a_sample_without_a_turn(ada, decision):
    sample = say(ada, "d1")
    assert (sample.turn_id, sample.turn_number, sample.session_id) == (None, None, KEY)
    assert (sample.sample_type, sample.annotation_status, sample.prompted_by) == (
        "memory_gate_positive",
        "approved",
        "",
    )
    assert sample.turn_traits == "envelope"
    assert [message["message"] for message in sample.body["conversation"]] == ["Morning?", "I get up early.", "Noted."]
    assert say(ada, "d1", "wrong").id == sample.id
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
        decide(name, turn=None, session_id=KEY, window=saw(("user", "hello"), ("user", text), reply="Done."))
        assert say(ada, name).prompted_by == name
    decide("quiet", turn=None, session_id=KEY, window=saw(user="hello", reply="NO_REPLY"))
    assert say(ada, "quiet").prompted_by == "silent"


ODD = "Weather (untrusted metadata):\n```json\n{broken\n```\n\nI get up early."


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize(("recent", "asked"), [([("user", ODD)], {}), ([], {"user": ODD})])
def test_words_in_an_unknown_wrapper_are_left_out_by_default_and_counted(ada, recent, asked):
    decide("odd", turn=None, session_id=KEY, window=saw(*recent, reply="Noted.", **asked))
    decide("placed", turn="s1:u1")
    queued = queue_decisions(ada, ["odd"], by="ann")
    assert (queued.made, dict(queued.excluded)) == ([], {"unknown_envelope": 1})
    assert describe_problems(queued) == ["1 decision: In lines like OpenClaw's own that are not known"]
    assert "unrecognized" in say(ada, "odd").turn_traits.split()
    say(ada, "placed")
    export = build(task="gate")
    assert (counts_left_out(export)["unknown_envelope"], len(rows_of(export))) == (1, 1)
    assert len(rows_of(build(task="gate", include_unrecognized=True))) == 2


@pytest.mark.usefixtures("turns")
class TestExports:
    def test_it_is_in_the_export_of_the_gate(self, ada, decision):
        decide("placed", turn="s1:u1")
        say(ada, "d1"), say(ada, "placed")
        found = rows_of(build(task="gate"))
        mine = next(row for row in found if row["session_id"] == KEY)
        assert mine["input"] == "Agent: Morning?\nUser: I get up early.\nAgent: Noted."
        assert mine["turn_number"] == "" and FACT in mine["output"]
        assert len(found) == 2

    @pytest.mark.parametrize("format_", ["openai", "sharegpt", "raw", "csv"])
    def test_every_format_has_it(self, ada, decision, format_):
        say(ada, "d1")
        export = build(format_, "gate")
        assert export.manifest["counts"]["rows"] == 1

    def test_many_of_one_session_are_read_in_batches(self, ada, monkeypatch):
        for number in range(25):
            window = saw(user=f"word{number} " * 5 + f"number {number * 7919}", reply=f"fine{number} " * 9)
            decide(f"n{number}", turn=None, session_id="s1", window=window)
            say(ada, f"n{number}")
        decide("placed", turn="s1:u1")
        say(ada, "placed")
        monkeypatch.setattr(PlainRows, "FIRST", 4)
        monkeypatch.setattr(PlainRows, "SMALLEST", 4)
        monkeypatch.setattr(PlainRows, "BIGGEST", 4)
        assert len(rows_of(build(task="gate", duplicates="keep"))) == 26

    def test_what_says_the_same_stays_the_one_with_a_turn(self, ada):
        decide("placed", turn="s1:u1", window=saw(user="question 1", reply="answer 1"))
        decide("loose", turn=None, session_id="s1", window=saw(user="question 1", reply="answer 1"))
        say(ada, "loose"), say(ada, "placed")
        (row,) = rows_of(build(task="gate"))
        assert row["turn_number"] == "1"

    def test_while_somebody_is_opted_out_it_is_left_out(self, ada, decision):
        decide("placed", turn="s1:u1")
        say(ada, "d1"), say(ada, "placed")
        configuration.put("collector.optedOutSenders", ["42"])
        export = build(task="gate")
        assert counts_left_out(export)["opted_out"] == 1
        assert [row["session_id"] for row in rows_of(export)] == ["s1"]

    def test_an_export_of_replies_has_no_place_for_it(self, ada, decision):
        say(ada, "d1")
        make_samples(ada, "s1", [1], by="ann")
        found = count_export(Options("alpaca", "reply", only_approved=False))
        assert (found.samples, found.excluded) == (1, {})
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
        assert "Sample created." in text_of(answer) and 'value="none"' not in answer.text

    def test_the_row_of_the_list_has_them(self, as_reviewer, decision):
        decide("blind", turn=None)
        page = as_reviewer.get("/agents/ada/verdicts/?ids=d1&ids=blind").text
        assert page.count('data-row-key="r"') == 1
        configuration.put("collector.optedOutSenders", ["42"])
        assert "data-row-key" not in as_reviewer.get("/agents/ada/verdicts/?ids=d1").text

    @pytest.mark.parametrize("address", ["/samples/{}/", "/review/?sample={}", "/samples/", "/review/"])
    def test_reviewers_see_what_the_gate_saw(self, as_reviewer, ada, decision, address):
        queue_decisions(ada, ["d1"], by="ann")
        page = text_of(as_reviewer.get(address.format(only().id)))
        if address != "/samples/":
            assert "I get up early." in page and "Not found: judge the decision by what the gate saw" in page
            assert "?turn=None" not in page
