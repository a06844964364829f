"""The right content of a file where a write was wrong.

It is the content of that file at the moment of the write, with the right fact.
"""

import re
from dataclasses import dataclass
from typing import Any

from agents import databases
from guardian import services
from guardian.corrections import correction_store
from guardian.corrections.correction_store import WriteState
from guardian.models import BehaviorCorrection, Rollback, WriteGuardianAudit
from ledger import consent
from openclaw_web.diffs import line_diff
from openclaw_web.errors import Refused

from .. import sample_texts as writes
from ..models import DatasetSample
from ..review import parts
from ..sample_texts import WRITE, WRITTEN, WriteAnswer, WriteRequest

LONGEST_FILE = 100_000  # characters: a reviewer has the whole file on the screen
BULLET = re.compile(r"^([-*+]) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OriginalWrite:
    """A write and its file's content `before` and `after` it.

    None: there was no file, or nothing was written.
    """

    at: int
    state: WriteState
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RightFile:
    """The file that a correction names: its content at the write, and its right content.

    None where nobody knows; `before` is None also where there was no file.
    """

    before: str | None = None
    content: str | None = None


def find_right_file(db: str, write: OriginalWrite, state: WriteState) -> RightFile:
    """The right content of the file of `state`.

    Of a file that the write did not touch, its version at that moment counts.
    """
    if state.file != write.state.file:
        before = _read_version(db, state.file, write.at)
        if before is None or state.status != WRITTEN:
            return RightFile(before, before)
        return RightFile(before, add_fact(before, state.fact))
    if state.status != WRITTEN:
        return RightFile(write.before, write.before or "")
    if write.after is None:
        return RightFile(write.before, add_fact(write.before or "", state.fact))
    if state.fact == write.state.fact:
        return RightFile(write.before, write.after)
    is_its_line = write.after.count(write.state.fact) == 1 and write.state.fact not in (write.before or "")
    replaced = write.after.replace(write.state.fact, state.fact) if is_its_line else None
    return RightFile(write.before, replaced or add_fact(write.before or "", state.fact))


def add_fact(content: str, fact: str) -> str:
    """A file with a fact as its last line, in the style of its lists.

    A file that contains the fact already stays as it is.
    """
    fact = writes.join_lines(fact)
    if fact in content:
        return content
    bullets = BULLET.findall(content)
    start = content if not content or content.endswith("\n") else f"{content}\n"
    return f"{start}{bullets[-1] if bullets else '-'} {fact}\n"


def read_correction(sample: DatasetSample) -> BehaviorCorrection | None:
    """The correction in force of a sample's write; None: none, or the store is unreadable."""
    db = find_alias(sample)
    return next(iter(correction_store.find_by_write(db, sample.audit_id)), None) if db and sample.audit_id else None


def find_sample_right_file(sample: DatasetSample, state: WriteState) -> RightFile:
    """The right content of the file of `state`, for a sample that is a write."""
    body, db = sample.body, find_alias(sample)
    request, done = writes.read_request(body), writes.read_answer(body)
    original = WriteState(done.status if done else "", request.fact, request.file)
    audit = WriteGuardianAudit.objects.using(db).filter(id=sample.audit_id).only("created_at").first() if db else None
    if state.file != request.file and audit is None:
        return RightFile()
    write = OriginalWrite(audit.created_at if audit else 0, original, request.content, done.content if done else None)
    return find_right_file(db or "", write, state)


def suggest_content(sample: DatasetSample) -> str | None:
    """The initial whole file of a correction's form; None where nobody knows it."""
    body, output = sample.body, parts.parse_corrected(sample.guardian_corrected_output)
    if body.get("type") != WRITE:
        return None
    answer = writes.read_corrected_answer(output, body)
    if answer is None:
        return body.get("writtenContent") or body.get("currentFileContent")
    if answer.content and not writes.find_misfit(answer, body):
        return answer.content
    state = WriteState(answer.status, _find_right_fact(sample, answer), answer.file)
    return find_sample_right_file(sample, state).content


def _find_right_fact(sample, answer) -> str:
    """The fact of the correction that says the same, else that of the write."""
    row = read_correction(sample)
    if row and (row.corrected_status, row.corrected_target_file) == (answer.status, answer.file):
        return row.corrected_candidate_fact or ""
    known: Any = sample.body.get("userCorrection")
    known = known if isinstance(known, dict) else {}
    is_same = (known.get("correctedDecision"), known.get("correctedFile")) == (answer.status, answer.file)
    return (is_same and known.get("correctedFact")) or writes.read_request(sample.body).fact


def find_alias(sample: DatasetSample) -> str | None:
    """The database alias of the sample's agent; None: it is missing or unreadable."""
    return databases.find_alias(sample.agent_id)


def _read_version(db, name, at):
    """The content of a file at a moment; None where nobody knows.

    None also where a line may be of somebody who has opted out.
    """
    if not name or consent.read_opted_out():
        return None
    version = services.find_held_versions(db, name).filter(created_at__lte=at).order_by("-created_at", "-id").first()
    try:
        text = services.read_version_bytes(version).decode() if version else None
    except (Refused, UnicodeDecodeError):
        return None
    return None if text is None or len(text) > LONGEST_FILE or "\0" in text else text


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a file, as `ui.diff` draws it."""

    diff: line_diff.Diff
    view: line_diff.View


@dataclass(frozen=True, slots=True)
class WriteContext:
    """A write's request and answer, and the correction in force (as a sample stores it).

    `change` is the written change. `right_change` leads from it to the right content, or from the earlier content of
    the correction's file. They are None where nobody knows. `by` is the author of the correction; empty: not known.
    """

    request: WriteRequest
    done: WriteAnswer | None
    change: Change | None
    correction: dict[str, Any]
    right_content: str | None
    right_change: Change | None
    is_elsewhere: bool
    by: str = ""


def build_write_context(sample: DatasetSample) -> WriteContext | None:
    """The context of a sample's write; None when it is no write that has a file.

    The correction of the sample's verdict counts, which exports teach; without one that of the write, also when it is
    newer than the sample.
    """
    body = sample.body
    if body.get("type") != WRITE:
        return None
    request, done = writes.read_request(body), writes.read_answer(body)
    stored_correction, row = body.get("userCorrection"), read_correction(sample)
    correction: dict[str, Any] = stored_correction if isinstance(stored_correction, dict) else {}
    right = correction.get("correctedContent")
    right, before = right if isinstance(right, str) else None, request.content
    written = done.content if done else None
    if row:
        right_file = find_sample_right_file(sample, correction_store.get_corrected_state(row))
        correction = {
            "correctedDecision": row.corrected_status,
            "reason": row.correction_reason,
            "correctedFact": row.corrected_candidate_fact,
            "correctedFile": row.corrected_target_file,
        }
        right, before = right_file.content, right_file.before
    by = (row.corrected_by if row else _find_rollback_author(sample)) if correction else ""
    output = parts.parse_corrected(sample.guardian_corrected_output) if sample.guardian_label == "corrected" else None
    answer = writes.read_corrected_answer(output, body)
    known = [correction.get("correctedDecision"), correction.get("correctedFile") or request.file]
    if answer and (answer.content or [*known, correction.get("reason")] != [answer.status, answer.file, answer.reason]):
        # A reviewer typed another one.
        state = WriteState(answer.status, _find_right_fact(sample, answer), answer.file)
        right_file = find_sample_right_file(sample, state)
        right, before, by = suggest_content(sample), right_file.before, sample.annotated_by or ""
        correction = {"correctedDecision": answer.status, "reason": answer.reason, "correctedFile": answer.file}
        correction["correctedFact"] = state.fact if answer.status == WRITTEN and state.fact in (right or "") else None
    is_elsewhere = (correction.get("correctedFile") or request.file) != request.file
    start = before if is_elsewhere or written is None else written
    return WriteContext(
        request=request,
        done=done,
        change=None if written is None else _build_change(request.content, written),
        correction=correction,
        right_content=right,
        right_change=None if right is None or right == start else _build_change(start, right),
        is_elsewhere=is_elsewhere,
        by=by,
    )


def _find_rollback_author(sample):
    """The name of the person who rolled the write back; empty: nobody, or not known."""
    db = find_alias(sample)
    names = Rollback.objects.using(db).filter(audit_id=sample.audit_id).values_list("rolled_back_by", flat=True)
    return (names.first() or "") if db and sample.audit_id else ""


def _build_change(old, new):
    diff = line_diff.compare(old, new)
    return Change(diff, line_diff.build_view(diff))
