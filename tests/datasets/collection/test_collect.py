"""Runs of collecting: which turns become samples, of which type, and why the others do not."""

import pytest
from django.db import DatabaseError, transaction

from datasets.collection import runs, strategies, walk
from datasets.collection.criteria import CRITERIA
from datasets.models import CollectionRun, CollectionStrategy, DatasetSample, SampleLabel, SpotCheck, TurnOutcome
from datasets.review import verdicts
from datasets.spot_checks import checks
from gate.models import MemoryGateDecision
from guardian.models import WriteGuardianAudit
from jobs.progress import Progress
from ledger.models import ConversationTurn, TranscriptEvent
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.datasets.collection.collecting import (
    AFTER,
    BEFORE,
    DB,
    EASY,
    collect,
    collect_new,
    read_evidence,
    read_outcome,
    save,
    store_written,
)
from tests.datasets.conversations import agent, store_session, store_turns, user
from tests.datasets.exports.export_helpers import build_export, excluded_counts, read_rows
from tests.datasets.kinds.gates import store_decision
from tests.factories import SampleFactory
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import create_rollback, create_write

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def files(own_home):
    """Locks are files of the home."""


def only():
    return DatasetSample.objects.get()


def test_every_turn_has_one_reason(ada):
    store_written(4)
    store_session([user("x1", "No answer")], session_id="s2")
    counts = collect()
    assert counts == {"sample": 1, "no_criterion": 3, "no_reply": 1}
    assert runs.build_funnel(counts) == {
        "turns": 5,
        "candidates": 4,
        "samples": 1,
        "reasons": {"no_criterion": 3, "no_reply": 1},
    }
    assert TurnOutcome.objects.count() == ConversationTurn.objects.using(DB).count() == 5


def test_unknown_never_counts_as_yes(ada):
    """By the values of the spec nobody confirmed the write, and it has no score: people have to judge it."""
    store_written()
    collect()
    sample = only()
    assert (sample.sample_type, sample.annotation_status) == ("annotated_turn", "pending")
    assert sample.collection_strategy == "auto_review"
    evidence = read_evidence(sample)
    assert evidence.keys() == {criterion.name for criterion in CRITERIA}
    assert evidence["wasWritten"] == ("yes", "write", "w1")
    assert evidence["noUserObjection"] == ("unknown", "", "")


def test_a_right_decision(ada):
    store_written()
    save(**EASY)
    collect()
    sample = only()
    assert (sample.sample_type, sample.annotation_status) == ("memory_gate_positive", "pending")
    assert (sample.body["correctFact"], sample.body["evidence"]) == ("Likes tea.", {"wasWritten": True})


def test_a_young_write_waits(ada, later):
    store_written()
    save(noUserObjection=False, minQualityScore=0, notRolledBackWithinDays=3650)
    assert collect()["waiting"] == 1
    save(notRolledBackWithinDays=7)
    assert collect_new()["samples"] == 1
    assert only().sample_type == "memory_gate_positive"


def test_a_refused_decision_is_wrong(ada):
    store_turns(3)
    store_decision(candidate_fact="Likes tea.")
    create_write(DB, 1, BEFORE, None, status="refused", turn_id="s1:u2", decision_id="d1", reason="Said once.")
    collect()
    sample = only()
    assert (sample.sample_type, sample.gate_label) == ("memory_gate_negative", "corrected")
    assert (sample.body["correctDecision"], sample.body["rejectionReason"]) == ("NO_WRITE", "Said once.")
    assert sample.label_id is None
    assert read_evidence(sample)["guardianRefused"] == ("yes", "write", "w1")


def test_a_refusal_that_a_person_called_wrong_says_nothing_against_the_gate(ada):
    store_turns(3)
    store_decision(candidate_fact="Likes tea.")
    create_write(DB, 1, BEFORE, None, status="refused", turn_id="s1:u2", decision_id="d1")
    create_correction(status="written")
    collect()
    assert only().sample_type == "annotated_turn"
    assert read_evidence(only())["guardianRefused"][:2] == ("no", "correction")


