"""Verdicts on samples: one label row, one action and one audit entry each.

Rows of labels are never changed.
"""

from collections.abc import Callable, Collection
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Outdated, Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import rows, statements, write_queue
from people.audit import log as audit

from ..dedup import signatures
from ..finding_values import sample_privacy
from ..forms import normalise_text
from ..kinds import decision as decisions
from ..models import DatasetSample, QueueSeat, ReviewAction, SampleClaim, SampleLabel
from ..sample_texts import GATE_TYPES, WRITE
from ..versions import compute_version
from ..words import STATUS_WORDS
from . import claims, drafts, parts
from .actions import store_action
from .claims import Claim
from .parts import PartVerdict
from .queues import Queue

REJECTED = DatasetSample.Status.REJECTED


def check_reason(reason: str | None, status: str) -> str | None:
    """The reason to store. Raises Refused for unknown codes and other verdicts than rejects."""
    if not reason:
        return None
    if status != REJECTED:
        raise Refused(_("Only rejected samples take a reason. Leave the reason out, or reject the sample."))
    codes = parts.read_reasons()
    if reason not in codes:
        names = listed(codes) or _("none, because the setting %(name)s is empty") % {"name": parts.REASONS}
        raise Refused(
            _("There is no reason %(reason)s. Choose one of: %(names)s.") % {"reason": reason, "names": names}
        )
    return reason


def give_reason(label_id: str, reason: str, *, by: str) -> DatasetSample:
    """Give the reason of a reject after the verdict `label_id` of the same person.

    Verdicts are never changed, so a row that amends the first takes its place; undo takes both back. Raises Refused for
    an unknown code, and when that verdict is not in force any more.
    """
    code = check_reason(reason, REJECTED)
    if code is None:
        raise Refused(_("Choose a reason."))
    with write_queue.global_transaction():
        label = SampleLabel.objects.filter(id=label_id, labelled_by=by, status=REJECTED, bulk_id=None).first()
        sample = label and DatasetSample.objects.filter(id=label.sample_id).defer("content").first()
        seats = QueueSeat.objects.filter(label_id=label_id)
        is_in_force = bool(sample and sample.label_id == label_id)
        if not sample or not (is_in_force or seats.exists()):
            raise Refused(_("This verdict is no longer in force, so its reason was not saved."))
        sample.reject_reason, sample.label_id = code, str(ULID())
        if is_in_force:
            sample.save(update_fields=["reject_reason", "label_id"])
        seats.update(label_id=sample.label_id)
        _amend_label(label, sample)
        audit.record(
            by, "reason_given", object_type="sample", object_id=sample.id, agent_id=sample.agent_id, reason=code
        )
    return sample


def _amend_label(label, sample):
    """Add a row that repeats `label` with its reason; its action now counts for both."""
    first, by = label.id, label.labelled_by
    label.id, label.amends = sample.label_id, first
    label.reason, label.labelled_at = sample.reject_reason, clock.now_ms()
    rows.insert_row(label)
    done_actions = ReviewAction.objects.filter(actor=by, label_id=first, state=ReviewAction.State.DONE)
    done_actions.update(label_id=label.id)


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
# The key in the earlier values of a verdict: the correction of a write that was filed with it.
FILED_CORRECTION = "correction"
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
    signatures.ensure_signature(sample)
    sample_privacy.refresh_judged(sample)
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
    before, shape = read_columns(sample), read_shape(sample)
    set_verdict(sample, status, by=by, output=output, notes=notes, gate=gate, guardian=guardian, reason=reason)
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


def set_verdict(
    sample: DatasetSample,
    status: str,
    *,
    by: str,
    output: str | None = None,
    notes: str = "",
    gate: PartVerdict | None = None,
    guardian: PartVerdict | None = None,
    reason: str | None = None,
) -> None:
    """Set the columns of a verdict on a sample, which is not stored yet; the arguments are those of `add_verdict`."""
    if output is not None:
        sample.output = _read_reply(sample, output)
    _judge_parts(sample, gate, guardian)
    sample.reject_reason = check_reason(reason, status)
    sample.annotation_status = status
    sample.annotated_by, sample.annotated_at, sample.annotation_notes = by, clock.now_ms(), notes or None
    sample.label_id = str(ULID())


def store_columns(sample: DatasetSample, *, with_shape: bool) -> None:
    """Store the columns that a verdict changes, with type and content where it changed these too."""
    statements.run(DEFAULT_DB_ALIAS, UPDATE_COLUMNS, [*read_columns(sample).values(), sample.id])
    if with_shape:
        statements.run(DEFAULT_DB_ALIAS, UPDATE_SHAPE, [*read_shape(sample).values(), sample.id])


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
    **of_queue: Any,
) -> SampleLabel:
    """The row of a verdict, or of its undoing, not stored yet; `of_queue` are the columns of one in a review queue."""
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
        **of_queue,
    )


def _store_verdict(sample, before, by):
    store_columns(sample, with_shape=bool(before.keys() & set(SHAPE_COLUMNS)))
    statements.run(DEFAULT_DB_ALIAS, LET_GO, [sample.id, by])
    rows.insert_row(build_label(sample, before, by=by, at=sample.annotated_at))
    store_action(
        ReviewAction.Kind.VERDICT, by=by, at=sample.annotated_at, sample_id=sample.id, label_id=sample.label_id,
        status=sample.annotation_status,
    )  # fmt: skip


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


def skip_sample(sample_id: str, *, by: str) -> None:
    """Leave a sample out of this person's queue. Raises Refused for no sample.

    It stays out until they ask for their skipped samples.
    """
    with transaction.atomic():
        if not DatasetSample.objects.filter(id=sample_id).exists():
            raise Refused(_("This sample no longer exists. Go back to the list."))
        store_action(ReviewAction.Kind.SKIP, by=by, at=clock.now_ms(), sample_id=sample_id)
        SampleClaim.objects.filter(sample_id=sample_id, claimed_by=by).delete()


def label_and_take_next(
    queue: Queue, sample_id: str, verdict: dict[str, Any], *, by: str, ahead: str = ""
) -> tuple[DatasetSample, Claim | None]:
    """Judge a sample; return it with the claim on the next one.

    The next one is behind this one, or behind `ahead`, which the page has already. `verdict` is as for `add_verdict`,
    and is refused as there: then no sample is claimed.
    """
    with write_queue.global_transaction():
        sample = add_verdict(sample_id, by=by, **verdict)
        claim = _claim_next(queue, sample_id, ahead, by)
    signatures.ensure_signature(sample)
    sample_privacy.refresh_judged(sample)
    return sample, claim


def skip_and_take_next(queue: Queue, sample_id: str, *, by: str, ahead: str = "") -> Claim | None:
    """Skip a sample and claim the next one, as `label_and_take_next` does."""
    with write_queue.global_transaction():
        skip_sample(sample_id, by=by)
        return _claim_next(queue, sample_id, ahead, by)


def _claim_next(queue, sample_id, ahead, by):
    besides = (sample_id, ahead) if ahead else (sample_id,)
    claim = claims.take_following(queue, by=by, after=ahead or sample_id, besides=besides)
    if claim:  # the answer shows the sample
        audit.record(by, "read", object_type="sample", object_id=claim.sample_id)
    return claim
