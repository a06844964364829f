"""One verdict on every sample that fits a filter, counted and shown before."""

from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from ulid import ULID

from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements
from people.audit import log as audit

from ..models import CUT_OFF, DatasetSample, ReviewAction, SampleLabel
from ..sample_order import ORDER
from ..words import STATUS_WORDS
from . import claims, parts, queues, verdicts
from .actions import store_action

MOST = 10_000
BATCH = 500
APPROVED = DatasetSample.Status.APPROVED
VERDICTS = (APPROVED, DatasetSample.Status.REJECTED)
JUDGE = """UPDATE dataset_samples SET annotation_status = %s, annotated_by = %s, annotated_at = %s,
    annotation_notes = %s, label_id = %s, reject_reason = %s WHERE id = %s"""
# What approving says of a write or a decision whose sample was created with a label.
CAME_WITH = {
    "right": Q(guardian_label="correct") | Q(gate_label="correct"),
    "absent": Q(guardian_label="corrected", guardian_corrected_output__contains='"status":"refused"'),
    "other": Q(guardian_label="corrected") & ~Q(guardian_corrected_output__contains='"status":"refused"'),
    "decision": Q(gate_label="corrected"),
    "wrong": Q(guardian_label="incorrect") | Q(gate_label="incorrect"),
}
# Without the long columns that a verdict leaves alone.
HOT = ("id", "agent_id", "reply_stop", *verdicts.VERDICT_COLUMNS)


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """The effect of a bulk action: how many samples, the first five, those skipped.

    Other people have `held` of them open; the replies of `cut_off` were cut off, and nobody said why the decisions of
    `unexplained` are wrong, which a bulk action cannot approve.
    `filed` counts what approving says of writes and decisions, by the names of CAME_WITH.
    """

    count: int
    held: int
    cut_off: int
    unexplained: int
    filed: dict[str, int]
    first: list[dict[str, Any]]

    @property
    def wrong(self) -> int:
        """How many writes and decisions approving says are wrong."""
        return _count_wrong(self.filed)

    @property
    def is_too_many(self) -> bool:
        """Whether there are more samples than one bulk action may judge."""
        return self.count > MOST


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result of a bulk action: its id and counts of samples.

    `count` were judged; `held` were left to other people, `cut_off` and `unexplained` skipped.
    """

    bulk_id: str
    status: str
    count: int
    held: int
    cut_off: int
    unexplained: int

    @property
    def sentence(self) -> str:
        """The result in words."""
        sentence = ngettext("%(status)s: %(count)s sample.", "%(status)s: %(count)s samples.", self.count) % {
            "status": STATUS_WORDS[self.status],
            "count": self.count,
        }
        if self.held:
            sentence += " " + ngettext(
                "%(count)s was skipped because somebody has it open.",
                "%(count)s were skipped because somebody has them open.",
                self.held,
            ) % {"count": self.held}  # fmt: skip
        if self.cut_off:
            sentence += " " + ngettext(
                "%(count)s was skipped because its reply was cut off.",
                "%(count)s were skipped because their replies were cut off.",
                self.cut_off,
            ) % {"count": self.cut_off}  # fmt: skip
        if self.unexplained:
            sentence += " " + ngettext(
                "%(count)s was skipped because nobody said why its decision is wrong.",
                "%(count)s were skipped because nobody said why their decisions are wrong.",
                self.unexplained,
            ) % {"count": self.unexplained}  # fmt: skip
        return sentence


@dataclass(frozen=True, slots=True)
class Scope:
    """The list of a bulk action: the `rows` that fit, with its filters.

    `status`, `agent` and `query` are those of the filters; `query` is their address.
    """

    rows: QuerySet[DatasetSample]
    status: str = ""
    agent: str = ""
    query: str = ""

    @property
    def chosen(self) -> QuerySet[DatasetSample]:
        """The samples to judge: those that fit, of a list of all statuses those waiting."""
        return self.rows if self.status else self.rows.filter(annotation_status__in=queues.WAITING)

    @property
    def statuses(self) -> list[str]:
        """Their statuses in words."""
        return [str(STATUS_WORDS[status]) for status in ([self.status] if self.status else queues.NAMES)]


def plan_bulk(scope: Scope, *, by: str) -> BulkPlan:
    """The effect that `label_all` would have now; counts at most one beyond its limit."""
    columns = ("id", "reply_stop", "gate_label", "gate_corrected_output")
    rows = list(scope.chosen.order_by(*ORDER).values_list(*columns)[: MOST + 1])
    ids, cut_off = [row[0] for row in rows], sum(row[1] in CUT_OFF for row in rows)
    unexplained = sum(stop not in CUT_OFF and parts.lacks_reason(*gate) for _id, stop, *gate in rows)
    first = DatasetSample.objects.for_reading().filter(id__in=ids[:5]).order_by(*ORDER)
    filed = _count_filed(scope) if len(ids) <= MOST else {}
    return BulkPlan(len(ids), len(_find_held(by).intersection(ids)), cut_off, unexplained, filed, list(first))


def _count_wrong(filed):
    return sum(count for name, count in filed.items() if name != "right")


def _count_filed(scope):
    counts = {name: Count("id", filter=labelled) for name, labelled in CAME_WITH.items()}
    return scope.chosen.order_by().aggregate(**counts)


def label_all(
    scope: Scope,
    status: str,
    *,
    by: str,
    expected_count: int,
    notes: str = "",
    expected_wrong: int = 0,
    reason: str | None = None,
) -> BulkResult:
    """Give one verdict to every sample that fits and that nobody else has open.

    A reply that was cut off is not approved this way, nor a decision that is wrong for no reason. `reason` is a code
    that a reject may have.

    Raises Refused when another number than `expected_count` fits by now, when approving says of other than
    `expected_wrong` writes and decisions that they are wrong, for more than 10,000, and for other statuses.
    """
    if status not in VERDICTS:
        raise Refused(_("Bulk review can only approve or reject."))
    if scope.status == status:
        raise Refused(_("These samples already have this status."))
    code = verdicts.check_reason(reason, status)
    with transaction.atomic(durable=True):  # IMMEDIATE: nobody changes which samples fit while they are judged
        samples = list(scope.chosen.only(*HOT)[: MOST + 1])
        _check_count(len(samples), expected_count)
        if status == APPROVED:
            _check_wrong(_count_wrong(_count_filed(scope)), expected_wrong)
        held = _find_held(by)
        whole = [sample for sample in samples if status != APPROVED or sample.reply_stop not in CUT_OFF]
        if not whole:
            raise Refused(_("All of these replies were cut off. Review them one at a time."))
        explained = [
            sample
            for sample in whole
            if status != APPROVED or not parts.lacks_reason(sample.gate_label, sample.gate_corrected_output)
        ]
        if not explained:
            raise Refused(_("Nobody said why these decisions are wrong. Review them one at a time."))
        free_samples = [sample for sample in explained if sample.id not in held]
        if not free_samples:
            raise Refused(_("Other reviewers have all of these samples open. Try again in a minute."))
        result = BulkResult(
            str(ULID()),
            status,
            len(free_samples),
            held=len(explained) - len(free_samples),
            cut_off=len(samples) - len(whole),
            unexplained=len(whole) - len(explained),
        )
        _label_samples(free_samples, result, by, notes, code)
        store_action(
            ReviewAction.Kind.BULK, by=by, at=clock.now_ms(), bulk_id=result.bulk_id, status=status,
            sample_count=result.count,
        )  # fmt: skip
        audit.record(
            by, "bulk_labelled", object_type="bulk", object_id=result.bulk_id, agent_id=scope.agent, status=status,
            samples=result.count, left_out=result.held, filters=scope.query,
        )  # fmt: skip
    return result


def _check_count(count, expected):
    if count > MOST:
        raise Refused(
            _("More than %(most)s samples match. Narrow the filter by agent, session or type.") % {"most": MOST}
        )
    if count != expected:
        raise Refused(
            _(
                "The number of matching samples has changed to %(count)s. Nothing was changed. Check the "
                "selection again."
            )
            % {"count": count}
        )
    if not count:
        raise Refused(_("No samples match this filter."))


def _check_wrong(count, expected):
    if count != expected:
        raise Refused(
            format_plural(
                "Approving files %(count)s verdict “Wrong”, not %(expected)s as expected. Nothing was changed. Check "
                "the selection again.",
                "Approving files %(count)s verdicts “Wrong”, not %(expected)s as expected. Nothing was changed. Check "
                "the selection again.",
                count,
                expected=expected,
            )
        )


def _find_held(by):
    others_claims = claims.find_claims_in_force().exclude(claimed_by=by)
    return set(others_claims.values_list("sample_id", flat=True))


def _label_samples(samples, result, by, notes, reason):
    now = clock.now_ms()
    labels = []
    for sample in samples:
        before = verdicts.read_columns(sample)
        sample.annotation_status, sample.annotated_by, sample.annotated_at = result.status, by, now
        sample.annotation_notes, sample.label_id, sample.reject_reason = notes or None, str(ULID()), reason
        labels.append(verdicts.build_label(sample, before, by=by, at=now, bulk_id=result.bulk_id))
    SampleLabel.objects.bulk_create(labels, batch_size=BATCH)
    values = [[result.status, by, now, notes or None, sample.label_id, reason, sample.id] for sample in samples]
    statements.run_many(DEFAULT_DB_ALIAS, JUDGE, values)
