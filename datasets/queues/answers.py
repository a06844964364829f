"""Verdicts in a review queue: one of each reviewer, then the sample's own where they agree, else a conflict.

Each is a row of `sample_labels`, an action that its author can undo, and an entry of the audit log. Until the last
reviewer has answered, the sample itself does not change.
"""

from collections.abc import Mapping
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import rows, statements, write_queue
from people.audit import log as audit
from people.models import User

from ..dedup import signatures
from ..finding_values import sample_privacy
from ..kinds import decision as decisions
from ..models import CUT_OFF, DatasetSample, QueueItem, ReviewAction, ReviewQueue, SampleClaim, SampleLabel
from ..review import claims, drafts, verdicts
from ..review.actions import store_action
from ..review.parts import PartVerdict, parse_corrected
from ..review.queues import WAITING, Queue
from ..sample_texts import GATE_TYPES
from .blind import cover
from .questions import check_answers
from .seats import SeatClaims

ADJUDICATION, VERDICT = "adjudication", "verdict"
NONE: Mapping[str, str] = {}


def answer_and_take_next(
    queue: Queue, sample_id: str, verdict: Mapping[str, Any], *, user: User, ahead: str = ""
) -> tuple[DatasetSample, claims.Claim | None]:
    """Give a verdict in a queue and claim the next item, both or neither.

    `verdict` is as for `answer`; in the queue of conflicts it decides one.
    """
    besides = (sample_id, ahead) if ahead else (sample_id,)
    place = {"by": user.username, "after": ahead or sample_id, "besides": besides}
    with write_queue.global_transaction():
        judged = (adjudicate if queue.conflicts else answer)(queue.review_queue, sample_id, user=user, **verdict)
        claim = claims.take_following(queue, **place) if queue.conflicts else SeatClaims(queue).take_following(**place)
        if claim:  # the answer shows the sample
            audit.record(user.username, "read", object_type="sample", object_id=claim.sample_id)
    stored = DatasetSample.objects.filter(id=sample_id, label_id=judged.label_id).first()
    if stored:  # the verdict is in force
        signatures.ensure_signature(stored)
        sample_privacy.refresh_judged(stored)
    return judged, claim


def answer(
    queue_id: str,
    sample_id: str,
    *,
    user: User,
    guideline: int | None = None,
    answers: Mapping[str, Any] = NONE,
    with_twins: bool = False,
    **verdict: Any,
) -> DatasetSample:
    """Add a person's verdict on an item, inside the caller's transaction; return the sample as they judged it.

    `verdict` is as for `verdicts.add_verdict`; `guideline` is the version that the person was given. Raises Refused for
    a verdict or answer that is not valid, for somebody who may not judge here, and when the item has its reviewers.
    """
    queue, by = _find_queue(queue_id), user.username
    if not queue.has_reviewer(user):
        raise Refused(_("You are not a reviewer of this queue."))
    claim = SeatClaims(Queue(review_queue=queue_id)).renew(sample_id, by=by)
    item = QueueItem.objects.get(queue=queue, sample_id=sample_id)
    sample, before = _read_covered(sample_id)
    version = queue.guidelines.filter(number=guideline or queue.guideline).first()
    if version is None:
        raise Refused(_("This queue has no version %(number)s of its guideline.") % {"number": guideline})
    texts = "\n".join(str(sample.body.get(name) or "") for name in ("userMessage", "agentReply", "candidateFact"))
    checked = check_answers(version.questions, answers, texts)
    last = ReviewAction.objects.filter(actor=by).order_by("-at").values_list("at", flat=True).first() or 0
    seconds = max(0, clock.now_ms() - max(claim.since, last)) // 1000
    label = _store_label(
        sample, before, verdict, by=by, queue=queue, kind=VERDICT, guideline=version.number, seconds=seconds,
        answers=checked,
    )  # fmt: skip
    item.seats.filter(reviewer=by).update(label_id=label.id, with_twins=with_twins)
    close_answered(item, queue)
    return sample


