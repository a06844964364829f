"""Samples of writes: their content, writes without samples, and queues of them."""

import orjson
import pytest

from datasets.kinds import review_requests, verdict_service
from datasets.kinds.write import WRITE, Correction
from datasets.models import DatasetSample
from datasets.review import undo, verdicts
from datasets.review.parts import PartVerdict
from guardian.models import GuardianReceipt, Rollback, WriteGuardianAudit
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.datasets.conversations import agent, store_session, store_turns, user
from tests.datasets.kinds.cases import AFTER, BEFORE
from tests.datasets.kinds.gates import store_decision
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import T0, create_write, share_diff

pytestmark = pytest.mark.django_db
DB = "agent_ada"


@pytest.fixture
def write(ada):
    store_turns(3)
    store_decision()
    return create_write(DB, 1, BEFORE, AFTER, turn_id="s1:u2", decision_id="d1", reason="Stable.")


def judge_write(agent, verdict="right", correction=None, name="w1"):
    return verdict_service.give_verdict(WRITE, agent, name, verdict, by="ann", correction=correction)


def only():
    return DatasetSample.objects.get()


def store_rollback(reason="Said in jest."):
    """Store a rollback of the first write."""
    audits = WriteGuardianAudit.objects.using(DB).filter(id="w1")
    Rollback.objects.using(DB).create(
        id="b1", audit_id="w1", rolled_back_at=T0 + 9, rolled_back_by="oli", reason=reason,
        restored_snapshot_id=audits.get().before_snapshot_id, previous_status="written",
    )  # fmt: skip
    audits.update(status="rolled_back")


def test_a_right_write_is_a_sample(ada, write):
    judge_write(ada)
    sample = only()
    assert sample.body == {
        "type": "write_guardian_decision",
        "candidateFact": "Likes tea.",
        "targetFile": "MEMORY.md",
        "currentFileContent": "# Memory\n",
        "fileExisted": True,
        "decision": "written",
        "decisionReason": "Stable.",
        "writtenContent": "# Memory\nLikes tea.\n",
        "memoryGate": {
            "output": {
                "decision": "UPDATE_USER",
                "reason": "A stable preference.",
                "candidateFact": "prefers mornings",
            }
        },
    }
    assert (sample.gate_label, sample.audit_id, sample.decision_id) == (None, "w1", "d1")
    assert (sample.turn_id, sample.turn_number) == ("s1:u2", 2)


def test_the_whole_file_may_be_said(ada, write):
    judge_write(ada, "wrong", Correction("written", "Shorter.", "# Memory\nTea.\n"))
    assert orjson.loads(only().guardian_corrected_output)["content"] == "# Memory\nTea.\n"


def test_a_rollback_makes_a_sample_of_the_wrong_write_and_the_restored_content(ada, write):
    store_rollback()
    review_requests.queue_writes(ada)
    sample = only()
    assert (sample.annotation_status, sample.guardian_label, sample.label_id) == ("needs_review", "corrected", None)
    assert sample.collection_strategy == "manual_correction"
    assert sample.body["writtenContent"] == AFTER.decode()
    assert sample.body["userCorrection"] == {
        "originalDecision": "written",
        "correctedDecision": "refused",
        "reason": "Said in jest.",
        "correctedFact": None,
        "correctedFile": None,
        "correctedContent": BEFORE.decode(),
    }
    judge_write(ada, "wrong")
    assert (only().annotation_status, only().guardian_label) == ("approved", "corrected")


@pytest.mark.parametrize(
    ("way", "content"), [("exact", BEFORE), ("merged", BEFORE), ("chosen", b"# Memory\nTea, and later lines.\n")]
)
def test_a_rollback_tells_what_the_file_should_have_held(ada, write, way, content):
    store_rollback()
    own = create_write(DB, 2, AFTER, b"# Memory\nTea, and later lines.\n", origin="rollback")
    restored = {"exact": {}}.get(way, {"restored_snapshot_id": None})
    Rollback.objects.using(DB).update(way=way, own_audit_id=own.id, **restored)
    judge_write(ada, "none")
    assert only().body["userCorrection"]["correctedContent"] == content.decode()


def test_a_correction_makes_a_sample_with_both_halves_of_a_pair(ada, write):
    create_correction(status="written", fact="Likes green tea.", file="USER.md", reason="About the user.")
    result = review_requests.queue_writes(ada)
    assert (len(result.made), result.existing, result.skipped) == (1, [], [])
    body = only().body
    assert body["writtenContent"] == AFTER.decode()
    assert body["userCorrection"] == {
        "originalDecision": "written",
        "correctedDecision": "written",
        "reason": "About the user.",
        "correctedFact": "Likes green tea.",
        "correctedFile": "USER.md",
        "correctedContent": None,
    }
    assert review_requests.queue_writes(ada).existing == ["w1"]


