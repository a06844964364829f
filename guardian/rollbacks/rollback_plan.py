"""Plans a rollback: what the file holds now, what it will hold, and conflicts."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from django.db.models import Q
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.recording import turn_matching
from openclaw_web.errors import Refused

from ..corrections.rules import NoSuchWrite
from ..models import FileSnapshot, Rollback, WriteGuardianAudit
from ..services import bytes_to_text, hash_content, read_version_bytes, text_to_bytes
from . import workspace, workspace_access
from .merge import Conflict, take_out

MOST_LINES = 50_000  # of a file that is merged: a memory file has some hundreds
Way, Status = Rollback.Way, WriteGuardianAudit.Status


class NotPossible(Refused):
    """This write cannot be rolled back; the sentence says why."""


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """One rollback in the workspace `place`.

    `now` and `new_content` are what the file holds and will hold (None: no file). `restored` is the version that comes
    back, where one does as a whole. While there are `conflicts`, `new_content` leaves their lines as they are now, and
    nothing is written until somebody has chosen.
    """

    audit: WriteGuardianAudit
    place: Path
    now: bytes | None
    new_content: bytes | None
    way: str
    restored: FileSnapshot | None = None
    hunk: int | None = None
    taken_out: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.audit.target_file or ""

    @property
    def now_hash(self) -> str:
        """The hash of what the file holds; empty: no file."""
        return hash_content(self.now)

    @property
    def seen(self) -> str:
        """Hash that changes when the file, its new content or the workspace changes."""
        return hash_content(f"{self.now_hash} {hash_content(self.new_content)} ".encode() + os.fsencode(self.place))

    def contents(self, chosen: bytes | None = None) -> dict[str, bytes | None]:
        """Return what the file will hold, by its name; empty where nothing changes.

        `chosen` is the content that a person wants instead.
        """
        new_content = self.new_content if chosen is None else chosen
        return {} if new_content == self.now else {self.name: new_content}

    @property
    def is_done(self) -> bool:
        """Whether the file holds what the rollback would write: of a patch, of an editor, or of the agent."""
        is_same = self.new_content == self.now and not self.conflicts
        return is_same and self.hunk is None and self.way == Way.MERGED

    @property
    def has_changed(self) -> bool:
        """Whether somebody changed the file since the write."""
        return self.way != Way.EXACT


def plan_rollback(agent: Agent, audit_id: str, *, hunk: int | None = None) -> RollbackPlan:
    """Plan the rollback of a write, or of one hunk of it (from 0).

    The plan changes no file. Raises NoSuchWrite, NotPossible, DamagedVersion when bytes are missing, MayNotWrite and
    NotWritten for the file itself.
    """
    rows = WriteGuardianAudit.objects.using(agent.db).select_related("before_snapshot", "after_snapshot")
    audit = rows.filter(id=audit_id).first()
    if audit is None:
        raise NoSuchWrite(_("This agent has no write %(id)s.") % {"id": audit_id})
    check_possible(audit)
    place = workspace_access.get_workspace(agent)
    return build_plan(audit, place, read_workspace_file(place, audit.target_file or ""), hunk=hunk)


def check_possible(audit: WriteGuardianAudit) -> None:
    """Raise NotPossible for a write that changed nothing, or of which a side is not known."""
    if audit.status == Status.ROLLED_BACK:
        raise NotPossible(_("This write has been rolled back already."))
    if audit.status != Status.WRITTEN:
        sentences = {
            Status.REFUSED: _("The guardian refused this write, so there is nothing to roll back."),
            Status.SKIPPED: _("The guardian skipped this write, so there is nothing to roll back."),
            Status.FAILED: _("This write failed, so there is nothing to roll back."),
        }
        raise NotPossible(sentences.get(audit.status) or _("Nothing was written, so there is nothing to roll back."))
    if audit.hunks_json is None:
        raise NotPossible(_("Nobody knows what the file held before this write, so it cannot be rolled back."))
    check_versions(audit)


def build_plan(audit: WriteGuardianAudit, place: Path, now: bytes | None, *, hunk: int | None = None) -> RollbackPlan:
    """Plan the rollback of a write in a file that holds `now`.

    `place` is the workspace. Raises NotPossible and DamagedVersion.
    """
    before, after = (
        None if version is None else read_version_bytes(version)
        for version in (audit.before_snapshot, audit.after_snapshot)
    )
    if now == after and hunk is None:
        _check_length(before, audit.target_file)
        return RollbackPlan(audit, place, now, before, Way.EXACT, audit.before_snapshot)
    texts = [bytes_to_text(content or b"") for content in (before, after, now)]
    if any(text.count("\n") > MOST_LINES for text in texts):
        words = {"file": audit.target_file, "most": f"{MOST_LINES:,}"}
        raise NotPossible(
            _("%(file)s has changed since, and has more than %(most)s lines. Take the change out by hand.") % words
        )
    merged = take_out(*texts, only=None if hunk is None else [hunk])
    if hunk is not None and not (merged.taken_out or merged.done or merged.conflicts):
        raise NotPossible(_("This write has no change %(number)s.") % {"number": hunk + 1})
    new_content = None if not merged.text and before is None else text_to_bytes(merged.text)
    _check_length(new_content, audit.target_file)
    if merged.text == texts[2]:
        new_content = now  # nothing to take out: what somebody made of the file stays, be it empty or gone
    hunks = {"taken_out": merged.taken_out, "done": merged.done, "conflicts": merged.conflicts}
    return RollbackPlan(audit, place, now, new_content, Way.MERGED, hunk=hunk, **hunks)


def _check_length(content, name):
    if content is not None and len(content) > workspace.MOST_BYTES:
        raise NotPossible(_("%(file)s would be larger than 5 MB. Change it by hand.") % {"file": name})


def read_memory_file(agent: Agent, name: str) -> bytes | None:
    """Return what a memory file of an agent holds now; None: there is none."""
    return read_workspace_file(workspace_access.get_workspace(agent), name)


def read_workspace_file(place: Path, name: str) -> bytes | None:
    """Return what a memory file of a workspace holds now; None: there is none."""
    with workspace.open_workspace(place) as folder:
        file = folder.open_file(name)
        if file is None:
            return None
        file.close()
        return file.data


def check_versions(audit: WriteGuardianAudit) -> None:
    """Raise NotPossible when a version that a write names is not stored any more.

    A missing version does not mean that there was no file.
    """
    sides = (audit.before_snapshot_id, audit.before_snapshot), (audit.after_snapshot_id, audit.after_snapshot)
    if any(name and version is None for name, version in sides):
        sentence = _(
            "A version of the file is missing, so the write %(id)s cannot be rolled back. Run a check under System."
        )
        raise NotPossible(sentence % {"id": audit.id})


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