def adjudicate(
    queue_id: str,
    sample_id: str,
    *,
    user: User,
    chosen: str = "",
    with_twins: bool = False,
    **verdict: Any,
) -> DatasetSample:
    """Decide a conflict by the verdict `chosen` or a third one, which is in force; inside the caller's transaction.

    Raises Refused for a conflict that is decided or open with somebody else, and for somebody who may not decide it.
    """
    queue, by = _find_queue(queue_id), user.username
    item = queue.items.filter(sample_id=sample_id).first()
    if item is None or item.state != QueueItem.State.CONFLICT:
        raise Refused(_("This sample has no conflict that waits for a decision."))
    seats = item.seats.filter(label_id__isnull=False)
    if not queue.has_adjudicator(user):
        raise Refused(_("Conflicts of this queue are decided by its adjudicators and by admins."))
    if not user.has_role("admin") and seats.filter(reviewer=by).exists():
        raise Refused(_("One of these verdicts is yours. Somebody else decides this conflict."))
    if claims.take(sample_id, by=by) is None:
        raise Refused(claims.describe_holder(claims.find_holder(sample_id, besides=by)))
    sample, before = _read_covered(sample_id)
    if chosen:
        label = SampleLabel.objects.filter(id__in=seats.values("label_id"), id=chosen).first()
        if label is None:
            raise Refused(_("This verdict is not one of the conflict."))
        verdict |= {
            "status": label.status, "output": label.output, "reason": label.reason,
            "gate": _build_part(label.gate_label, label.gate_corrected_output),
            "guardian": _build_part(label.guardian_label, label.guardian_corrected_output),
        }  # fmt: skip
    label = _store_label(sample, before, verdict, by=by, queue=queue, kind=ADJUDICATION, guideline=queue.guideline)
    item.state = QueueItem.State.ADJUDICATED
    item.save(update_fields=["state"])
    _put_in_force(item, label, with_twins=with_twins)
    SampleClaim.objects.filter(sample_id=sample_id, claimed_by=by).delete()
    return sample


def close_answered(item: QueueItem, queue: ReviewQueue) -> None:
    """Close an open item that has its verdicts: done where they agree, else a conflict. For callers in a transaction.

    The verdict of a gold item is known already: it is not changed.
    """
    seats = dict(item.seats.filter(label_id__isnull=False).values_list("label_id", "with_twins"))
    if item.state != QueueItem.State.OPEN or len(seats) < queue.reviewers:
        return
    labels = list(SampleLabel.objects.filter(id__in=seats).order_by("labelled_at", "id"))
    item.seats.filter(label_id=None).delete()
    agree = len({_build_key(label) for label in labels}) == 1
    item.state = QueueItem.State.DONE if agree or item.gold_label else QueueItem.State.CONFLICT
    item.save(update_fields=["state"])
    if agree and not item.gold_label:
        _put_in_force(item, labels[-1], with_twins=all(seats.values()))


def withdraw(label: SampleLabel, sample: DatasetSample) -> str:
    """Take a verdict of a queue out of its item, inside the caller's transaction; its sample is not changed.

    Returns a sentence when the item was closed or decided since, so that the verdict cannot be undone.
    """
    item = QueueItem.objects.filter(queue=label.queue_id, sample_id=label.sample_id).first()
    is_in_force = sample.label_id == label.id
    closed = (QueueItem.State.DONE, QueueItem.State.ADJUDICATED)
    if item is None or (item.state in closed and not is_in_force and not item.gold_label):
        return _(
            "Your verdict cannot be undone: the sample has got its verdict since. Undo again for the previous action."
        )
    if label.kind == ADJUDICATION:
        item.state = QueueItem.State.CONFLICT
    else:
        now, until = claims.get_lifetime()
        item.seats.filter(label_id=label.id).update(label_id=None, since=now, expires_at=until)
        item.state = QueueItem.State.OPEN
    item.save(update_fields=["state"])
    return ""


def close_again(label: SampleLabel) -> None:
    """After an undone verdict, close its item if the others are enough for a number of reviewers that was lowered."""
    item = QueueItem.objects.filter(queue=label.queue_id, sample_id=label.sample_id).select_related("queue").first()
    if item:
        close_answered(item, item.queue)


def _find_queue(queue_id):
    queue = ReviewQueue.objects.filter(id=queue_id).first()
    if queue is None or not queue.is_open:
        raise Refused(_("This queue is closed."))
    return queue


