"""Replies, decisions and writes that people judged in every way, for tests of formats."""

import orjson

from datasets.models import DatasetSample
from tests.datasets.exports.branches import body
from tests.factories import SampleFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

ARGUMENTS = {"path": "a", "lines": [1, 2], "deep": {"on": True}}
OLD, NEW = "# User\n", "# User\n- likes tea\n"


def store_judged_turns():
    """Six turns: approved, edited with a call, edited in blanks only, edited, rejected, not judged."""
    call = assistant("I will look.", ("c", "read", ARGUMENTS))
    second = (user("question 2"), call, result("c", "notes"), assistant("answer 2"))
    others = [part for number in (3, 4, 5, 6) for part in (user(f"question {number}"), assistant(f"answer {number}"))]
    store_session(user("question 1"), assistant("answer 1"), *second, *others)
    outputs = {2: "a better answer 2", 3: "answer  3\n", 4: "quite another answer 4"}
    for number in range(1, 7):
        status = {5: "rejected", 6: "pending"}.get(number, "approved")
        place = {"session_id": "s1", "turn_number": number, "annotation_status": status}
        SampleFactory(id=f"sample-{number}", content=body(number), output=outputs.get(number), **place)


def store_judged_decisions():
    """Three turns with a decision of memory_gate: right, corrected, and wrong without a correction."""
    decided = {"decision": "UPDATE_USER", "reason": "A preference.", "candidateFact": "likes tea"}
    right = '{"decision": "NO_WRITE", "reason": "Said in jest.", "candidateFact": ""}'
    for number, label in enumerate(("correct", "corrected", "incorrect"), start=1):
        content = body(number, memoryGate={"output": decided})
        place = {"session_id": "gate", "turn_number": number, "annotation_status": "approved"}
        verdict = {"gate_label": label, "gate_corrected_output": right if label == "corrected" else None}
        SampleFactory(id=f"gate-{number}", content=content, **place, **verdict)


def store_judged_writes():
    """Three writes: right, rolled back, and one of which nobody knows what it wrote, corrected."""
    known = {"candidateFact": "likes tea", "targetFile": "USER.md", "currentFileContent": OLD, "decision": "written"}
    for number, (label, written) in enumerate((("correct", NEW), ("corrected", NEW), ("corrected", None)), start=1):
        content = {"type": "write_guardian_decision", **known, "decisionReason": "It lasts.", "writtenContent": written}
        output = {"status": "refused", "targetFile": "USER.md", "reason": "Said in jest."}
        SampleFactory(
            id=f"write-{number}",
            sample_type=DatasetSample.Type.WRITE_GUARDIAN_DECISION,
            session_id="write",
            turn_number=number,
            content=dump(content),
            annotation_status="approved",
            guardian_label=label,
            guardian_corrected_output=dump(output) if label == "corrected" else None,
        )


def dump(value):
    """A value as a text of JSON."""
    return orjson.dumps(value).decode()
