"""Plans the rollback of all writes of a session, the last write first."""

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
    """The rollbacks of a session, by file, in the order in which they are done.

    Each is planned on what the one before leaves. Nobody knows what the file held before the writes that are `unknown`:
    a person chooses to leave them out.
    """

    place: Path
    by_file: dict[str, list[RollbackPlan]] = field(default_factory=dict)
    unknown: list[WriteGuardianAudit] = field(default_factory=list)

    @property
    def hashes(self) -> dict[str, str]:
        """A hash of each file's preview, by the file's name.

        It changes also when other writes were reported meanwhile, while the file is as it was.
        """
        return {name: _hash_plans(plans) for name, plans in self.by_file.items()}

    @property
    def contents(self) -> dict[str, bytes | None]:
        """The new content of each file that changes, by name."""
        last = {name: plans[-1].new_content for name, plans in self.by_file.items()}
        return {name: content for name, content in last.items() if content != self.by_file[name][0].now}

    @property
    def conflicts(self) -> list[RollbackPlan]:
        """The plans that need a person."""
        return [plan for plans in self.by_file.values() for plan in plans if plan.conflicts]


def _hash_plans(plans):
    """Hash the workspace, both contents of a file, and the writes taken back."""
    parts = [
        str(plans[0].place),
        hash_content(plans[0].now),
        hash_content(plans[-1].new_content),
        *(plan.audit.id for plan in plans),
    ]
    return hash_content("\n".join(parts).encode())


def plan_session(agent: Agent, session_id: str, *, since: int | None = None, until: int | None = None) -> SessionPlan:
    """Plan the rollback of the writes of a session; reads only.

    `session_id` is the session's id or key. Writes count from `since` and before `until` (ms). Raises NotPossible when
    there are none, or a version of one is missing; else as `plan_rollback`.
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
    session_plan, contents = SessionPlan(workspace_access.get_workspace(agent)), dict[str, bytes | None]()
    for audit in audits:
        if audit.hunks_json is None or not audit.target_file:
            session_plan.unknown.append(audit)
            continue
        check_versions(audit)
        name = audit.target_file
        write_plan = build_plan(
            audit,
            session_plan.place,
            contents[name] if name in contents else read_workspace_file(session_plan.place, name),
        )
        contents[name] = write_plan.new_content
        session_plan.by_file.setdefault(name, []).append(write_plan)
    if not session_plan.by_file:
        raise NotPossible(_("This session has no write that could be rolled back."))
    return session_plan
