"""The report on the quality score: page, API and command, over verdicts of people only."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.models import DatasetSample, SampleLabel, SignalPosition, TurnSignals
from datasets.quality import job, languages
from datasets.quality.all_signals import ALL_BITS, BY_NAME
from datasets.queues import queue_store
from datasets.score_evaluation.evaluation import Case, evaluate_score, measure
from datasets.score_evaluation.words import SCRIPT_WORDS
from people.configuration import setting_values as configuration
from tests.datasets.verbs.verb_runs import read_receipt, run_verb
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
ADDRESS = "/datasets/statistics/quality/"
CUT = 1 << BY_NAME["cut_off"].bit


def add_verdict(
    number, status="approved", *, reply="It has 7 rows.", yes=0, unknown=0, bulk=None, queue=None, guideline=None,
    **columns,
):  # fmt: skip
    """Add a sample that a person judged, with the signals of its turn."""
    turn_id = f"s1:u{number}"
    content = orjson.dumps({"type": "annotated_turn", "userMessage": "How many?", "agentReply": reply}).decode()
    columns = {"quality_score": 0.5, "annotated_by": "ann", "label_id": f"l{number}"} | columns
    values = {"id": f"x{number}", "turn_id": turn_id, "turn_number": number, "content": content}
    sample = SampleFactory(annotation_status=status, **values | columns)
    if sample.label_id:
        given = {"status": status, "labelled_by": "ann", "labelled_at": 1, "previous_status": "pending"}
        given |= {"queue_id": queue, "guideline": guideline}
        SampleLabel.objects.create(id=sample.label_id, sample=sample, bulk_id=bulk, **given)
    place = {"agent_id": "ada", "turn_id": turn_id, "session_id": "s1", "turn_number": number, "at": 1}
    TurnSignals.objects.create(**place, yes=yes, unknown=unknown, score=sample.quality_score, rule=1, mark=1)


def add_many(good=160, bad=60, *, good_score=0.9, bad_score=0.3, **columns):
    """Add verdicts whose score tells them apart, with replies of equal lengths."""
    for number in range(good + bad):
        is_good = number < good
        columns["quality_score"] = (good_score if is_good else bad_score) + number % 7 / 100
        add_verdict(number, "approved" if is_good else "rejected", yes=0 if is_good else CUT, **columns)


def test_it_works(as_reviewer, ada):
    add_many()
    page = as_reviewer.get(ADDRESS).text
    assert "Better than the length of the reply" in page and "worth nothing" not in page
    assert "Does the reply end in the middle?" in page and "Latin letters" in page
    report = as_reviewer.get("/api/v1/datasets/quality/report").json()
    assert (report["verdicts"], report["approved"], report["state"]) == (220, 160, "useful")
    assert report["area"] == {"value": 1, "low": 1, "high": 1} and report["length"]["value"] == 0.5
    assert report["base_rate"] == report["majority"] == pytest.approx(160 / 220)
    assert [row["count"] for row in report["scores"]] == [0, 0, 0, 60, 0, 0, 0, 0, 0, 160]
    assert [row["hits"] for row in report["scores"]] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 160]
    cut = next(row for row in report["signals"] if row["name"] == "cut_off")
    assert (cut["yes"]["count"], cut["yes"]["hits"], cut["area"]["value"]) == (60, 60, 1)
    assert 0.93 < cut["yes"]["interval"][0] < 0.95 and cut["yes"]["interval"][1] == 1
    receipt = read_receipt("quality", "--report", "--agent", "ada")
    assert receipt["area"] == report["area"] and receipt["signals"] == report["signals"]
    assert "AUC of the score: 1.00" in run_verb("quality", "--report")[1]


@pytest.mark.parametrize(("good", "bad"), [(170, 29), (29, 300), (100, 99)])
def test_too_few_verdicts_are_said(as_reviewer, good, bad):
    add_many(good, bad)
    assert "Not enough verdicts" in as_reviewer.get(ADDRESS).text
    report = evaluate_score()
    assert report["state"] == "not_enough" and report["area"] is None
    assert all(row["area"] is None for row in report["signals"])


def test_a_score_that_is_no_better_than_the_length_is_worth_nothing(as_reviewer):
    for number in range(220):
        is_good = number < 150
        score = (0.8 if is_good else 0.7) + number % 5 / 20
        reply = "It has 7 rows." if is_good else "Well, I could not say how many rows."  # the length says it all
        add_verdict(number, "approved" if is_good else "rejected", quality_score=score, reply=reply)
    assert "The score is worth nothing here" in as_reviewer.get(ADDRESS).text
    report = evaluate_score()
    assert report["area"]["low"] > 0.5 and report["length"]["value"] == 0 and report["state"] == "worthless"


def test_a_score_of_chance_is_worth_nothing():
    add_many(good_score=0.5, bad_score=0.5)
    report = evaluate_score()
    assert report["area"]["low"] < 0.5 < report["area"]["high"] and report["state"] == "worthless"


def test_only_verdicts_of_people_on_their_own_count(as_reviewer):
    add_verdict(1)
    add_verdict(2, "auto_approved")
    add_verdict(3, "pending", label_id=None)
    add_verdict(4, annotated_by=None)
    add_verdict(5, label_id=None)
    add_verdict(6, bulk="b1")
    add_verdict(7, output="Another reply.")
    add_verdict(8, quality_score=None, unknown=ALL_BITS)
    report = evaluate_score()
    assert (report["judged"], report["verdicts"]) == (4, 1)
    assert report["left_out"] == {"waiting": 0, "bulk": 1, "edited": 1, "unscored": 1}
    assert "judged with many others at once" in as_reviewer.get(ADDRESS).text


def test_nothing_is_computed_on_turns_that_were_not_checked_since_somebody_opted_out(ada):
    add_verdict(1)
    configuration.put("collector.optedOutSenders", ["bob"])
    report = evaluate_score()
    assert (report["verdicts"], report["left_out"]["waiting"], report["scripts"]) == (0, 1, [])
    SignalPosition.objects.create(agent_id="ada", session_id="", position="", rules=1, consent=job.read_consent())
    assert evaluate_score()["verdicts"] == 1


def test_an_unknown_answer_is_no_answer():
    add_verdict(1, yes=CUT)
    add_verdict(2, "rejected", unknown=CUT)
    cut = next(row for row in evaluate_score()["signals"] if row["name"] == "cut_off")
    assert (cut["known"], cut["yes"]["count"], cut["yes"]["hits"]) == (1, 1, 0)


def test_parts_and_scripts_are_groups():
    add_verdict(1, gate_label="correct", guardian_label="corrected")
    add_verdict(2, "rejected", gate_label="incorrect", reply="文件有七行。")
    report = evaluate_score()
    parts = {part["name"]: (part["verdicts"], part["approved"]) for part in report["parts"]}
    assert parts == {"turn": (2, 1), "decision": (2, 1), "write": (1, 0)}
    assert {script["name"]: script["approved"] for script in report["scripts"]} == {"latin": 1, "han": 0}


def test_verdicts_of_queues_are_groups_by_the_version_of_their_guideline(as_reviewer):
    SampleFactory(id="waits")
    queue = queue_store.create_queue("Tone", by="olaf").id
    add_verdict(1, queue=queue, guideline=1)
    add_verdict(2, "rejected", queue=queue, guideline=2)
    add_verdict(3)
    report = evaluate_score()
    groups = {row["name"]: (row["verdicts"], row["approved"]) for row in report["guidelines"]}
    assert groups == {"Tone, 1": (1, 1), "Tone, 2": (1, 0)}
    assert "By queue and version of its guideline" in as_reviewer.get(ADDRESS).text


def test_without_verdicts_it_leads_to_the_queue(as_reviewer):
    SampleFactory()
    assert "No verdicts yet" in as_reviewer.get(ADDRESS).text


CASES = st.lists(
    st.builds(
        Case, st.booleans(), st.floats(0, 1), st.integers(0, 50), st.just("latin"), st.integers(0, 3), st.just(3)
    ),
    max_size=400,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases=CASES, weight=st.integers(1, 40))
def test_a_state_is_what_its_numbers_say(cases, weight):
    measured = measure(cases * weight)
    rejected = measured["verdicts"] - measured["approved"]
    if measured["verdicts"] < 200 or min(rejected, measured["approved"]) < 30:
        assert measured["state"] == "not_enough" and measured["area"] is None
        return
    length = max(measured["length"]["value"], 1 - measured["length"]["value"])
    if abs(measured["area"]["low"] - max(length, 0.5)) > 1e-3:  # rounded
        assert (measured["state"] == "useful") is (measured["area"]["low"] > max(length, 0.5))


def test_samples_are_not_changed():
    add_verdict(1)
    before = DatasetSample.objects.values().get()
    evaluate_score()
    assert DatasetSample.objects.values().get() == before


def test_every_script_has_a_word():
    assert SCRIPT_WORDS.keys() == {*languages.SCRIPTS, "none"}
