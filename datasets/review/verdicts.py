"""Verdicts on samples: one label row, one action and one audit entry each.

Rows of labels are never changed.
"""

from collections.abc import Callable, Collection
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Outdated, Refused
from openclaw_web.sqlite import rows, statements, write_queue
from people.audit import log as audit

from ..dedup import signatures
from ..exporters.samples import GATE_TYPES
from ..exporters.writes import WRITE
from ..finding_values import sample_privacy
from ..forms import normalise_text
from ..kinds import decision as decisions
from ..models import DatasetSample, ReviewAction, SampleLabel
from ..versions import compute_version
from ..words import STATUS_WORDS
from . import claims, drafts, parts, reasons
from .parts import PartVerdict

# The columns that a verdict changes, and that undoing it restores.
VERDICT_COLUMNS = (
    "output",
    "annotation_status",
    "annotated_by",
    "annotated_at",
    "annotation_notes",
    "gate_label",
    "gate_corrected_output",
    "guardian_label",
    "guardian_corrected_output",
    "label_id",
    "reject_reason",
)
# The columns that it also changes in a sample that is a decision of memory_gate.
SHAPE_COLUMNS = ("sample_type", "content")
FILED_CORRECTION = (
    "correction"  # key in the earlier values of a verdict: the correction of a write that was filed with it
)
UPDATE_COLUMNS = f"UPDATE dataset_samples SET {', '.join(f'{name} = %s' for name in VERDICT_COLUMNS)} WHERE id = %s"  # noqa: S608
UPDATE_SHAPE = f"UPDATE dataset_samples SET {', '.join(f'{name} = %s' for name in SHAPE_COLUMNS)} WHERE id = %s"  # noqa: S608
LET_GO = "DELETE FROM sample_claims WHERE sample_id = %s AND claimed_by = %s"
# One query for the sample and its holder: everybody who labels waits for this transaction.
SAMPLE = """SELECT s.*, c.claimed_by AS held_by, c.expires_at AS held_until FROM dataset_samples s
LEFT JOIN sample_claims c ON c.sample_id = s.id AND c.claimed_by <> %s
    AND c.expires_at > %s AND c.expires_at <= %s WHERE s.id = %s"""


class NoSuchSample(Refused):
    """The sample is not there (any more)."""

    def __init__(self):
        super().__init__(_("This sample no longer exists. Go back to the list."))


def label_sample(sample_id: str, status: str, *, by: str, **verdict: Any) -> DatasetSample:
    """Add a verdict to a sample, and return it.

    Earlier verdicts stay in its history. `verdict` is as for `add_verdict`.
    """
    with write_queue.global_transaction():  # from here on nobody else can change the sample
        sample = add_verdict(sample_id, status, by=by, **verdict)
    signatures.ensure_signature(sample_id)
    sample_privacy.refresh_gate(sample_id)
    return sample


def add_verdict(
    sample_id: str,
    status: str,
    *,
    by: str,
    output: str | None = None,
    notes: str = "",
    expected_status: str | None = None,
    is_version: Callable[[str], bool] | None = None,
    gate: PartVerdict | None = None,
    guardian: PartVerdict | None = None,
    reason: str | None = None,
    pages: Collection[str] = (),
    filed: str = "",
) -> DatasetSample:
    """Add a verdict inside the caller's transaction, and release the sample.

    `output` is the reply as the person left it: None changes nothing, the agent's own words remove an earlier edit;
    None for `gate` and `guardian` changes nothing, too. `reason` is a code that a reject may have; the drafts typed on
    `pages` end. Undoing the verdict withdraws the correction `filed`. Raises Refused for an empty reply, a part or
    reason that is not valid, a sample that somebody else has open, and another status than `expected_status`;
    NoSuchSample; Outdated for `is_version`.
    """
    if status not in DatasetSample.Status.values:
        raise Refused(_("There is no status “%(status)s”.") % {"status": status})
    sample = _find_free_sample(sample_id, by, expected_status, is_version)
    before, shape = read_columns(sample), read_shape(sample)
    _judge_sample(sample, status, by=by, output=output, notes=notes, gate=gate, guardian=guardian, reason=reason)
    _store_verdict(
        sample,
        before | ({} if read_shape(sample) == shape else shape) | ({FILED_CORRECTION: filed} if filed else {}),
        by,
    )
    drafts.end_drafts(sample.id, by=by, pages=pages)
    audit.record(
        by, "labelled", object_type="sample", object_id=sample.id, agent_id=sample.agent_id, status=status,
        previous_status=before["annotation_status"],
    )  # fmt: skip
    return sample


def read_columns(sample: DatasetSample) -> dict[str, Any]:
    """The current values of the columns that a verdict may change."""
    return {name: getattr(sample, name) for name in VERDICT_COLUMNS}


