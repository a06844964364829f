"""How often rules acted, and how often a person said otherwise afterwards: counted from the writes themselves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError
from django.db.models import Count

from openclaw_web.sqlite.time_limits import time_box

from ..models import BehaviorCorrection, WriteGuardianAudit
from . import rules
from .correcting import Said, says, standing

BUDGET_MS = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with how many writes name it, and of how many of these the correction that stands says something else.

    Numbers are None when counting them takes too long. `is_replaced`: another correction of the same write stands.
    """

    row: BehaviorCorrection
    acted: int | None
    overruled: int | None
    is_replaced: bool = False

    @property
    def is_on(self) -> bool:
        """Whether it is in force."""
        return self.row.switched_off_at is None


def counted(db: str, rows: Sequence[BehaviorCorrection]) -> list[Rule]:
    """These rules with their numbers: the same few queries, however many there are."""
    by_id = {row.id: row for row in rows}
    latest = standing(db, audit_id__in={row.audit_id for row in rows})
    acted: Counter[str] | None
    overruled: Counter[str] | None
    with time_box(db, BUDGET_MS) as is_up:
        try:
            acted, overruled = _acted(db, by_id), _overruled(db, by_id)
        except OperationalError as exc:
            if not is_up(exc):
                raise
            acted = overruled = None
    return [
        Rule(
            row,
            None if acted is None else acted[row.id],
            None if overruled is None else overruled[row.id],
            is_replaced=latest.get(row.audit_id) != row,
        )
        for row in rows
    ]


def _acted(db, by_id):
    rows = WriteGuardianAudit.objects.using(db).filter(rule_id__in=list(by_id)).order_by()
    return Counter(dict(rows.values_list("rule_id").annotate(Count("rule_id"))))


def _overruled(db, by_id):
    """Of each rule the writes that it is named in and whose standing correction is not what it says."""
    found: Counter[str] = Counter()
    for row in standing(db, audit__rule_id__in=list(by_id)).values():
        rule, audit = by_id[row.audit.rule_id], row.audit
        said = rules.said_by(rule, fact=audit.candidate_fact or "", target_file=audit.target_file or "")
        found[rule.id] += says(row).is_other_than(Said(said.status, said.fact, said.target_file))
    return found
