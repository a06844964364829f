"""Rolls back a write, or all writes of a session, as it was previewed.

If a file has changed since the preview, nothing is done.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from ulid import ULID

from agents.models import Agent
from openclaw_web import clock, reasons
from openclaw_web.errors import Refused
from people.audit import log as audit_log

from ..standing import effects
from . import apply, recovery, rollback_plan, workspace_access
from .apply import FileChanged, check_seen
from .intent_store import Reversal, Step
from .rollback_plan import RollbackPlan, Way, plan_rollback, plan_session
from .workspace import NotOurs

FOLDER = "rollback-copies"
KEPT = 20  # of each file of an agent
CHOICE_NEEDED = gettext_lazy(
    "Somebody changed the same lines since. Choose what the file should hold: on the page of the rollback, or with "
    "--choose-file."
)


class NoCopy(Refused):
    """A copy could not be written, so nothing else was."""


def store_copies(agent: Agent, steps: Sequence[Step]) -> list[Path]:
    """Copy what the files hold now and return the paths of the copies. Raises NoCopy."""
    folder, moment = settings.HOME_DIR / FOLDER / agent.agent_id, clock.now_ms()
    paths = []
    for step in steps:
        if step.now is not None:
            name = f"{step.name}.{moment}"
            path = folder / name
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
                with os.fdopen(handle, "wb") as file:
                    file.write(step.now)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as exc:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                words = {"path": path, "reason": reasons.describe_os_error(exc)}
                raise NoCopy(_("Nothing was rolled back: %(path)s was not written (%(reason)s).") % words) from exc
            paths.append(path)
            # All but the newest copies are removed; their names end with the time when they were made (ms).
            copies = [copy for copy in folder.glob(f"{step.name}.*") if copy.suffix[1:].isdigit()]
            for copy in sorted(copies, key=lambda copy: int(copy.suffix[1:]))[:-KEPT]:
                copy.unlink(missing_ok=True)
    return paths


LONGEST_REASON = 1_000


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """A request for a rollback: its author, its reason and its options.

    With `keeps_copy` what the files hold is also kept as files of this site. With `accepts_effect` the author knows and
    accepts that the agent's next write takes a file out of the prompt.
    """

    by: str
    reason: str
    keeps_copy: bool = True
    accepts_effect: bool = False


class Outcome(StrEnum):
    """State of a file after a rollback that brought back no version."""

    REMOVED = "removed"  # there is no file any more
    CHOSEN = "chosen"  # what a person chose
    MERGED = "merged"  # what somebody else wrote since, without the lines of the write


@dataclass(slots=True)
class RollbackResult:
    """Result of a rollback.

    `restored_to` is when the version was made that is back (ms), or a word where none is back as a whole.

    `own_audit_id` is the rollback as a write, which can be rolled back as well; also when one hunk was taken out.

    `meanwhile` are ids of versions that somebody wrote while files were exchanged: kept, and not in the files.
    """

    audit_id: str
    rollback_id: str
    restored_to: int | Outcome
    own_audit_id: str
    success: bool = True
    meanwhile: list[str] = field(default_factory=list)


def roll_back(
    agent: Agent,
    audit_id: str,
    request: RollbackRequest,
    *,
    seen: str | None,
    hunk: int | None = None,
    chosen: bytes | None = None,
) -> RollbackResult:
    """Roll back a write, or one hunk of it; one whose file is as after the rollback is only marked.

    `seen` is `RollbackPlan.seen` of the preview (None: there was none); `chosen` is the content that a person chose.
    Raises as `rollback_plan.plan_rollback` and `apply.apply_steps` do, and FileChanged when a conflict needs a person.
    """
    workspace_access.check_enabled()
    check_reason(request)
    with log_refusals(agent, request.by, "write", audit_id), workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        current_plan = plan_rollback(agent, audit_id, hunk=hunk)
        check_seen(seen, current_plan.seen, current_plan.name)
        check_chosen(current_plan, chosen)
        if not current_plan.is_done or chosen is not None:
            workspace_access.check_writes()
        new_content = current_plan.new_content if chosen is None else chosen
        effect = effects.accept_effects(agent, current_plan.contents(chosen), is_accepted=request.accepts_effect)
        take = _build_reversal(current_plan, effect, chosen)
        # One hunk alone leaves the rest of a write in the file: that is a write of its own, and no rollback of it.
        takes = (take,) if current_plan.hunk is None else ()
        step = Step(current_plan.name, current_plan.now, new_content, (audit_id,), takes)
        meanwhile = _apply(agent, current_plan.place, [step], request)
    details = {"object_id": audit_id, "agent_id": agent.agent_id, "way": take.way, **effects.effect_to_json(effect)}
    audit_log.record(request.by, "write_rolled_back", object_type="write", **details)
    return RollbackResult(
        audit_id, take.rollback_id, _find_restored(current_plan, chosen), step.own_id, meanwhile=meanwhile
    )


def roll_back_session(
    agent: Agent,
    session_id: str,
    request: RollbackRequest,
    *,
    seen: dict[str, str] | None,
    since: int | None = None,
    until: int | None = None,
    leave_out: Collection[str] = (),
) -> list[RollbackResult]:
    """Roll back all writes of a session, the last one first: all, or none.

    `seen` is `SessionPlan.hashes` of the preview, `leave_out` those of `SessionPlan.unknown`. Raises as `plan_session`;
    FileChanged for conflicts, changed files, and writes that nobody chose to leave out.
    """
    _check(request)
    with log_refusals(agent, request.by, "session", session_id), workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        current_plan = plan_session(agent, session_id, since=since, until=until)
        if seen is not None and current_plan.hashes != seen:
            raise FileChanged(_("A file has changed since the preview. Check the new preview."))
        if current_plan.conflicts:
            raise FileChanged(_("Somebody changed the same lines since. Roll these writes back one by one."))
        audits = [audit for audit in current_plan.unknown if audit.id not in leave_out]
        if audits:
            sentence = ngettext(
                "Nobody knows what the file held before %(count)s write of this session. Choose to leave it out.",
                "Nobody knows what the file held before %(count)s writes of this session. Choose to leave them out.",
                len(audits),
            )
            rows = [{"id": audit.id, "reason": audit.candidate_fact or audit.target_file or ""} for audit in audits]
            raise FileChanged(sentence % {"count": len(audits)}, reasons=rows)
        effect = effects.accept_effects(agent, current_plan.contents, is_accepted=request.accepts_effect)
        steps = [
            Step(
                name,
                plans[0].now,
                plans[-1].new_content,
                tuple(write_plan.audit.id for write_plan in plans),
                tuple(_build_reversal(write_plan, effect) for write_plan in plans),
            )
            for name, plans in current_plan.by_file.items()
        ]
        meanwhile = _apply(agent, current_plan.place, steps, request)
    results = [
        RollbackResult(take.audit_id, take.rollback_id, _find_restored(write_plan), step.own_id, meanwhile=meanwhile)
        for step in steps
        for take, write_plan in zip(step.takes, current_plan.by_file[step.name], strict=True)
    ]
    details = {
        "object_id": session_id,
        "agent_id": agent.agent_id,
        "writes": len(results),
        **effects.effect_to_json(effect),
    }
    audit_log.record(request.by, "session_rolled_back", object_type="session", **details)
    return results


def put_content(agent: Agent, audit_id: str, name: str, data: bytes, request: RollbackRequest, *, seen: str) -> None:
    """Put content into a file that belongs to a write, as a write of its own.

    `seen` is the hash of what the file held. Raises as `roll_back`.
    """
    _check(request)
    with workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        place = workspace_access.get_workspace(agent)
        now = rollback_plan.read_workspace_file(place, name)
        check_seen(seen, rollback_plan.hash_content(now), name)
        step = Step(name, now, data, (audit_id,), (), is_put=True)
        effects.accept_effects(agent, {name: data}, is_accepted=request.accepts_effect)
        _apply(agent, place, [step], request)


@contextmanager
def log_refusals(agent: Agent, by: str, object_type: str, object_id: str) -> Iterator[None]:
    """Record in the audit log when the block finds something else in a file's place.

    It may be a link, for example.
    """
    try:
        yield
    except NotOurs as refused:
        details = {"object_type": object_type, "object_id": object_id, "agent_id": agent.agent_id}
        audit_log.record(by, "rollback_refused", **details, why=refused.sentence)
        raise


def _find_restored(write_plan: RollbackPlan, chosen=None):
    """Return when the restored version was made (ms), else what the file holds."""
    if chosen is not None:
        return Outcome.CHOSEN
    if write_plan.new_content is None:
        return Outcome.REMOVED
    return write_plan.restored.created_at if write_plan.restored else Outcome.MERGED


def _apply(agent, place, steps: Sequence[Step], request: RollbackRequest):
    apply.check_room(steps)
    if all(step.now == step.new_content for step in steps):
        return apply.record_steps(agent, place, steps, by=request.by, reason=request.reason)
    if request.keeps_copy:
        store_copies(agent, steps)
    return apply.apply_steps(agent, place, steps, by=request.by, reason=request.reason)


def check_chosen(write_plan: RollbackPlan, chosen: bytes | None) -> None:
    """Raise FileChanged where a person has to choose the content and nobody has."""
    if write_plan.conflicts and chosen is None:
        raise FileChanged(str(CHOICE_NEEDED))


def _check(request):
    workspace_access.check_rollbacks()
    check_reason(request)


def check_reason(request: RollbackRequest) -> None:
    """Raise Refused for a request without a reason, or with a very long one."""
    if not request.reason.strip():
        raise Refused(_("Say why this is rolled back."))
    if len(request.reason) > LONGEST_REASON:
        raise Refused(_("A reason has at most 1,000 characters."))


def _build_reversal(write_plan: RollbackPlan, effect, chosen=None):
    way = write_plan.way if chosen is None else Way.CHOSEN
    restored_id = write_plan.restored.id if write_plan.restored and chosen is None else None
    return Reversal(write_plan.audit.id, str(ULID()), way, restored_id, **effects.effect_to_json(effect))