def read_shape(sample: DatasetSample) -> dict[str, Any]:
    """Type and content, which a verdict that changes them stores with its `read_columns`."""
    return {name: getattr(sample, name) for name in SHAPE_COLUMNS}


def build_label(
    sample: DatasetSample,
    before: dict[str, Any],
    *,
    by: str,
    at: int,
    label_id: str | None = None,
    undoes: str | None = None,
    bulk_id: str | None = None,
) -> SampleLabel:
    """The row of a verdict, or of its undoing, not stored yet."""
    return SampleLabel(
        id=label_id or sample.label_id,
        sample_id=sample.id,
        status=sample.annotation_status or DatasetSample.Status.PENDING,
        output=sample.output,
        notes=sample.annotation_notes or "",
        previous_status=before["annotation_status"] or DatasetSample.Status.PENDING,
        labelled_by=by,
        labelled_at=at,
        gate_label=sample.gate_label,
        gate_corrected_output=sample.gate_corrected_output,
        guardian_label=sample.guardian_label,
        guardian_corrected_output=sample.guardian_corrected_output,
        undoes=undoes,
        bulk_id=bulk_id,
        before=before,
        reason=sample.reject_reason,
    )


def _find_free_sample(sample_id, by, expected_status, is_version):
    now = clock.now_ms()
    sample = statements.read_object(DatasetSample, SAMPLE, [by, *claims.get_lifetime(), sample_id])
    if sample is None:
        raise NoSuchSample
    if is_version is not None and not is_version(compute_version(sample)):
        raise Outdated(describe_overtaken(sample))
    if expected_status is not None and (sample.annotation_status or DatasetSample.Status.PENDING) != expected_status:
        raise Refused(describe_overtaken(sample))
    if sample.held_by:
        raise Refused(claims.describe_holder(claims.Holder.from_claim(sample.held_by, sample.held_until, now)))
    return sample


def _judge_sample(sample, status, *, by, output, notes, gate, guardian, reason):
    """Set the columns of a sample to a verdict, without storing them."""
    if output is not None:
        sample.output = _read_reply(sample, output)
    _judge_parts(sample, gate, guardian)
    sample.reject_reason = reasons.check_reason(reason, status)
    sample.annotation_status = status
    sample.annotated_by, sample.annotated_at, sample.annotation_notes = by, clock.now_ms(), notes or None
    sample.label_id = str(ULID())


def _store_verdict(sample, before, by):
    statements.run(DEFAULT_DB_ALIAS, UPDATE_COLUMNS, [*read_columns(sample).values(), sample.id])
    if before.keys() & set(SHAPE_COLUMNS):
        statements.run(DEFAULT_DB_ALIAS, UPDATE_SHAPE, [*read_shape(sample).values(), sample.id])
    statements.run(DEFAULT_DB_ALIAS, LET_GO, [sample.id, by])
    rows.insert_row(build_label(sample, before, by=by, at=sample.annotated_at))
    rows.insert_row(
        ReviewAction(
            actor=by,
            kind=ReviewAction.Kind.VERDICT.value,
            at=sample.annotated_at,
            state=ReviewAction.State.DONE.value,
            sample_id=sample.id,
            label_id=sample.label_id,
            status=sample.annotation_status,
        )
    )


def _judge_parts(sample, gate, guardian):
    if not gate and not guardian:
        return
    body = sample.body
    if gate:
        parts.check_part("gate", gate, parts.read_gate_part(body))
        sample.gate_label, sample.gate_corrected_output = gate.label, gate.corrected_json
        if sample.sample_type in GATE_TYPES:
            sample.sample_type, sample.content = decisions.apply_verdict(body, gate)
    if guardian:
        parts.check_part("guardian", guardian, parts.read_guardian_part(body))
        parts.check_content(guardian, body)
        sample.guardian_label, sample.guardian_corrected_output = guardian.label, guardian.corrected_json


def describe_overtaken(sample: DatasetSample) -> str:
    """The sentence that a sample is no longer as the person saw it."""
    status = STATUS_WORDS[sample.annotation_status or DatasetSample.Status.PENDING]
    if not sample.annotated_by:
        return _("The status of this sample has changed to %(status)s. Check the sample again.") % {"status": status}
    return _(
        "Somebody else has reviewed this sample: %(who)s chose %(status)s. Check the sample again, then decide."
    ) % {"who": sample.annotated_by, "status": status}


def _read_reply(sample, output):
    """The reply to store: None when it is the agent's own."""
    if sample.sample_type in (*GATE_TYPES, WRITE):
        raise Refused(_("This sample is a decision and teaches no reply. Leave the reply out."))
    output = normalise_text(output)
    if not output.strip():
        raise Refused(_("The reply is empty. Enter a reply, or reject the sample and leave the reply unchanged."))
    return None if output == normalise_text(sample.body.get("agentReply") or "") else output
