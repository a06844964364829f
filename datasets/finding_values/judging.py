"""Verdicts as pages and the API send them, and what each person may decide."""

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from agents import databases
from findings import places
from findings.models import Finding
from openclaw_web.errors import Refused
from people.models import User

from ..models import FindingValue, FindingVerdict
from . import verdicts, words

Scope = FindingVerdict.Scope
# The lowest role that may decide on what a verdict is about.
ROLES = {Scope.VALUE.value: "labeller", Scope.PLACE.value: "labeller", Scope.RULE.value: "admin"}


def judge(
    user: User, value: FindingValue, verdict: str, *, scope: str, agent_id: str = "", finding_id: int | None = None,
    notes: str = "",
) -> FindingVerdict:  # fmt: skip
    """Give a verdict on a value, its rule, or the place of one finding.

    `finding_id` is a row in the file of the agent `agent_id`. Raises PermissionDenied for a rule from anybody but an
    admin, and Refused for a place that does not hold the value (any more).
    """
    _check_role(user, scope)
    by, name = user.username, value.value_hash
    if scope == Scope.PLACE:
        place = _find_place(name, agent_id, finding_id)
        return verdicts.decide(verdict, scope=scope, value_hash=name, agent=agent_id, place=place, by=by, notes=notes)
    if scope == Scope.RULE:
        return verdicts.decide(verdict, scope=scope, rule=value.rule, by=by, notes=notes)
    return verdicts.decide(verdict, scope=scope, value_hash=name, rule=value.rule, by=by, notes=notes)


def undo(user: User, verdict_id: str = "") -> FindingVerdict:
    """Undo one verdict, or the person's last one; return the row that undoes it.

    Raises PermissionDenied for the verdict of somebody else, unless an admin undoes it, and for one on a rule as
    `judge`; Refused when there is nothing to undo.
    """
    row = verdicts.find_undoable(verdict_id) if verdict_id else verdicts.find_last(user.username)
    if row is None:
        raise Refused(_("There is nothing to undo among your last verdicts on findings."))
    _check_role(user, row.scope)
    if row.decided_by != user.username and not user.has_role("admin"):
        raise PermissionDenied
    return verdicts.undo(row.id, by=user.username)


def may_undo(user: User) -> bool:
    """Whether a person has a verdict that the key for undoing would take back."""
    return user.has_role("labeller") and verdicts.find_last(user.username) is not None


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


def _check_role(user, scope):
    if not user.has_role(ROLES.get(scope, "labeller")):
        raise PermissionDenied


def _find_place(value_hash, agent_id, finding_id):
    db = databases.find_alias(agent_id)
    findings = Finding.objects.using(db).filter(id=finding_id, value_hash=value_hash) if db and finding_id else None
    finding = findings.first() if findings is not None else None
    if finding is None:
        raise Refused(_("The value does not stand in this place any more. Reload the page."))
    return places.find_place_id(finding)
