"""Verdicts of people on found values: rows that are only added. Each is an action in the history of review."""

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.utils.translation import gettext as _
from ulid import ULID

from agents import databases
from findings import places
from findings.finding_store import PERSON_RULE
from findings.models import Finding
from jobs import services as jobs
from openclaw_web import clock
from openclaw_web.detectors.spans import NOT_FULLY_SCANNED
from openclaw_web.errors import Refused
from openclaw_web.pages import states
from openclaw_web.sqlite import write_queue
from people.audit import log as audit
from people.models import User

from ..models import FindingValue, FindingValueAgent, FindingVerdict, ReviewAction
from ..review import claims
from ..review.actions import store_action
from . import sample_privacy, summary, words
from .decisions import read_decisions

Scope, Verdict = FindingVerdict.Scope, FindingVerdict.Verdict
# The lowest role that may decide on what a verdict is about.
ROLES = {Scope.VALUE.value: "labeller", Scope.PLACE.value: "labeller", Scope.RULE.value: "admin"}
MOST_VERDICTS = 50  # on a page


def judge(
    user: User, value: FindingValue, verdict: str, *, scope: str, agent_id: str = "", finding_id: int | None = None,
    notes: str = "", expected: str = "",
) -> FindingVerdict:  # fmt: skip
    """Give a verdict on a value, its rule, or the place of one finding.

    `finding_id` is a row in the file of the agent `agent_id`. Raises PermissionDenied for a rule from anybody but an
    admin, and Refused for a place that does not hold the value (any more).
    """
    check_role(user, scope)
    if value.kind == NOT_FULLY_SCANNED and verdict == Verdict.DISMISSED:
        raise Refused(_("This text was not fully scanned, so it is in no export. It cannot be dismissed."))
    by, name = user.username, value.value_hash
    if scope == Scope.RULE:
        return decide(verdict, scope=scope, rule=value.rule, by=by, notes=notes)
    if scope != Scope.PLACE:
        return decide(verdict, scope=scope, value_hash=name, rule=value.rule, by=by, notes=notes, expected=expected)
    db = databases.find_alias(agent_id) if finding_id else None
    finding = Finding.objects.using(db).filter(id=finding_id, value_hash=name).first() if db else None
    if finding is None:
        raise Refused(_("The value does not stand in this place any more. Reload the page."))
    place = places.find_place_id(finding)
    return decide(verdict, scope=scope, value_hash=name, agent=agent_id, place=place, by=by, notes=notes)


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
    expected: str = "",
) -> FindingVerdict:
    """Add a verdict on a value, a place or a rule, and return its row.

    `agent` is the id of the place's agent, `place` its text as findings.places writes it. The states in the summary and
    the columns of samples follow: where they are many, by a job. Raises Refused for a verdict without its subject, for
    an unknown one, and for a value that somebody else has open, or that has another state than `expected`.
    """
    needed = {Scope.VALUE: [value_hash], Scope.PLACE: [value_hash, agent, place]}
    if scope not in Scope.values or verdict not in Verdict.values or verdict == Verdict.UNDONE:
        raise Refused(_("There is no such verdict. Reload the page."))
    if not all(needed.get(scope, [rule])):
        raise Refused(_("This verdict does not name what it is about. Reload the page."))
    if scope == Scope.RULE:
        value_hash = agent = place = None
    row = FindingVerdict(
        scope=scope, verdict=verdict, value_hash=value_hash, rule=rule, agent_id=agent, place=place, notes=notes
    )
    with write_queue.global_transaction():
        if value_hash and verdict != Verdict.ADDED:  # adding one does not judge what is on a screen
            value = FindingValue.objects.filter(value_hash=value_hash).first() if expected else None
            if value and value.state != expected:
                raise Refused(
                    _("The status of this value has changed to %(status)s. Check the value again.")
                    % {"status": states.word(value.state)}
                )
            if other := claims.find_holder(value_hash, besides=by):
                raise Refused(claims.describe_holder(other, claims.VALUE))
            claims.release(value_hash, by=by)
        _store(row, by, "finding_judged", verdict)
        store_action(ReviewAction.Kind.VERDICT, by=by, at=row.decided_at, label_id=row.id, sample_count=0)
    _follow(row, by)
    return row


