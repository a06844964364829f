"""The job asks turns that are new or grew, once, and samples follow."""

import json

import pytest
from django.urls import reverse

from agents.models import Agent
from datasets import services
from datasets.exports.export_count import count_export
from datasets.exports.options import Options
from datasets.models import DatasetSample, SignalPosition, TurnSignals
from datasets.quality import all_signals, checks, job
from datasets.quality.all_signals import ALL_BITS, BY_NAME
from ledger.models import ConversationTurn
from ledger.transcripts import removal
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.homes import assistant, result, user

pytestmark = pytest.mark.django_db
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s", "sender": "%s"}\n```\n\n%s'
CUT, EMPTY = (1 << BY_NAME[name].bit for name in ("cut_off", "empty_reply"))
OPTED_OUT, WEIGHTS = "collector.optedOutSenders", "datasetCollection.qualityScoring.weights"


@pytest.fixture
def script(home):
    script = home.transcript()
    script.add(
        user("How many rows has a.csv?"), assistant("", ("c1", "read", {"path": "a.csv"})), result("c1", "7 rows")
    )
    script.add(assistant("It has 7 rows, and the"), user("And b.csv?"), assistant("It has 9 rows."), user("Thanks"))
    run(home)
    return script


def ask():
    return read_receipt("quality", "--ask")["job"]["turns"]


def rows():
    return {row.turn_number: row for row in TurnSignals.objects.all()}


def test_it_asks_each_turn_once(script):
    assert (ask(), ask()) == (3, 0)
    assert [rows()[number].yes & CUT for number in (1, 2)] == [CUT, 0]
    assert rows()[3].waiting & EMPTY and rows()[3].unknown & EMPTY
    assert not list(checks.find_different("default"))


def test_one_appended_line_asks_its_turn_and_the_one_before(home, script):
    ask()
    script.add(assistant("You are welcome."))
    run(home)
    assert ask() == 1
    script.add(user("And c.csv?"))
    run(home)
    assert ask() == 2
    assert not rows()[3].waiting and rows()[4].waiting & EMPTY


def test_rows_of_turns_that_are_gone_go(script):
    ask()
    removal.delete_session(MAIN, script.session)
    ask()
    assert not TurnSignals.objects.exists() and not SignalPosition.objects.exclude(session_id="").exists()


def test_replaced_records_and_other_rules_are_asked_again(script, monkeypatch):
    ask()
    job.forget_sessions("main", [script.session])
    assert ask() == 3
    monkeypatch.setattr(job, "RULE", 12)
    assert job.is_needed() and ask() == 3


def test_nothing_is_computed_on_words_of_those_who_opted_out(home):
    script = home.transcript()
    for name in ("ann", "bob"):
        script.add(user(ENVELOPE % (f"{name}1", name, "How many rows?")), assistant("It has rows, and the"))
    run(home)
    ask()
    assert {row.yes & CUT for row in rows().values()} == {CUT}
    configuration.put(OPTED_OUT, ["ann1"])
    assert ask() == 2
    assert [
        (rows()[number].yes, rows()[number].unknown == ALL_BITS, rows()[number].score is None) for number in (1, 2)
    ] == [
        (0, True, True),
        (rows()[2].yes, False, False),
    ]


def test_turns_of_openclaw_have_no_answers(home):
    home.transcript().add(user("Read HEARTBEAT.md if it exists (workspace context)."), assistant("HEARTBEAT_OK"))
    run(home)
    ask()
    assert [row.unknown for row in rows().values()] == [ALL_BITS]
    assert read_receipt("quality")["closed"] == 1


def test_a_signal_that_fails_is_unknown_and_named(script, monkeypatch, caplog):
    def fail(_texts):
        raise ZeroDivisionError

    broken = all_signals.SIGNALS[1].__class__(*("cut_off", 1, 1, "conversationClarity", 2, fail, "?"))
    monkeypatch.setattr(all_signals, "SIGNALS", (broken, *all_signals.SIGNALS[2:]))
    out = run_verb("quality", "--ask")[1]
    assert "Signals that failed and are unknown there: cut_off: 3." in out and "cut_off failed" in caplog.text
    assert all(row.unknown & CUT for row in rows().values())


def test_samples_have_the_score_when_they_are_created_and_after_new_answers(script, as_reviewer):
    agent = Agent.objects.get(agent_id="main")
    services.make_samples(agent, script.session, [1], by="rita")
    assert DatasetSample.objects.get().quality_score is None
    ask()
    services.make_samples(agent, script.session, [2], by="rita")
    first, second = DatasetSample.objects.order_by("turn_number")
    assert first.quality_score < second.quality_score == 1
    assert json.loads(first.quality_factors)["decisionConfidence"] == 1
    configuration.put(WEIGHTS, ["conversationClarity: 0", "decisionConfidence: 1", "factVerifiability: 0"])
    assert ask() == 3
    first.refresh_from_db()
    assert first.quality_score == 1
    page = as_reviewer.get(first.get_absolute_url()).content.decode()
    assert (
        "View message" in page
        and f"record={ConversationTurn.objects.using(MAIN).get(turn_number=1).agent_message_id}" in page
    )
    listed = as_reviewer.get(reverse("datasets:sample_list"), {"signal": "cut_off"}).content.decode()
    assert first.id in listed and second.id not in listed


def test_a_minimum_says_how_many_have_no_score(script):
    agent = Agent.objects.get(agent_id="main")
    services.make_samples(agent, script.session, [1], by="rita")
    assert "No sample has a quality score yet." in read_refusal("list", "--quality-above", "0.1")
    ask()
    services.make_samples(agent, script.session, [2], by="rita")
    DatasetSample.objects.filter(turn_number=1).update(quality_score=None)
    assert read_receipt("list", "--quality-above", "0.1")["unscored"] == 1
    DatasetSample.objects.update(annotation_status="approved", privacy_checked=True)
    excluded = count_export(Options("alpaca", "reply", tool_calls="input", min_quality=0.1)).excluded
    assert excluded["no_score"] == 1 and "low_quality" not in excluded


def test_the_doctor_names_a_turn_with_other_answers(script):
    ask()
    TurnSignals.objects.filter(turn_number=2).update(yes=CUT)
    assert [name.split(" ")[0] for name in checks.find_different("default")] == [rows()[2].turn_id]
    assert checks.ask_again(None) == 3 and not list(checks.find_different("default"))


def test_the_api_counts_the_same(script, as_reviewer):
    ask()
    answer = as_reviewer.get("/api/v1/datasets/quality", {"agent": "main"}).json()
    receipt = read_receipt("quality", "--agent", "main")
    assert all(receipt[name] == value for name, value in answer.items()) and answer["turns"] == 3
