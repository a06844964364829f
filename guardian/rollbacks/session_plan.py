"""What rolling back all writes of a session would do: one after the other in thought, the last write first."""

from dataclasses import dataclass, field
from pathlib import Path

from django.db.models import Q
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.recording import turn_matching

from ..models import WriteGuardianAudit
from . import workspace_access
from .rollback_plan import (
    NotPossible,
    RollbackPlan,
    Status,
    build_plan,
    check_versions,
    hash_content,
    read_workspace_file,
)

MOST_WRITES = 100  # of a session that are rolled back together: both contents of each are compared


@dataclass(slots=True)
class SessionPlan:
    """The rollbacks of a session: those of each file in the order in which they are done, each on what the one before
    leaves. Nobody knows what the file held before those that are `unknown`: they are left out, by choice.
    """

    place: Path
    by_file: dict[str, list[RollbackPlan]] = field(default_factory=dict)
    unknown: list[WriteGuardianAudit] = field(default_factory=list)

    @property
    def hashes(self) -> dict[str, str]:
        """What tells the preview of each file from one of another change, by name: other writes may have been told of
        meanwhile, while the file is as it was.
        """
        return {name: _hash(plans) for name, plans in self.by_file.items()}

    @property
    def contents(self) -> dict[str, bytes | None]:
        """What each file that changes will hold."""
        last = {name: plans[-1].wanted for name, plans in self.by_file.items()}
        return {name: wanted for name, wanted in last.items() if wanted != self.by_file[name][0].now}

    @property
    def conflicts(self) -> list[RollbackPlan]:
        """Those that need a person."""
        return [one for plans in self.by_file.values() for one in plans if one.conflicts]


def _hash(plans):
    """Of where a file is, what it holds and will hold, and of the writes that are taken back."""
    told = [
        str(plans[0].place),
        hash_content(plans[0].now),
        hash_content(plans[-1].wanted),
        *(plan.audit.id for plan in plans),
    ]
    return hash_content("\n".join(told).encode())


def plan_session(agent: Agent, session_id: str, *, since: int | None = None, until: int | None = None) -> SessionPlan:
    """What rolling back the writes of a session (its id or key; from `since`, before `until`; ms) would do. Reads only.

    Raises NotPossible when there are none, or a version of one is missing; else as `planning.plan`.
    """
    ids = turn_matching.find_session_ids(agent.db, agent.agent_id, [session_id])
    named = Q(session_id__in=[session_id, *ids]) | Q(session_key=session_id)
    rows = WriteGuardianAudit.objects.using(agent.db).filter(named, status=Status.WRITTEN)
    rows = rows.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)
    rows = rows.filter(created_at__gte=since) if since is not None else rows
    rows = rows.filter(created_at__lt=until) if until is not None else rows
    if rows.values("id")[: MOST_WRITES + 1].count() > MOST_WRITES:
        sentence = _("This session has more than %(most)s writes. Choose a shorter time for the rollback.")
        raise NotPossible(sentence % {"most": MOST_WRITES})
    audits = rows.select_related("before_snapshot", "after_snapshot").order_by("-created_at", "-id")
    made, holds = SessionPlan(workspace_access.get_workspace(agent)), dict[str, bytes | None]()
    for audit in audits:
        if audit.hunks_json is None or not audit.target_file:
            made.unknown.append(audit)
            continue
        check_versions(audit)
        name = audit.target_file
        one = build_plan(audit, made.place, holds[name] if name in holds else read_workspace_file(made.place, name))
        holds[name] = one.wanted
        made.by_file.setdefault(name, []).append(one)
    if not made.by_file:
        raise NotPossible(_("This session has no write that could be rolled back."))
    return made
