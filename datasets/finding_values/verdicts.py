"""Verdicts of people on findings, and their undoing: rows that are only added."""

from django.utils.translation import gettext as _
from ulid import ULID

from agents import databases
from findings.finding_store import PERSON_RULE
from findings.models import Finding
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log as audit

from ..models import FindingValueAgent, FindingVerdict
from . import copying, sample_privacy, summary
from .decisions import Decisions, read_decisions

__all__ = ["Decisions", "decide", "find_last", "find_undoable", "read_decisions", "undo"]

Scope, Verdict = FindingVerdict.Scope, FindingVerdict.Verdict
REMEMBERED = 50  # latest verdicts of a person, of which the last may be undone


def decide(
    verdict: str,
    *,
    scope: str,
    value_hash: str | None = None,
    rule: str | None = None,
    agent: str | None = None,
    place: str | None = None,
    by: str,
    notes: str = "",
) -> FindingVerdict:
    """Add a verdict on a value, a place or a rule, and return its row.

    `agent` is the id of the place's agent, `place` its text as findings.places writes it. The states in the summary
    and in the agents' files, and the columns of samples follow: of a value in many places, by a job. Raises Refused for
    a verdict without its subject, and for an unknown one.
    """
    row = FindingVerdict(
        scope=scope, verdict=verdict, value_hash=value_hash, rule=rule, agent_id=agent, place=place, notes=notes
    )
    _check(row)
    with write_queue.global_transaction():
        _store(row, by)
        audit.record(
            by, "finding_judged", **_name_subject(row), verdict=str(row.verdict), scope=str(row.scope),
        )  # fmt: skip
    copying.copy_or_queue(row, by=by)
    return row


def undo(verdict_id: str, *, by: str) -> FindingVerdict:
    """Undo a verdict by another row, which is returned; the verdict before it counts again.

    Raises Refused for one that is not stored, was undone already, or undoes another one.
    """
    with write_queue.global_transaction():
        undone = find_undoable(verdict_id)
        row = FindingVerdict(
            scope=undone.scope, verdict=Verdict.UNDONE.value, value_hash=undone.value_hash, rule=undone.rule,
            agent_id=undone.agent_id, place=undone.place, undoes=undone.id,
        )  # fmt: skip
        _store(row, by)
        audit.record(
            by, "finding_undone", **_name_subject(row), verdict=str(undone.verdict), scope=str(undone.scope),
        )  # fmt: skip
    if undone.verdict == Verdict.ADDED:
        _remove_added(undone)
    copying.copy_or_queue(row, by=by)
    return row


def find_undoable(verdict_id: str) -> FindingVerdict:
    """Return a verdict that was not undone.

    Raises Refused for one that was, and for what is no verdict.
    """
    row = FindingVerdict.objects.filter(id=verdict_id, undoes=None).first()
    if row is None:
        raise Refused(_("There is no such verdict. Reload the page."))
    same = FindingVerdict.objects.filter(value_hash=row.value_hash, rule=row.rule)
    if same.filter(undoes=row.id).exists():
        raise Refused(_("This verdict was undone already."))
    return row


def find_last(by: str) -> FindingVerdict | None:
    """Return a person's last verdict that was not undone; None among the last 50 rows."""
    own = list(FindingVerdict.objects.filter(decided_by=by).order_by("-decided_at", "-id")[:REMEMBERED])
    candidates = [row for row in own if not row.undoes]
    if not candidates:
        return None
    since = FindingVerdict.objects.filter(decided_at__gt=candidates[-1].decided_at)  # others may have undone them
    undone = set(since.exclude(undoes=None).values_list("undoes", flat=True))
    return next((row for row in candidates if row.id not in undone), None)


def _check(row):
    needed = {Scope.VALUE: [row.value_hash], Scope.PLACE: [row.value_hash, row.agent_id, row.place]}
    if row.scope not in Scope.values or row.verdict not in Verdict.values or row.verdict == Verdict.UNDONE:
        raise Refused(_("There is no such verdict. Reload the page."))
    if not all(needed.get(row.scope, [row.rule])):
        raise Refused(_("This verdict does not name what it is about. Reload the page."))
    if row.scope == Scope.RULE:
        row.value_hash = row.agent_id = row.place = None


def _store(row, by):
    """Store a row after all others: verdicts count in the order of their times."""
    newest = FindingVerdict.objects.order_by("-decided_at").values_list("decided_at", flat=True).first() or 0
    row.id, row.decided_by, row.decided_at = str(ULID()), by, max(clock.now_ms(), newest + 1)
    row.save(force_insert=True)


def _name_subject(row):
    """The object of an entry in the audit log."""
    if row.scope == Scope.RULE:
        return {"object_type": "finding_rule", "object_id": row.rule}
    return {"object_type": "finding", "object_id": row.value_hash, "agent_id": row.agent_id or ""}


def _remove_added(undone):
    """Remove the findings that people added with a value, once no verdict adds it any more."""
    if undone.value_hash in read_decisions([undone.value_hash]).values:
        return
    held_by = FindingValueAgent.objects.filter(value_hash=undone.value_hash).values_list("agent_id", flat=True)
    for agent_id in list(held_by):
        if db := databases.find_alias(agent_id):
            with write_queue.agent_transaction(db):
                Finding.objects.using(db).filter(value_hash=undone.value_hash, rule=PERSON_RULE).delete()
            summary.refresh(agent_id, db, [undone.value_hash])
    if undone.agent_id and undone.place:
        sample_privacy.refresh_place(undone.agent_id, undone.place)
