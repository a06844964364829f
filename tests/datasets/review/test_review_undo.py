"""Undo reverts one person's actions, newest first, and restores every state."""

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from datasets.finding_values import verdicts as value_verdicts
from datasets.models import DatasetSample, FindingVerdict, ReviewAction, SampleLabel
from datasets.review import bulk, undo, verdicts
from datasets.review.parts import PartVerdict
from datasets.review.queues import Queue, read_progress
from openclaw_web.errors import Refused
from people.models.bookkeeping import AuditEntry
from tests.datasets.test_sample_detail import content
from tests.factories import AgentFactory, SampleFactory
from tests.faults import before_statement

pytestmark = pytest.mark.django_db
GATE = {"output": {"decision": "UPDATE_USER", "reason": "A habit.", "candidateFact": "travels early"}}
CORRECTED = {"decision": "NO_WRITE", "candidateFact": "", "reason": "Said once."}


def state(*names):
    """All columns that a verdict may change, by sample."""
    rows = DatasetSample.objects.filter(id__in=names) if names else DatasetSample.objects.all()
    return {row.id: verdicts.read_columns(row) for row in rows}


@pytest.fixture
def sample(ada):
    return SampleFactory(id="one", turn_number=7, content=content(memoryGate=GATE))


def test_it_works(sample):
    before = state()
    verdicts.label_sample(
        "one", "approved", by="ann", output="better", notes="n", gate=PartVerdict("corrected", CORRECTED)
    )
    done = undo.undo("ann")
    assert (done.sample_id, done.sentence) == ("one", "Undone: “Approved” on turn 7 of ada.")
    assert state() == before
    given_, taken_back = SampleLabel.objects.order_by("labelled_at", "id")
    if taken_back.undoes is None:  # both in one millisecond
        given_, taken_back = taken_back, given_
    assert (taken_back.undoes, taken_back.status, taken_back.previous_status) == (given_.id, "pending", "approved")
    assert (given_.output, given_.notes, given_.gate_label) == ("better", "n", "corrected")
    assert list(AuditEntry.objects.order_by("id").values_list("action", flat=True)) == ["labelled", "label_undone"]


def test_verdicts_on_one_sample_are_taken_back_one_by_one(sample):
    states = [state()]
    for status in ("needs_review", "rejected", "approved"):
        verdicts.label_sample("one", status, by="ann", notes=status)
        states.append(state())
    for expected in reversed(states[:-1]):
        undo.undo("ann")
        assert state() == expected
    with pytest.raises(Refused, match="nothing to undo"):
        undo.undo("ann")


def test_what_somebody_else_judged_since_stays_and_the_next_undo_goes_on(ada):
    for name in ("a", "b"):
        SampleFactory(id=name, turn_number=3)
    before = state("a")
    verdicts.label_sample("a", "approved", by="ann")
    verdicts.label_sample("b", "approved", by="ann")
    verdicts.label_sample("b", "rejected", by="bea")
    replaced = state("b")
    with pytest.raises(Refused, match="turn 3 of ada cannot be undone: bea has reviewed the sample since"):
        undo.undo("ann")
    assert undo.undo("ann").sample_id == "a"
    assert state() == before | replaced


def test_a_skip_is_taken_back(sample):
    verdicts.skip_sample("one", by="ann")
    done = undo.undo("ann")
    assert (done.kind, done.sample_id) == ("skip", "one")
    assert not SampleLabel.objects.exists()


def test_everybody_has_their_own_actions(sample):
    verdicts.label_sample("one", "approved", by="ann")
    with pytest.raises(Refused, match="nothing to undo"):
        undo.undo("bea")


def test_the_last_50_are_remembered(ada):
    for number in range(52):
        SampleFactory(id=f"s{number}")
        verdicts.label_sample(f"s{number}", "approved", by="ann")
    for _ in range(50):
        undo.undo("ann")
    with pytest.raises(Refused):
        undo.undo("ann")
    assert set(DatasetSample.objects.filter(annotation_status="approved").values_list("id", flat=True)) == {"s0", "s1"}


def test_one_undo_takes_a_bulk_action_back(ada):
    for number in range(7):
        SampleFactory(id=f"s{number}", annotation_status="needs_review" if number % 2 else "pending")
    verdicts.label_sample("s0", "needs_review", by="bea", output="edited", notes="hm")
    before = state()
    bulk.label_all(bulk.Scope(DatasetSample.objects.all()), "rejected", by="ann", expected_count=7, notes="all bad")
    verdicts.label_sample("s3", "approved", by="bea")
    replaced = state("s3")
    done = undo.undo("ann")
    assert done.sentence == "Undone: the verdicts on 6 samples. 1 was reviewed or removed since and is not changed."
    assert state() == before | replaced
    assert [entry.action for entry in AuditEntry.objects.order_by("id")][-1] == "bulk_undone"


def test_of_a_bulk_action_that_others_judged_since_nothing_is_taken_back(ada):
    SampleFactory(id="a")
    bulk.label_all(bulk.Scope(DatasetSample.objects.all()), "rejected", by="ann", expected_count=1)
    verdicts.label_sample("a", "approved", by="bea")
    with pytest.raises(Refused, match="Every sample of that bulk action was reviewed or removed since"):
        undo.undo("ann")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sample_labels SET status = 'rejected'",
        "DELETE FROM sample_labels",
        "REPLACE INTO sample_labels SELECT * FROM sample_labels",
    ],
)
def test_verdicts_stay_whatever_the_program_does(sample, change):
    verdicts.label_sample("one", "approved", by="ann")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
    assert SampleLabel.objects.get().status == "approved"


