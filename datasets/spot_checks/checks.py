"""Approval by rules is checked by people: they judge some samples that a rule would approve, without knowing it.

The first 30 samples that a rule would approve stay pending and go to people like all others; afterwards one in twenty.
Rules stop approving when people disagree too often, or do not judge the checks. Then everything that rules approved
since the last check that people confirmed needs review.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from gate.statistics.verdict_summary import VerdictCount
from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log
from people.configuration import setting_values as configuration

from ..models import ApprovalStop, DatasetSample, SpotCheck
from ..review.parts import CORRECT, CORRECTED

LIMIT = "review.approvalErrorPercent"
FIRST = 30  # checks that people have to judge before rules approve anything
SHARE = 20  # afterwards, one sample in so many is a check
ENOUGH = 60  # judged checks from which on the error has to be below the limit for certain
MOST_WAITING = 50
MOST_READ = 2_000  # the newest checks
BATCH = 500
BY_CHECKS = "spot checks"  # the actor of stops in the audit log
PARTS = ("gate", "guardian")
SHAPE = ("sample_type", "output", *(f"{part}_{name}" for part in PARTS for name in ("label", "corrected_output")))
Status = DatasetSample.Status


@dataclass(frozen=True, slots=True)
class CheckState:
    """The checks since rules were last allowed to approve.

    People confirmed `right`, decided otherwise on `wrong`, and have not decided on `waiting`. `error` is the share of
    wrong ones, `interval` its 95% score interval (Wilson); both None without any. `confirmed_at` is when people last
    confirmed one. `stop` is the stop in force.
    """

    right: int
    wrong: int
    waiting: int
    confirmed_at: int
    limit: float
    stop: ApprovalStop | None

    @property
    def error(self) -> float | None:
        """The share of wrong ones, from 0 to 1."""
        return self.wrong / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the error."""
        return VerdictCount(self.right + self.wrong, self.wrong).interval

    @property
    def due(self) -> str:
        """The reason why rules have to stop now; empty: there is none, or they stopped already."""
        low, high = self.interval or (0.0, 0.0)
        if self.stop:
            return ""
        if low > self.limit:
            return ApprovalStop.Reason.WRONG
        if self.right + self.wrong >= ENOUGH and high > self.limit:
            return ApprovalStop.Reason.UNCERTAIN
        return ApprovalStop.Reason.WAITING if self.waiting >= MOST_WAITING else ""

    def as_json(self) -> dict[str, Any]:
        """The values that the API and receipts have."""
        values = {name: value for name, value in asdict(self).items() if name not in ("stop", "confirmed_at")}
        reason = self.stop.reason if self.stop else ""
        return {**values, "error": self.error, "interval": self.interval, "stopped": reason}


def read_state() -> CheckState:
    """Count the checks since rules were last allowed to approve, by what people said."""
    stop = ApprovalStop.objects.filter(resumed_at=None).order_by("-id").first()
    since = ApprovalStop.objects.aggregate(at=Max("resumed_at"))["at"] or 0
    checks = SpotCheck.objects.filter(chosen_at__gt=since).order_by("-chosen_at", "sample_id")
    right = wrong = waiting = confirmed_at = 0
    for batch in in_batches(checks[:MOST_READ], BATCH):
        samples = DatasetSample.objects.only("annotation_status", "annotated_at", "label_id", *SHAPE)
        by_id = samples.in_bulk([check.sample_id for check in batch])
        for check in batch:
            sample = by_id.get(check.sample_id)
            if sample is None:
                continue
            if sample.label_id is None or sample.annotation_status not in (Status.APPROVED, Status.REJECTED):
                waiting += 1
            elif sample.annotation_status == Status.APPROVED and compute_shape_hash(sample) == check.shape_hash:
                right += 1
                confirmed_at = max(confirmed_at, sample.annotated_at or 0)
            else:
                wrong += 1
    return CheckState(right, wrong, waiting, confirmed_at, configuration.get_number(LIMIT) / 100, stop)


def compute_shape_hash(sample: DatasetSample) -> str:
    """The SHA-256 of what approving a sample says: its type, edited reply, labels and corrections.

    A part without a label counts as correct, because approving says that.
    """
    shape = [sample.sample_type, sample.output or ""]
    for part in PARTS:
        label = getattr(sample, f"{part}_label") or CORRECT
        shape += [label, (getattr(sample, f"{part}_corrected_output") or "") if label == CORRECTED else ""]
    return hashlib.sha256(repr(shape).encode()).hexdigest()