def _read_covered(sample_id):
    """The sample as before all verdicts, and its stored columns."""
    sample = DatasetSample.objects.filter(id=sample_id).first()
    if sample is None:
        raise verdicts.NoSuchSample
    before = verdicts.read_columns(sample)
    if sample.sample_type in GATE_TYPES:
        before |= verdicts.read_shape(sample)
    cover(sample)
    return sample, before


def _store_label(sample, before, verdict, *, by, queue, **columns):
    """Store a verdict as a label, an action and an audit entry, and end its drafts; the sample is not changed."""
    names = ("output", "notes", "gate", "guardian", "reason")
    verdicts.set_verdict(sample, verdict["status"], by=by, **{name: verdict[name] for name in names if name in verdict})
    label = verdicts.build_label(sample, before, by=by, at=sample.annotated_at, queue_id=queue.id, **columns)
    rows.insert_row(label)
    shared = {"by": by, "at": label.labelled_at, "sample_id": sample.id, "label_id": label.id, "status": label.status}
    store_action(ReviewAction.Kind.VERDICT, **shared)
    drafts.end_drafts(sample.id, by=by, pages=verdict.get("pages", ()))
    audit.record(
        by, "labelled", object_type="sample", object_id=sample.id, agent_id=sample.agent_id, status=label.status,
        previous_status=before["annotation_status"],
    )  # fmt: skip
    return label


def _build_part(label, corrected):
    return PartVerdict(label, parse_corrected(corrected) or None) if label else None


def _build_key(label):
    """The values that verdicts have to agree in: status, labels of the parts, and the texts that rows would teach."""
    corrected = [
        tuple(sorted((name, text) for name, text in parse_corrected(output).items() if name != "reason"))
        for output in (label.gate_corrected_output, label.guardian_corrected_output)
    ]
    return label.status, label.gate_label, label.guardian_label, label.output, *corrected


def _put_in_force(item, label, *, with_twins):
    """Give a sample, and with `with_twins` those of the same words, a stored verdict."""
    sample = DatasetSample.objects.get(id=item.sample_id)
    _set_columns(sample, label)
    sample.label_id = label.id
    sample.gate_label, sample.gate_corrected_output = label.gate_label, label.gate_corrected_output
    sample.guardian_label, sample.guardian_corrected_output = label.guardian_label, label.guardian_corrected_output
    is_shaped = label.gate_label is not None and sample.sample_type in GATE_TYPES
    if is_shaped:
        gate = _build_part(label.gate_label, label.gate_corrected_output)
        sample.sample_type, sample.content = decisions.apply_verdict(sample.body, gate)
    verdicts.store_columns(sample, with_shape=is_shaped)
    if with_twins:
        _judge_twins(item, label)


def _set_columns(sample, label):
    sample.output, sample.annotation_status, sample.reject_reason = label.output, label.status, label.reason
    sample.annotated_by, sample.annotated_at, sample.annotation_notes = (
        label.labelled_by,
        label.labelled_at,
        label.notes or None,
    )


def _judge_twins(item, label):
    """Give the waiting samples of the same words the same verdict, as a bulk action with its own undo."""
    held = claims.find_claims_in_force().exclude(claimed_by=label.labelled_by).values("sample_id")
    twins = DatasetSample.objects.filter(id__in=item.twins, annotation_status__in=WAITING).exclude(id__in=held)
    if label.status in DatasetSample.APPROVED:
        twins = twins.exclude(reply_stop__in=CUT_OFF)
    labels, values, bulk_id = [], [], str(ULID())
    for twin in twins:
        before = verdicts.read_columns(twin)
        _set_columns(twin, label)
        twin.label_id = str(ULID())
        labels.append(verdicts.build_label(twin, before, by=label.labelled_by, at=label.labelled_at, bulk_id=bulk_id))
        values.append([*verdicts.read_columns(twin).values(), twin.id])
    if not labels:
        return
    SampleLabel.objects.bulk_create(labels)
    statements.run_many(DEFAULT_DB_ALIAS, verdicts.UPDATE_COLUMNS, values)
    by, at = label.labelled_by, label.labelled_at
    shared = {"status": label.status, "sample_count": len(labels)}
    store_action(ReviewAction.Kind.BULK, by=by, at=at, bulk_id=bulk_id, **shared)
    audit.record(
        by, "bulk_labelled", object_type="bulk", object_id=bulk_id, status=label.status, samples=len(labels), left_out=0
    )