def test_a_refused_fact_that_was_written_later(ada):
    store_turns(3)
    store_decision(candidate_fact="Likes tea.")
    create_write(DB, 1, BEFORE, None, status="refused", turn_id="s1:u2", decision_id="d1")
    create_write(DB, 2, BEFORE, AFTER, candidate_fact="likes  TEA", turn_id="s1:u3")
    save(guardianRefused=False, turns=False)
    collect(type="negative")
    sample = only()
    assert sample.body["correctDecision"] == "UPDATE_MEMORY"
    assert read_evidence(sample)["userLaterRequestedSimilar"] == ("yes", "write", "w2")


def test_a_rollback_and_its_return(ada):
    store_written()
    create_rollback(DB, 2, ["w1"], AFTER, BEFORE)
    collect()
    sample = only()
    assert (sample.sample_type, sample.annotation_status) == ("memory_gate_negative", "needs_review")
    assert (sample.body["correctDecision"], sample.body["rejectionReason"]) == ("NO_WRITE", "Reason 2.")
    DatasetSample.objects.all().delete()
    create_rollback(DB, 3, ["w2"], BEFORE, AFTER)  # takes the rollback back
    collect()
    assert only().sample_type == "annotated_turn"


def test_a_corrected_decision(ada):
    store_written()
    create_correction(status="written", fact="Likes green tea.", reason="Not any tea.")
    collect()
    assert only().body["correctFact"] == "Likes green tea."
    assert only().body["correctDecision"] == "UPDATE_MEMORY"


def test_turns_without_a_decision(ada):
    store_turns(3)
    assert collect() == {"no_criterion": 3}
    save(turns=True)
    assert collect() == {"sample": 3}
    assert {sample.sample_type for sample in DatasetSample.objects.all()} == {"annotated_turn"}


def test_a_write_without_a_decision(ada):
    store_turns(3)
    create_write(DB, 1, BEFORE, AFTER, turn_id="s1:u2")
    collect()
    assert (only().sample_type, only().audit_id) == ("write_guardian_decision", "w1")


def test_machine_prompts_copies_and_other_branches(ada):
    store_session([user("c1", "Read HEARTBEAT.md if it exists", sender=None), agent("b1", "HEARTBEAT_OK")])
    store_turns(2, session_id="s2")
    ConversationTurn.objects.using(DB).filter(id="s2:u1").update(repeat_of="s9")
    ConversationTurn.objects.using(DB).filter(id="s2:u2").update(is_active=False)
    save(turns=True)
    counts = collect()
    assert (counts["copied"], counts["abandoned"], counts.get("sample")) == (1, 1, None)
    assert sum(counts.values()) == 3


def test_opted_out_people_are_never_computed_on(ada):
    store_session([user("u1", "My secret", sender="alice"), agent("a1", "Fine")])
    save(turns=True)
    configuration.put("collector.optedOutSenders", ["alice"])
    assert collect() == {"opted_out": 1}
    row = TurnOutcome.objects.get()
    assert (row.yes, row.unknown, DatasetSample.objects.count()) == (0, 0, 0)


def test_what_a_person_judged_is_never_changed(ada):
    store_written()
    save(**EASY)
    collect()
    verdicts.label_sample(only().id, "approved", by="ann")
    create_rollback(DB, 2, ["w1"], AFTER, BEFORE)
    before = DatasetSample.objects.values().get()
    collect()
    assert DatasetSample.objects.values().get() == before
    assert read_outcome() == "already"


def test_an_unjudged_sample_follows_a_rollback(ada):
    store_written()
    save(**EASY)
    collect(auto_approve=True)
    create_rollback(DB, 2, ["w1"], AFTER, BEFORE)
    collect()
    sample = only()
    assert (sample.sample_type, sample.annotation_status) == ("memory_gate_negative", "needs_review")
    assert sample.annotated_by is None


def test_a_second_run_changes_nothing(ada):
    store_written()
    collect()
    before = list(DatasetSample.objects.values())
    assert collect() == {"already": 1, "no_criterion": 2}
    assert list(DatasetSample.objects.values()) == before


