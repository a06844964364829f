"""Rules: corrections that hold for facts to come. What they say of a fact, and which writes they are named in."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..models import BehaviorCorrection, WriteGuardianAudit
from . import patterns, sayable

MOST = 100  # rules of one agent that are switched on: each is compared with every fact
Status, Origin = WriteGuardianAudit.Status, WriteGuardianAudit.Origin
TOLD = (Origin.RECORDED, Origin.IMPORTED)
NEWEST = ("-corrected_at", "-id")


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a rule says of a fact: written or refused, and which fact belongs into which file."""

    rule_id: str
    status: str
    fact: str
    target_file: str
    reason: str

    def differs(self, *, fact: str, target_file: str) -> bool:
        """Whether writing this fact into this file is something else than the rule says."""
        return self.status == Status.REFUSED or (self.fact, self.target_file) != (fact, target_file)


def ruling(db: str, *, fact: str, target_file: str) -> Ruling | None:
    """What the newest switched-on rule says whose pattern matches a fact; None: no rule speaks about it.

    A rule may hold words of somebody who has opted out by now: it gives nothing away, and the fact is refused.
    """
    return _ruling(list(switched_on(db)[:MOST]), fact, target_file)


def acted(db: str, rule_id: str, audit_id: str) -> None:
    """Name the rule in the write that it decided: that is how often a rule acted. Said again, it is the same."""
    WriteGuardianAudit.objects.using(db).filter(id=audit_id).update(rule_id=rule_id)


def flag(db: str, audits: Sequence[WriteGuardianAudit]) -> int:
    """Name in each of these writes, which the caller stores, the rule that it goes against; says how many do.

    Only what somebody else wrote is flagged, after the rule was made. Its status stays: the file has been changed. A
    write that names a rule keeps it.
    """
    written = [one for one in audits if _may_be_flagged(one)]
    rows = list(switched_on(db)[:MOST]) if written else []
    flagged = 0
    for one in written if rows else ():
        made_before = [row for row in rows if row.corrected_at <= one.created_at]
        said = _ruling(made_before, one.candidate_fact or "", one.target_file or "")
        if said and said.differs(fact=one.candidate_fact or "", target_file=one.target_file or ""):
            one.rule_id = said.rule_id
            flagged += 1
    return flagged


def _may_be_flagged(one):
    return one.status == Status.WRITTEN and one.origin in TOLD and one.candidate_fact and one.rule_id is None


def all_of(db: str) -> QuerySet[BehaviorCorrection]:
    """Every correction that became a rule, switched off or not."""
    return BehaviorCorrection.objects.using(db).filter(apply_to_future=True, correction_pattern__isnull=False)


def switched_on(db: str) -> QuerySet[BehaviorCorrection]:
    """The rules that are in force, the newest first: where several match a fact, the first of them decides."""
    return all_of(db).filter(switched_off_at=None).order_by(*NEWEST)


def check_room(db: str, *, but: str = "") -> None:
    """Raises Refused when no other rule can be switched on; those of the write `but` do not count."""
    if switched_on(db).exclude(audit_id=but)[:MOST].count() >= MOST:
        raise Refused(_("%(most)s rules are switched on. Switch one off first.") % {"most": MOST})


def _ruling(rows, fact, target_file):
    seen = patterns.encoded(fact)
    row = next((one for one in rows if _matches(one, seen)), None)
    if row and sayable.is_withheld(row._state.db, row.audit):
        return Ruling(
            row.id, Status.REFUSED, fact, target_file, _("Somebody has opted out whose words this rule holds.")
        )
    return row and said_by(row, fact=fact, target_file=target_file)


def _matches(rule, seen):
    try:
        return patterns.matches(rule.correction_pattern, seen)
    except Refused:  # of another engine's making, as in an imported database: a rule that nobody can read says nothing
        return False


def said_by(rule: BehaviorCorrection, *, fact: str, target_file: str) -> Ruling:
    """What a rule says of a fact that it matches: what its correction left as it was, it leaves as it is."""
    is_other_fact = rule.corrected_candidate_fact and rule.corrected_candidate_fact != rule.original_candidate_fact
    is_other_file = rule.corrected_target_file and rule.corrected_target_file != rule.original_target_file
    return Ruling(
        rule_id=rule.id,
        status=rule.corrected_status,
        fact=(rule.corrected_candidate_fact if is_other_fact else None) or fact,
        target_file=(rule.corrected_target_file if is_other_file else None) or target_file,
        reason=rule.correction_reason,
    )