names = st.sampled_from(["a", "b", "c"])
verdict = st.fixed_dictionaries(
    {"status": st.sampled_from(["approved", "rejected", "needs_review", "pending"])},
    optional={
        "output": st.sampled_from(["better", "It failed on the last line.", "worse\n"]),
        "notes": st.sampled_from(["", "note"]),
        "gate": st.sampled_from(
            [PartVerdict("correct"), PartVerdict("incorrect", {"reason": "No."}), PartVerdict("corrected", CORRECTED)]
        ),
    },
)
step = st.one_of(
    st.tuples(st.just("label"), names, verdict),
    st.tuples(st.just("skip"), names),
    st.tuples(st.just("bulk"), st.sampled_from(["approved", "rejected"])),
    st.tuples(st.just("undo")),
)


def perform_step(kind, *arguments):
    """Perform one step; a refused step changes nothing."""
    try:
        if kind == "label":
            verdicts.label_sample(arguments[0], by="ann", **arguments[1])
        elif kind == "skip":
            verdicts.skip_sample(arguments[0], by="ann")
        elif kind == "bulk":
            waiting = DatasetSample.objects.filter(annotation_status__in=["pending", "needs_review"]).count()
            bulk.label_all(bulk.Scope(DatasetSample.objects.all()), arguments[0], by="ann", expected_count=waiting)
        else:
            undo.undo("ann")
    except Refused:
        pass


class TestAnyOrder(TestCase):
    databases = ["default", "agent_ada", "agent_bob"]

    @given(st.lists(step, max_size=15))
    def test_undoing_everything_restores_everything(self, steps):
        AgentFactory()
        for name in "abc":
            SampleFactory(id=name, content=content(memoryGate=GATE))
        before = state()
        for action in steps:
            perform_step(*action)
        for _ in range(ReviewAction.objects.filter(state="done").count()):
            undo.undo("ann")
        assert state() == before
        assert not ReviewAction.objects.filter(state="done").exists()


def test_verdicts_on_values_are_in_the_same_history_and_no_number_counts_them(sample, reviewer):
    verdicts.label_sample("one", "approved", by="reviewer")
    row = value_verdicts.decide("dismissed", scope="value", value_hash="0" * 32, by="reviewer")
    progress = read_progress(Queue(), "reviewer", with_all_own=True)
    assert (progress.today, progress.mine, progress.may_undo) == (1, 1, True)
    done = undo.undo("reviewer")
    assert (done.kind, done.sample_id, done.sentence) == ("verdict", None, "The verdict was undone.")
    assert FindingVerdict.objects.get(undoes=row.id).decided_by == "reviewer"
    assert undo.undo("reviewer").sample_id == "one"
    with pytest.raises(Refused, match="nothing to undo"):
        undo.undo("reviewer")


@pytest.mark.parametrize("is_on_value", [True, False])
def test_what_another_tab_did_meanwhile_is_undone_first(sample, reviewer, is_on_value):
    verdicts.label_sample("one", "approved", by="reviewer")

    def judge_in_another_tab():
        if is_on_value:
            value_verdicts.decide("dismissed", scope="value", value_hash="0" * 32, by="reviewer")
        else:
            verdicts.label_sample("one", "rejected", by="reviewer")

    # After the last action was found, before the transaction.
    with before_statement("default", lambda sql: "sample_labels" in sql, judge_in_another_tab):
        sentence = undo.undo("reviewer").sentence
    assert sentence == ("The verdict was undone." if is_on_value else "Undone: “Rejected” on turn 7 of ada.")
    assert undo.undo("reviewer").sentence == "Undone: “Approved” on turn 7 of ada."


def test_undo_walks_through_samples_and_values_and_undoing_twice_goes_on(sample, reviewer):
    verdicts.skip_sample("one", by="reviewer")
    for verdict in ("dismissed", "confirmed"):
        value_verdicts.decide(verdict, scope="value", value_hash="0" * 32, by="reviewer")
        verdicts.label_sample("one", "approved", by="reviewer")
    undo.undo_value_verdict(reviewer)  # as on the page of findings: the last one on a value
    assert [undo.undo("reviewer").sample_count for _step in range(4)] == [1, 1, 0, 1]
    for nothing in (lambda: undo.undo("reviewer"), lambda: undo.undo_value_verdict(reviewer)):
        with pytest.raises(Refused, match="nothing to undo"):
            nothing()
    assert (
        FindingVerdict.objects.filter(undoes=None).count() == FindingVerdict.objects.exclude(undoes=None).count() == 2
    )


def test_what_the_history_of_findings_undid_is_not_undone_again(sample, reviewer, admin):
    verdicts.label_sample("one", "approved", by="reviewer")
    row = value_verdicts.decide("dismissed", scope="value", value_hash="0" * 32, by="reviewer")
    undo.undo_value_verdict(admin, row.id)
    assert undo.undo("reviewer").sample_id == "one"