def choose_approved(samples: Sequence[DatasetSample]) -> list[str]:
    """Choose checks among samples that a rule would approve; return the ids of those that it may approve.

    Must be called in the transaction that approves them. The others stay as they are: checks, those beyond the first
    ones as long as people have not judged these, and all while rules are stopped.
    """
    state = read_state()
    if state.stop or state.due:
        return []
    judged, waiting, now = state.right + state.wrong, state.waiting, clock.now_ms()
    known = set(SpotCheck.objects.filter(sample_id__in=[row.id for row in samples]).values_list("sample_id", flat=True))
    chosen, approved = [], []
    for sample in samples:
        if sample.id in known or waiting >= MOST_WAITING or (judged < FIRST <= judged + waiting):
            continue
        number = int(hashlib.sha256(f"spot check {sample.id}".encode()).hexdigest(), 16)
        if judged < FIRST or number % SHARE == 0:
            chosen.append(SpotCheck(sample_id=sample.id, chosen_at=now, shape_hash=compute_shape_hash(sample)))
            waiting += 1
        else:
            approved.append(sample.id)
    SpotCheck.objects.bulk_create(chosen, batch_size=BATCH)
    return approved


def is_stop_due() -> bool:
    """Whether rules have to stop approving."""
    return SpotCheck.objects.exists() and bool(read_state().due)


def stop_if_due() -> ApprovalStop | None:
    """Stop approval by rules when it has to, and send to review what they approved since the last right check."""
    if not is_stop_due():
        return None
    with write_queue.global_transaction():
        state = read_state()
        if not state.due:
            return None
        approved = DatasetSample.objects.filter(
            annotation_status=Status.AUTO_APPROVED, label_id=None, annotated_at__gt=state.confirmed_at
        )
        ids = list(approved.values_list("id", flat=True))
        _set_status(ids, Status.AUTO_APPROVED, Status.NEEDS_REVIEW)
        counts = {"right": state.right, "wrong": state.wrong, "waiting": state.waiting}
        stop = ApprovalStop(reason=state.due, stopped_at=clock.now_ms(), returned=ids, **counts)
        stop.save(force_insert=True)
        names = {"object_type": "approval_stop", "object_id": str(stop.pk)}
        log.record(BY_CHECKS, "approval_stopped", **names, reason=stop.reason, samples=len(ids))
    return stop


def approve_again(*, by: str) -> int:
    """Undo what the last stop sent to review: approve those again that nobody judged since. Returns their number.

    Raises Refused when there is nothing to undo.
    """
    with write_queue.global_transaction():
        stop = ApprovalStop.objects.order_by("-id").first()
        if stop is None or stop.undone_at is not None or not stop.returned:
            raise Refused(_("There is nothing to undo: no sample was sent to review by a stop, or that was undone."))
        count = _set_status(stop.returned, Status.NEEDS_REVIEW, Status.AUTO_APPROVED)
        ApprovalStop.objects.filter(pk=stop.pk).update(undone_at=clock.now_ms())
        names = {"object_type": "approval_stop", "object_id": str(stop.pk)}
        log.record(by, "approval_stop_undone", **names, samples=count)
    return count


def resume_approval(*, by: str) -> None:
    """Let rules approve again; the checks are counted anew from now on. Raises Refused when they are not stopped."""
    with write_queue.global_transaction():
        rows = ApprovalStop.objects.filter(resumed_at=None)
        number = rows.aggregate(last=Max("id"))["last"]
        if number is None:
            raise Refused(_("Approval by rules is not stopped."))
        rows.update(resumed_at=clock.now_ms(), resumed_by=by)
        log.record(by, "approval_resumed", object_type="approval_stop", object_id=str(number))


def _set_status(ids: Iterable[str], before: str, after: str) -> int:
    """Change the status of samples that have it and that nobody judged; return how many."""
    count = 0
    for batch in in_batches(ids, BATCH):
        rows = DatasetSample.objects.filter(id__in=batch, annotation_status=before, label_id=None)
        count += rows.update(annotation_status=after)
    return count