def test_a_killed_run_goes_on(ada, monkeypatch):
    store_written(4)
    save(turns=True)
    run = runs.create_run(by="ann")

    class Killed(Exception):
        pass

    class Dying(Progress):
        def update(self, *_args, **_more):
            raise Killed

    monkeypatch.setattr(walk, "BATCH", 2)
    with pytest.raises(Killed):
        runs.perform(run, Dying())
    assert DatasetSample.objects.count() == 2
    TurnOutcome.objects.all().delete()  # as if it had been killed between the samples and their outcomes
    assert runs.perform(run, Progress()).counts == {"sample": 4}
    assert DatasetSample.objects.count() == 4


def test_a_preview_changes_nothing(ada):
    store_written()
    assert collect(is_dry=True) == {"candidate": 1, "no_criterion": 2}
    assert not DatasetSample.objects.exists()
    assert collect() == {"sample": 1, "no_criterion": 2}


def test_only_of_a_type_a_time_or_a_session(ada):
    store_written()
    store_turns(2, session_id="s2")
    assert collect(type="positive") == {"other_type": 1, "no_criterion": 4}
    moment = ConversationTurn.objects.using(DB).get(id="s1:u2").created_at
    counts = collect(since=moment, until=moment + 1)
    assert counts == {"sample": 1, "no_criterion": 1, "outside": 3}
    run = CollectionRun.objects.order_by("-id").first()
    assert runs.find_turns(run, TurnOutcome.Outcome.OUTSIDE).count() == 3
    assert collect(session="s2") == {"no_criterion": 2}
    with pytest.raises(Refused):
        collect(since=5, until=5)
    with pytest.raises(Refused):
        collect(agent="nobody")


def test_rules_approve_only_where_asked(ada):
    """A turn with the words of an approved one, in a scanned session, is approved when somebody wants that."""
    for number in range(checks.FIRST):  # people have confirmed the first checks of the rules
        checked = SampleFactory(id=f"checked{number}", session_id="s0", turn_number=None, turn_id=None)
        SpotCheck.objects.create(sample_id=checked.id, chosen_at=1, shape_hash=checks.compute_shape_hash(checked))
        verdicts.label_sample(checked.id, "approved", by="ann")
    store_turns(1)
    save(turns=True)
    collect()
    verdicts.label_sample(DatasetSample.objects.get(session_id="s1").id, "approved", by="ann")
    store_turns(1, session_id="s2")
    store_turns(1, session_id="s3")
    scan(ada)
    collect(session="s2")
    assert DatasetSample.objects.get(session_id="s2").annotation_status == "pending"
    collect(session="s3", auto_approve=True)
    sample = DatasetSample.objects.get(session_id="s3")
    is_check = SpotCheck.objects.filter(sample_id=sample.id).exists()  # one in twenty, by its id
    approved = ("pending", None, None) if is_check else ("auto_approved", "rule", None)
    assert (sample.annotation_status, sample.annotated_by, sample.label_id) == approved
    assert read_evidence(sample)["matchesApprovedPattern"][0] == "yes"
    assert not SampleLabel.objects.exclude(labelled_by="ann").exists()


def scan(ada):
    from findings import jobs as findings_jobs

    findings_jobs.JOB.run({}, Progress())


def test_only_what_is_new_behind_an_import(ada):
    store_written()
    assert collect_new()["turns"] == 3
    assert collect_new()["turns"] == 0
    assert CollectionRun.objects.count() == 1  # one without a turn is removed
    store_turns(2, session_id="s2")
    assert collect_new()["turns"] == 2
    store_session([*lines(3), user("u9", "more"), agent("a9", "yes")])  # the first session grew
    assert TranscriptEvent.objects.using(DB).filter(session_id="s1").count() == 8
    assert collect_new()["turns"] == 1
    store_decision("d2", turn="s1:u3")  # new evidence about an old turn
    assert collect_new()["samples"] == 1
    assert MemoryGateDecision.objects.using(DB).count() == 2


