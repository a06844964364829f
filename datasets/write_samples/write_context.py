"""The page context of a sample of a write, with every text of its export row."""

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

    The correction in force counts, also when it is newer than the sample.
    """
    body = sample.body
    if body.get("type") != WRITE:
        return None
    request, done = writes.read_request(body), writes.read_answer(body)
    stored_correction, row = body.get("userCorrection"), corrected_files.read_correction(sample)
    correction: dict[str, Any] = stored_correction if isinstance(stored_correction, dict) else {}
    right = correction.get("correctedContent")
    right, before = right if isinstance(right, str) else None, request.content
    written = done.content if done else None
    if row:
        right_file = corrected_files.find_sample_right_file(sample, correction_store.get_corrected_state(row))
        correction = _correction_fields(row)
        right, before = right_file.content, right_file.before
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
        by=(row.corrected_by if row else _find_rollback_author(sample)) if correction else "",
    )


def _find_rollback_author(sample):
    """The name of the person who rolled the write back; empty: nobody, or not known."""
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


def _build_change(old, new):
    diff = line_diff.compare(old, new)
    return Change(diff, line_diff.build_view(diff))