def test_a_write_that_got_another_id_keeps_its_sample(ada, write):
    judge_write(ada)
    WriteGuardianAudit.objects.using(DB).filter(id="w1").delete()
    create_write(DB, 2, BEFORE, AFTER, turn_id="s1:u2")
    GuardianReceipt.objects.using(DB).filter(id="w1").update(audit_id="w2")
    judge_write(ada, "wrong", name="w2")
    assert (only().audit_id, only().guardian_label) == ("w1", "incorrect")
    create_correction("w2")
    assert review_requests.queue_writes(ada).existing == ["w2"]


def test_writes_that_cannot_be_samples_are_named(ada, write):
    create_write(DB, 2, None, b"\xff")
    create_correction("w2")
    result = review_requests.queue_writes(ada)
    assert [entry["id"] for entry in result.skipped] == ["w2"] and "UTF-8" in result.skipped[0]["reason"]
    assert review_requests.describe_queued_writes(result).startswith(
        "0 samples added to the queue, 1 write skipped. The file is not UTF-8 text"
    )


@pytest.mark.parametrize(
    ("columns", "after", "why"),
    [
        ({"status": "failed"}, AFTER, "write failed"),
        ({"candidate_fact": None, "origin": "unattributed"}, b"", "no fact was reported"),
        ({"candidate_fact": None, "origin": "unattributed"}, b"- tea\n" * 4000, "no fact was reported"),
        ({}, b"\xff", "UTF-8"),
        ({}, b"x" * 100_001, "100,000"),
    ],
)
def test_what_cannot_be_a_sample(ada, columns, after, why):
    store_turns(3)
    create_write(DB, 1, None, after, **({"turn_id": "s1:u2"} | columns))
    with pytest.raises(Refused, match=why):
        judge_write(ada)


@pytest.mark.parametrize("turn_id", [None, "gone"])
def test_a_write_without_a_turn_is_a_sample(ada, turn_id):
    create_write(DB, 1, BEFORE, AFTER, turn_id=turn_id, session_id="irc:lab")
    judge_write(ada)
    sample = only()
    assert (sample.turn_id, sample.turn_number, sample.session_id) == (None, None, "irc:lab")
    assert (sample.annotation_status, sample.guardian_label) == ("approved", "correct")
    configuration.put("collector.optedOutSenders", ["42"])
    create_write(DB, 2, BEFORE, AFTER, turn_id=turn_id, target_file="USER.md")
    with pytest.raises(Refused, match="somebody opted out"):
        judge_write(ada, name="w2")


def test_a_write_without_a_fact_has_the_lines_it_added_as_its_fact(ada):
    after = b"# Memory\n- tea at four\n- no milk\n"
    create_write(DB, 1, b"# Memory\n- tea\n", after, candidate_fact=None, origin="unattributed", session_id=None)
    judge_write(ada, "wrong", Correction("refused", "Small talk."))
    sample = only()
    assert (sample.body["candidateFact"], sample.session_id) == ("- tea at four\n- no milk", "")
    create_write(DB, 2, BEFORE, AFTER, candidate_fact=None, origin="imported", target_file="USER.md")
    create_write(DB, 3, BEFORE, AFTER, candidate_fact=None, origin="imported", target_file="USER.md")
    share_diff(DB, "w2", "w3")
    with pytest.raises(Refused, match="no fact was reported"):
        judge_write(ada, name="w2")


def test_a_refused_write_is_a_sample_without_content(ada):
    store_turns(3)
    create_write(DB, 1, BEFORE, BEFORE, turn_id="s1:u2", status="refused", reason="Known already.")
    judge_write(ada)
    body = only().body
    assert (body["decision"], body["writtenContent"], body["currentFileContent"]) == ("refused", None, "# Memory\n")


def test_a_refused_write_knows_the_file_as_it_was_then(ada):
    store_turns(3)
    create_write(DB, 1, None, BEFORE, turn_id="s1:u1")
    create_write(DB, 2, None, None, turn_id="s1:u2", status="refused", reason="Known already.")
    create_write(DB, 3, BEFORE, BEFORE + b"later\n", turn_id="s1:u1")
    subject = WRITE.read_subject(ada, WRITE.find(ada, "w2"))
    assert (subject.status, subject.before) == ("refused", BEFORE.decode())
    create_write(DB, 4, None, None, turn_id="s1:u2", status="refused", target_file="USER.md", reason="Known already.")
    with pytest.raises(Refused, match="nobody knows what the file held"):
        WRITE.read_subject(ada, WRITE.find(ada, "w4"))


