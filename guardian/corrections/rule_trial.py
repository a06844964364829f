"""Tries a rule on the facts that an agent had so far.

The result is what it would catch, and what it would just miss.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import OperationalError
from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from ledger.session.evidence import Evidence, read_messages
from openclaw_web.sqlite.time_limits import time_box

from ..models import BehaviorCorrection, WriteGuardianAudit
from . import patterns, rules
from .correction_store import WriteState, find_active_corrections, get_corrected_state
from .patterns import Matcher

LOOKED_AT = 2_000  # writes, the newest
SHOWN, NEAR = 20, 5
SECONDS = 0.5
COLUMNS = (
    "id",
    "candidate_fact",
    "target_file",
    "status",
    "origin",
    "session_id",
    "turn_id",
    "earliest_at",
    "created_at",
)


@dataclass(slots=True)
class PastFact:
    """A fact that a rule was compared with.

    `row` has the columns COLUMNS of its write, `missing` the line it lacks. With `overruled` people said afterwards
    that the write should have been something else than the rule says.
    """

    row: Any
    missing: str = ""
    evidence: Evidence | None = None
    overruled: bool = False


@dataclass(slots=True)
class RuleTrial:
    """The newest facts that a rule catches, or of which one line is missing.

    `matched` and `missed` count these facts, among `compared`.

    With `is_partial` there are older facts, which were not compared.
    """

    caught: list[PastFact] = field(default_factory=list)
    near: list[PastFact] = field(default_factory=list)
    matched: int = 0
    missed: int = 0
    compared: int = 0
    is_partial: bool = False

    @property
    def is_every(self) -> bool:
        """Whether it matches all of several facts: it says nothing about any of them."""
        return self.matched == self.compared > 1


def try_pattern(db: str, pattern: str) -> RuleTrial:
    """Try a pattern on an agent's past facts, the newest first.

    Raises Refused for what is no pattern.
    """
    result, matcher = RuleTrial(), patterns.compile_pattern(pattern)
    ends = time.monotonic() + SECONDS
    for row in read_past_facts(db):
        if row is None or time.monotonic() > ends:
            result.is_partial = True
            break
        result.compared += 1
        missing = matcher.find_missing(patterns.encode_fact(row.candidate_fact))
        if not missing:
            result.matched += 1
            result.caught += [PastFact(row)] if len(result.caught) < SHOWN else []
        elif len(missing) == 1 < len(matcher.expressions):
            result.missed += 1
            result.near += [PastFact(row, _find_line(matcher, missing[0], pattern))] if len(result.near) < NEAR else []
    add_messages(db, [*result.caught, *result.near])
    return result


def read_past_facts(db: str) -> Iterator[Any]:
    """Yield the newest writes that have a fact.

    A last None says that older ones were left out.

    The fact of a rollback is that of the write which it took back: it is not compared again.
    """
    rows = WriteGuardianAudit.objects.using(db).exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)
    rows = rows.order_by("-created_at").values_list(*COLUMNS, named=True)
    for number, row in enumerate(rows[: LOOKED_AT + 1].iterator(chunk_size=200)):
        if number == LOOKED_AT:
            yield None
        elif row.candidate_fact:
            yield row


def add_messages(db: str, facts: list[PastFact]) -> None:
    """Add to each of these facts the message it came from.

    The queries are as many for one fact as for many.
    """
    messages = read_messages(db, [fact.row for fact in facts]) if facts else {}
    for fact in facts:
        fact.evidence = messages.get(fact.row.id)


def _find_line(matcher: Matcher, number: int, pattern: str) -> str:
    """Return the line of a rule that a fact lacks, as somebody typed it."""
    return ", ".join(matcher.lines[number]) if matcher.lines else pattern.split("\n")[number]


BUDGET_MS = 200
FACTS_SHOWN = 3  # facts of each rule, the newest


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
        return self.row.switched_off_at is None


def read_rule_counts(db: str, rows: Sequence[BehaviorCorrection], *, with_facts: bool = False) -> list[RuleCounts]:
    """Count for each of these rules the writes that name it, and the overruled ones.

    With `with_facts` the newest facts are read as well. The queries are as many for one rule as for many.
    """
    by_id = {row.id: row for row in rows}
    latest = find_active_corrections(db, audit_id__in={row.audit_id for row in rows})
    with time_box(db, BUDGET_MS) as is_up:
        try:
            by_rule: dict[str, list[WriteGuardianAudit]] = {name: [] for name in by_id}
            for row in find_active_corrections(db, audit__rule_id__in=list(by_id)).values():
                rule, audit = by_id[row.audit.rule_id], row.audit
                ruling = rules.build_ruling(rule, fact=audit.candidate_fact or "", target_file=audit.target_file or "")
                if get_corrected_state(row).is_other_than(WriteState(ruling.status, ruling.fact, ruling.target_file)):
                    by_rule[rule.id].append(audit)
            acted_rows = WriteGuardianAudit.objects.using(db).filter(rule_id__in=list(by_id)).order_by()
            acted = Counter(dict(acted_rows.values_list("rule_id").annotate(Count("rule_id"))))
            overruled = by_rule
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
            overturned=[
                PastFact(audit)
                for audit in sorted(overruled[row.id], key=lambda audit: audit.created_at, reverse=True)[:FACTS_SHOWN]
            ]
            if with_facts
            else [],
        )
        for row in rows
    ]
    overruled_ids = {audit.id for audits in overruled.values() for audit in audits}
    facts = [fact for rule in counts for fact in (*rule.caught, *rule.overturned)]
    add_messages(db, facts)
    for fact in facts:
        fact.overruled = fact.row.id in overruled_ids
    return counts


def _find_caught(db, by_id):
    """Return the newest writes that name each of these rules."""
    rows = WriteGuardianAudit.objects.using(db).filter(rule_id__in=list(by_id)).order_by("rule_id", "-created_at")
    order = Window(RowNumber(), partition_by=[F("rule_id")], order_by=F("created_at").desc())
    by_rule: dict[str, list[PastFact]] = {}
    for row in rows.annotate(number=order).filter(number__lte=FACTS_SHOWN).values_list(*COLUMNS, "rule_id", named=True):
        by_rule.setdefault(row.rule_id, []).append(PastFact(row))
    return by_rule