def lines(count):
    result = []
    for number in range(1, count + 1):
        result += [user(f"u{number}", f"question {number}"), agent(f"a{number}", f"answer {number}")]
    return result


def test_new_evidence_is_noticed(ada):
    store_written()
    save(**EASY)
    collect_new()
    create_rollback(DB, 2, ["w1"], AFTER, BEFORE)
    assert WriteGuardianAudit.objects.using(DB).get(id="w1").status == "rolled_back"
    collect_new()
    assert only().sample_type == "memory_gate_negative"


def test_versions_never_change(ada):
    version = strategies.require_in_force()
    for act in (lambda: CollectionStrategy.objects.update(version=9), CollectionStrategy.objects.all().delete):
        with pytest.raises(DatabaseError), transaction.atomic():
            act()
    assert strategies.find_in_force() == version


def test_settings_are_the_first_version_and_later_ones(ada, later):
    assert strategies.find_in_force().pk is None
    configuration.put("datasetCollection.positiveCriteria.notRolledBackWithinDays", 3)
    first = strategies.require_in_force()
    assert (first.version, first.criteria["positiveCriteria"]["notRolledBackWithinDays"]) == (1, 3)
    later(hours=1)
    configuration.put("datasetCollection.positiveCriteria.minQualityScore", 0.2)
    second = strategies.require_in_force()
    assert (second.version, second.criteria["positiveCriteria"]["minQualityScore"]) == (2, 0.2)
    later(hours=2)
    third = save(minQualityScore=0.9, turns=True)
    assert configuration.get("datasetCollection.positiveCriteria.minQualityScore") == 0.9
    assert strategies.find_in_force() == third
    with pytest.raises(Refused):
        save(turns=True)
    for wrong in ({"turns": 1}, {"minQualityScore": 2}, {"notRolledBackWithinDays": 0.5}, {"nothing": True}):
        with pytest.raises(Refused):
            save(**wrong)


def test_nothing_is_collected_while_it_is_off(ada):
    configuration.put("datasetCollection.enabled", False)
    with pytest.raises(Refused):
        collect()


def test_who_opts_out_between_collecting_and_the_export_is_in_no_file(ada):
    store_session([user("u1", "My secret", sender="alice"), agent("a1", "Fine")])
    store_session([user("u1", "A question", sender="bert"), agent("a1", "Fine")], session_id="s2")
    save(turns=True)
    assert collect() == {"sample": 2}
    for sample in DatasetSample.objects.all():
        verdicts.label_sample(sample.id, "approved", by="ann")
    configuration.put("collector.optedOutSenders", ["alice"])
    export = build_export("openai")
    assert "My secret" not in str(read_rows(export)) and "A question" in str(read_rows(export))
    assert excluded_counts(export) == {"opted_out": 1}
    assert collect() == {"opted_out": 1, "already": 1}


def test_who_opts_out_later_is_counted_as_opted_out(ada):
    store_session([user("u1", "My secret", sender="alice"), agent("a1", "Fine")])
    save(turns=True)
    assert collect() == {"sample": 1}
    configuration.put("collector.optedOutSenders", ["alice"])
    assert collect() == {"opted_out": 1}
    row = TurnOutcome.objects.get()
    assert (row.yes, row.unknown, row.score) == (0, 0, None)


@pytest.mark.parametrize("is_on", [True, False])
def test_a_strategy_that_takes_all_or_nothing(ada, is_on):
    store_written(3)
    switches = {criterion.name: is_on for criterion in CRITERIA if criterion.name not in EASY}
    save(**switches, **EASY, turns=is_on)
    assert collect() == ({"sample": 3} if is_on else {"sample": 1, "no_criterion": 2})


def test_a_turn_that_is_gone_has_no_outcome_after_the_next_whole_run(ada):
    store_turns(3)
    collect()
    ConversationTurn.objects.using(DB).filter(id="s1:u2").delete()
    assert collect() == {"no_criterion": 2}
    assert TurnOutcome.objects.count() == 2