def take_back(verdict_id: str, *, by: str) -> FindingVerdict:
    """Undo a verdict by another row, which is returned; the verdict before it counts again.

    Raises Refused for one that is not stored, was undone already, or undoes another one.
    """
    with write_queue.global_transaction():
        undone = find_undoable(verdict_id)
        row = FindingVerdict(
            scope=undone.scope, verdict=Verdict.UNDONE.value, value_hash=undone.value_hash, rule=undone.rule,
            agent_id=undone.agent_id, place=undone.place, undoes=undone.id,
        )  # fmt: skip
        _store(row, by, "finding_undone", undone.verdict)
        actions = ReviewAction.objects.filter(actor=undone.decided_by, at=undone.decided_at, label_id=undone.id)
        actions.update(state=ReviewAction.State.UNDONE)
    if row.scope == Scope.VALUE and row.value_hash not in read_decisions([row.value_hash]).values:
        _remove_added(row.value_hash)  # what people added with the value: no verdict adds it any more
    _follow(row, by)
    return row


def read_history(value: FindingValue) -> list[tuple[FindingVerdict, bool]]:
    """The newest verdicts on a value, its places and its rule.

    Each is a pair with True while it may be undone.
    """
    about = Q(value_hash=value.value_hash) | Q(value_hash=None, rule=value.rule)
    verdicts = list(FindingVerdict.objects.filter(about).order_by("-decided_at", "-id")[:MOST_VERDICTS])
    undone = {row.undoes for row in verdicts if row.undoes}
    return [(row, not row.undoes and row.id not in undone) for row in verdicts]


def describe(row: FindingVerdict, value: FindingValue | None) -> str:
    """A sentence about a verdict that was just given or undone."""
    if row.undoes:
        return _("The verdict was undone.")
    is_confirmed = row.verdict != FindingVerdict.Verdict.DISMISSED
    sentence = {
        (Scope.VALUE.value, True): _("%(kind)s: confirmed."),
        (Scope.VALUE.value, False): _("%(kind)s: dismissed wherever it stands."),
        (Scope.PLACE.value, True): _("%(kind)s: confirmed in this place."),
        (Scope.PLACE.value, False): _("%(kind)s: dismissed in this place."),
        (Scope.RULE.value, True): _("Rule %(rule)s: everything that it finds is confirmed."),
        (Scope.RULE.value, False): _("Rule %(rule)s: everything that it finds is dismissed."),
    }[str(row.scope), is_confirmed]
    return sentence % {"kind": words.get_kind_word(value.kind) if value else "", "rule": row.rule or ""}


def check_role(user: User, scope: str) -> None:
    """Raises PermissionDenied for somebody who may not decide on what a verdict is about."""
    if not user.has_role(ROLES.get(scope, "labeller")):
        raise PermissionDenied


def find_undoable(verdict_id: str) -> FindingVerdict:
    """Find a verdict. Raises Refused for one that is not stored, was undone already, or undoes another one."""
    row = FindingVerdict.objects.filter(id=verdict_id, undoes=None).first()
    if row is None:
        raise Refused(_("There is no such verdict. Reload the page."))
    if FindingVerdict.objects.filter(value_hash=row.value_hash, rule=row.rule, undoes=row.id).exists():
        raise Refused(_("This verdict was undone already."))
    return row


def _store(row, by, action, verdict):
    """Store a row after all others, because verdicts count in the order of their times, and note it in the audit."""
    newest = FindingVerdict.objects.order_by("-decided_at").values_list("decided_at", flat=True).first() or 0
    row.id, row.decided_by, row.decided_at = str(ULID()), by, max(clock.now_ms(), newest + 1)
    row.save(force_insert=True)
    if row.scope == Scope.RULE:
        subject = {"object_type": "finding_rule", "object_id": row.rule}
    else:
        subject = {"object_type": "finding", "object_id": row.value_hash, "agent_id": row.agent_id or ""}
        summary.set_states(FindingValue.objects.filter(value_hash=row.value_hash), read_decisions([row.value_hash]))
    audit.record(by, action, **subject, verdict=str(verdict), scope=str(row.scope))


def _follow(row, by):
    """Have the columns of samples follow a verdict, and of one on a rule the summary: now, or by a job if many."""
    if sample_privacy.is_large(row):
        jobs.start(sample_privacy.COPY, {"verdict": row.id}, by=by)
    else:
        sample_privacy.follow(row)


def _remove_added(value_hash):
    held_by = FindingValueAgent.objects.filter(value_hash=value_hash).values_list("agent_id", flat=True)
    for agent_id in list(held_by):
        db = databases.find_alias(agent_id)
        added = Finding.objects.using(db).filter(value_hash=value_hash, rule=PERSON_RULE) if db else []
        if sessions := {row.session_id for row in added}:
            with write_queue.agent_transaction(db):
                added.delete()
            summary.refresh(agent_id, db, [value_hash])
            sample_privacy.refresh_sessions(agent_id, sessions)
