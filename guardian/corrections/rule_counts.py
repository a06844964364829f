"""Counts how often rules acted, and how often people overruled them.

The numbers are counted from the writes themselves.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import OperationalError
from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from openclaw_web.sqlite.time_limits import time_box

from ..models import BehaviorCorrection, WriteGuardianAudit
from . import rule_trial, rules
from .correction_store import WriteState, find_active_corrections, get_corrected_state
from .rule_trial import PastFact

BUDGET_MS = 200
SHOWN = 3  # facts of each rule, the newest


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """A rule with the numbers of writes that name it and that were overruled.

    A write is overruled when the correction that stands says something else than the rule. Numbers are None when
    counting them takes too long. With `is_replaced` another correction of the same write stands. `caught` and
    `overturned` are the newest facts that the rule applied to, and those of them that people overruled.
    """

    row: BehaviorCorrection
    acted: int | None
    overruled: int | None
    is_replaced: bool = False
    caught: list[PastFact] = field(default_factory=list)
    overturned: list[PastFact] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        """Whether the rule is on."""
        return self.row.switched_off_at is None


def read_rule_counts(db: str, rows: Sequence[BehaviorCorrection], *, with_facts: bool = False) -> list[RuleCounts]:
    """Count for each of these rules the writes that name it, and the overruled ones.

    With `with_facts` the newest facts are read as well. The queries are as many for one rule as for many.
    """
    by_id = {row.id: row for row in rows}
    latest = find_active_corrections(db, audit_id__in={row.audit_id for row in rows})
    with time_box(db, BUDGET_MS) as is_up:
        try:
            acted, overruled = _count_acted(db, by_id), _find_overruled(db, by_id)
            caught = _find_caught(db, by_id) if with_facts else {}
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return [RuleCounts(row, None, None, is_replaced=latest.get(row.audit_id) != row) for row in rows]
    counts = [
        RuleCounts(
            row,
            acted[row.id],
            len(overruled[row.id]),
            is_replaced=latest.get(row.audit_id) != row,
            caught=caught.get(row.id, []),
            overturned=[PastFact(audit) for audit in _take_newest(overruled[row.id])] if with_facts else [],
        )
        for row in rows
    ]
    _add_messages(db, counts, {audit.id for audits in overruled.values() for audit in audits})
    return counts


def _count_acted(db, by_id):
    rows = WriteGuardianAudit.objects.using(db).filter(rule_id__in=list(by_id)).order_by()
    return Counter(dict(rows.values_list("rule_id").annotate(Count("rule_id"))))


def _find_overruled(db, by_id):
    """Return for each rule the writes whose standing correction says something else."""
    by_rule: dict[str, list[WriteGuardianAudit]] = {name: [] for name in by_id}
    for row in find_active_corrections(db, audit__rule_id__in=list(by_id)).values():
        rule, audit = by_id[row.audit.rule_id], row.audit
        ruling = rules.build_ruling(rule, fact=audit.candidate_fact or "", target_file=audit.target_file or "")
        if get_corrected_state(row).is_other_than(WriteState(ruling.status, ruling.fact, ruling.target_file)):
            by_rule[rule.id].append(audit)
    return by_rule


def _find_caught(db, by_id):
    """Return the newest writes that name each of these rules."""
    rows = WriteGuardianAudit.objects.using(db).filter(rule_id__in=list(by_id)).order_by("rule_id", "-created_at")
    order = Window(RowNumber(), partition_by=[F("rule_id")], order_by=F("created_at").desc())
    by_rule: dict[str, list[PastFact]] = {}
    for row in (
        rows.annotate(number=order).filter(number__lte=SHOWN).values_list(*rule_trial.COLUMNS, "rule_id", named=True)
    ):
        by_rule.setdefault(row.rule_id, []).append(PastFact(row))
    return by_rule


def _take_newest(audits):
    return sorted(audits, key=lambda audit: audit.created_at, reverse=True)[:SHOWN]


def _add_messages(db, counts, overruled):
    facts = [fact for rule in counts for fact in (*rule.caught, *rule.overturned)]
    rule_trial.add_messages(db, facts)
    for fact in facts:
        fact.overruled = fact.row.id in overruled