def test_both_parts_are_judged_in_the_queue_and_undone(ada, write):
    judge_write(ada, "none")
    sample = only()
    assert (sample.annotation_status, sample.guardian_label) == ("pending", None)
    right = {"decision": "NO_WRITE", "candidateFact": "", "reason": "No."}
    refused = {"status": "refused", "targetFile": "", "reason": "No."}
    part_verdicts = {"gate": PartVerdict("corrected", right), "guardian": PartVerdict("corrected", refused)}
    verdicts.label_sample(sample.id, "approved", by="ann", **part_verdicts)
    sample.refresh_from_db()
    assert (sample.gate_label, sample.guardian_label) == ("corrected", "corrected")
    assert sample.sample_type == "write_guardian_decision"
    undo.undo("ann")
    sample.refresh_from_db()
    assert (sample.annotation_status, sample.gate_label, sample.guardian_label) == ("pending", None, None)
    with pytest.raises(Refused):
        verdicts.label_sample(sample.id, "approved", by="ann", output="A reply")


@pytest.fixture
def group(ada):
    """A chat of Mia and of 42, who opts out later; each had a line written."""
    store_session([user("u1", "one", sender="mia"), agent("a1", "a"), user("u2", "two", sender="42"), agent("a2", "b"),
          user("u3", "three", sender="mia"), agent("a3", "c")])  # fmt: skip
    lines = [b"", b"mia likes tea\n", b"mia likes tea\n42 likes milk\n", b"mia likes tea\n42 likes milk\nmia swims\n"]
    for number in (1, 2, 3):
        create_write(DB, number, lines[number - 1] or None, lines[number], turn_id=f"s1:u{number}")
    return lambda: configuration.put("collector.optedOutSenders", ["42"])


def test_words_of_who_opted_out_are_in_no_sample(ada, group):
    group()
    judge_write(ada, name="w1")
    for name in ("w2", "w3"):
        with pytest.raises(Refused, match="opted out"):
            judge_write(ada, "wrong", name=name)


def test_a_diff_that_is_shared_with_who_opted_out_is_in_no_sample(ada, group):
    for number in (4, 5):
        create_write(DB, number, None, b"a\nb\n", turn_id=f"s1:u{number - 3}", target_file="USER.md")
    share_diff(DB, "w4", "w5")
    group()
    for name in ("w4", "w5"):
        with pytest.raises(Refused, match="opted out"):
            judge_write(ada, name=name)


def test_a_shared_diff_is_followed_to_later_writes(ada, group):
    for number, turn in ((4, 1), (5, 3)):
        create_write(DB, number, None, b"a\nb\n", turn_id=f"s1:u{turn}", target_file="USER.md")
    share_diff(DB, "w4", "w5")
    create_write(DB, 6, b"a\nb\n", b"a\nb\nc\n", turn_id="s1:u1", target_file="USER.md")
    group()
    for name in ("w4", "w5", "w6"):
        judge_write(ada, name=name)
    WriteGuardianAudit.objects.using(DB).filter(id="w4").update(turn_id="s1:u2")  # 42 spoke then
    with pytest.raises(Refused, match="opted out"):
        judge_write(ada, "wrong", name="w6")


def test_only_the_file_of_that_time_counts(ada, group):
    for number, (before, after, turn) in enumerate(
        [(None, b"mia\n", 1), (b"mia\n", b"mia\n42\n", 2), (b"mia\n42\n", b"mia\n", 1), (b"mia\n", b"mia\nb\n", 3)],
        start=4,
    ):
        create_write(DB, number, before, after, turn_id=f"s1:u{turn}", target_file="USER.md")
    group()
    judge_write(ada, name="w4"), judge_write(ada, name="w7")
    for name in ("w5", "w6"):
        with pytest.raises(Refused, match="opted out"):
            judge_write(ada, name=name)


def test_what_somebody_chose_in_a_rollback_is_nobodys_turn(ada, group):
    chosen = create_write(
        DB, 4, b"mia likes tea\n42 likes milk\nmia swims\n", b"by hand\n", origin="rollback", turn_id="s1:u1"
    )
    store_rollback()
    Rollback.objects.using(DB).update(way="merged", own_audit_id=chosen.id)
    group()
    judge_write(ada)
    Rollback.objects.using(DB).update(way="chosen")
    with pytest.raises(Refused, match="opted out"):
        judge_write(ada)


def test_a_file_with_lines_that_nobody_is_known_for_is_withheld(ada, group):
    create_write(DB, 4, b"an older line\n", b"an older line\nmia sings\n", turn_id="s1:u3", target_file="USER.md")
    group()
    with pytest.raises(Refused, match="opted out"):
        judge_write(ada, name="w4")
