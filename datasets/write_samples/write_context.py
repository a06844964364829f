"""A sample that is a write as its page shows it: every word that a row of an export would hold."""

from dataclasses import dataclass
from typing import Any

from guardian.corrections import correction_store
from guardian.models import Rollback
from openclaw_web.diffs import line_diff

from ..exporters import writes
from ..exporters.writes import WRITE, WriteAnswer, WriteRequest
from ..models import DatasetSample
from . import corrected_files


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a file, as `ui.diff` draws it."""

    diff: line_diff.Diff
    view: line_diff.View


@dataclass(frozen=True, slots=True)
class WriteContext:
    """What was asked and done, and what people said would have been right (`correction`, as a sample stores it).

    `change` is what was written. `right_change` leads to what would have been right: from there, else from what the
    file of the correction held before. None where nobody knows. `by` says who gave the correction; empty: not known.
    """

    asked: WriteRequest
    done: WriteAnswer | None
    change: Change | None
    correction: dict[str, Any]
    right_content: str | None
    right_change: Change | None
    is_elsewhere: bool
    by: str = ""


def build_write_context(sample: DatasetSample) -> WriteContext | None:
    """The same of a sample; None when it is no write that has a file. The correction that stands by now counts."""
    body = sample.body
    if body.get("type") != WRITE:
        return None
    asked, done = writes.read_request(body), writes.read_answer(body)
    found, row = body.get("userCorrection"), corrected_files.read_correction(sample)
    correction: dict[str, Any] = found if isinstance(found, dict) else {}
    right = correction.get("correctedContent")
    right, before = right if isinstance(right, str) else None, asked.content
    written = done.content if done else None
    if row:
        known = corrected_files.find_sample_right_file(sample, correction_store.get_corrected_state(row))
        correction = _correction_fields(row)
        right, before = known.content, known.before
    is_elsewhere = (correction.get("correctedFile") or asked.file) != asked.file
    start = before if is_elsewhere or written is None else written
    return WriteContext(
        asked=asked,
        done=done,
        change=None if written is None else _change(asked.content, written),
        correction=correction,
        right_content=right,
        right_change=None if right is None or right == start else _change(start, right),
        is_elsewhere=is_elsewhere,
        by=(row.corrected_by if row else _who_took_it_back(sample)) if correction else "",
    )


def _who_took_it_back(sample):
    """Who rolled the write of a sample back; empty: nobody, or not known."""
    db = corrected_files.find_alias(sample)
    names = Rollback.objects.using(db).filter(audit_id=sample.audit_id).values_list("rolled_back_by", flat=True)
    return (names.first() or "") if db and sample.audit_id else ""


def _correction_fields(row):
    """A correction as a sample stores it."""
    return {
        "correctedDecision": row.corrected_status,
        "reason": row.correction_reason,
        "correctedFact": row.corrected_candidate_fact,
        "correctedFile": row.corrected_target_file,
    }


def _change(old, new):
    diff = line_diff.compare(old, new)
    return Change(diff, line_diff.build_view(diff))
