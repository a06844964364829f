"""Rolling back a write, or all writes of a session: previewed, then done as it was previewed or not at all."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from ulid import ULID

from agents.models import Agent
from openclaw_web.errors import Refused
from people.audit import log as audit_log

from ..standing import effects
from . import apply, copies, recovery, rollback_plan, workspace_access
from .apply import FileChanged
from .rollback_plan import RollbackPlan, Way, plan_rollback
from .session_plan import SessionPlan, plan_session
from .steps import Reversal, Step
from .workspace import NotOurs

LONGEST_REASON = 1_000


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """Who wants a rollback and why. `keeps_copy`: what the files hold is also kept as files of this site.

    `accepts_effect`: it is known, and accepted, that the agent's next write takes a file out of the prompt.
    """

    by: str
    reason: str
    keeps_copy: bool = True
    accepts_effect: bool = False


class Outcome(StrEnum):
    """What a file holds after a rollback that brought back no version."""

    REMOVED = "removed"  # there is no file any more
    CHOSEN = "chosen"  # what a person chose
    MERGED = "merged"  # what somebody else wrote since, without the lines of the write


@dataclass(slots=True)
class RollbackResult:
    """What was done. `restored_to` is when the version was made that is back, or a word where none is back as a whole.

    `own_audit_id` is the rollback as a write, which can be rolled back as well; also when one hunk was taken out.

    `meanwhile` are versions that somebody wrote while files were exchanged: kept, and not in the files.
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
    wish: RollbackRequest,
    *,
    seen: str | None,
    hunk: int | None = None,
    chosen: bytes | None = None,
) -> RollbackResult:
    """Roll back a write. `seen` is `Plan.seen` of the preview (None: nobody saw one); `chosen` is the content.

    Raises as `planning.plan`, as `exchanging.carry_out`, and Changed when a conflict needs a person.
    """
    _check(wish)
    with log_refusals(agent, wish.by, "write", audit_id), workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        made = plan_rollback(agent, audit_id, hunk=hunk)
        if seen is not None and made.seen != seen:
            raise FileChanged(_("%(file)s has changed since the preview. Check the new preview.") % {"file": made.name})
        check_chosen(made, chosen)
        wanted = made.wanted if chosen is None else chosen
        effect = effects.accept_effects(agent, made.contents(chosen), is_accepted=wish.accepts_effect)
        take = _take(made, effect, chosen)
        # One hunk alone leaves the rest of a write in the file: that is a write of its own, and no rollback of it.
        takes = (take,) if made.hunk is None else ()
        step = Step(made.name, made.now, wanted, (audit_id,), takes)
        meanwhile = _carried_out(agent, made.place, [step], wish)
    about = {"object_id": audit_id, "agent_id": agent.agent_id, "way": take.way, **effects.effect_to_json(effect)}
    audit_log.record(wish.by, "write_rolled_back", object_type="write", **about)
    return RollbackResult(audit_id, take.rollback_id, _restored_to(made, chosen), step.own_id, meanwhile=meanwhile)


def roll_back_session(
    agent: Agent,
    session_id: str,
    wish: RollbackRequest,
    *,
    seen: dict[str, str] | None,
    since: int | None = None,
    until: int | None = None,
    leave_out: Collection[str] = (),
) -> list[RollbackResult]:
    """Roll back all writes of a session, the last one first: all of them, or with a refusal none.

    `seen` is `SessionPlan.hashes` of the preview, `leave_out` those of `SessionPlan.unknown`. Raises as `plan_session`;
    Changed for conflicts, changed files, and writes that nobody chose to leave out.
    """
    _check(wish)
    with log_refusals(agent, wish.by, "session", session_id), workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        made = plan_session(agent, session_id, since=since, until=until)
        if seen is not None and made.hashes != seen:
            raise FileChanged(_("A file has changed since the preview. Check the new preview."))
        if made.conflicts:
            raise FileChanged(_("Somebody changed the same lines since. Roll these writes back one by one."))
        _check_left_out(made, leave_out)
        effect = effects.accept_effects(agent, made.contents, is_accepted=wish.accepts_effect)
        steps = _steps(made, effect)
        meanwhile = _carried_out(agent, made.place, steps, wish)
    results = [
        RollbackResult(take.audit_id, take.rollback_id, _restored_to(one), step.own_id, meanwhile=meanwhile)
        for step in steps
        for take, one in zip(step.takes, made.by_file[step.name], strict=True)
    ]
    about = {
        "object_id": session_id,
        "agent_id": agent.agent_id,
        "writes": len(results),
        **effects.effect_to_json(effect),
    }
    audit_log.record(wish.by, "session_rolled_back", object_type="session", **about)
    return results


def put_content(agent: Agent, audit_id: str, name: str, data: bytes, wish: RollbackRequest, *, seen: str) -> None:
    """Put a content into a file that belongs to a write, as a write of its own. Raises as `perform`."""
    _check(wish)
    with workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        place = workspace_access.get_workspace(agent)
        step = Step(name, _as_seen(place, name, seen), data, (audit_id,), (), is_put=True)
        effects.accept_effects(agent, {name: data}, is_accepted=wish.accepts_effect)
        _carried_out(agent, place, [step], wish)


@contextmanager
def log_refusals(agent: Agent, by: str, object_type: str, object_id: str) -> Iterator[None]:
    """Note for the block in the log of what people did when something else is where a file should be, as a link."""
    try:
        yield
    except NotOurs as refused:
        about = {"object_type": object_type, "object_id": object_id, "agent_id": agent.agent_id}
        audit_log.record(by, "rollback_refused", **about, why=refused.sentence)
        raise


def _restored_to(made: RollbackPlan, chosen=None):
    """When the version was made that is back, or what the file holds otherwise."""
    if chosen is not None:
        return Outcome.CHOSEN
    if made.wanted is None:
        return Outcome.REMOVED
    return made.restored.created_at if made.restored else Outcome.MERGED


def _check_left_out(made: SessionPlan, leave_out):
    """Raises Changed while nobody has chosen to leave out a write of which nobody knows what the file held before."""
    asked = [audit for audit in made.unknown if audit.id not in leave_out]
    if asked:
        sentence = ngettext(
            "Nobody knows what the file held before %(count)s write of this session. Choose to leave it out.",
            "Nobody knows what the file held before %(count)s writes of this session. Choose to leave them out.",
            len(asked),
        )
        rows = [{"id": audit.id, "reason": audit.candidate_fact or audit.target_file or ""} for audit in asked]
        raise FileChanged(sentence % {"count": len(asked)}, reasons=rows)


def _as_seen(place, name, seen):
    now = rollback_plan.read_workspace_file(place, name)
    if rollback_plan.hash_content(now) != seen:
        raise FileChanged(_("%(file)s has changed since the preview. Check the new preview.") % {"file": name})
    return now


def _carried_out(agent, place, steps: Sequence[Step], wish: RollbackRequest):
    apply.check_room(steps)
    if wish.keeps_copy:
        copies.store_copies(agent, steps)
    return apply.apply_steps(agent, place, steps, by=wish.by, reason=wish.reason)


def check_chosen(made: RollbackPlan, chosen: bytes | None) -> None:
    """Raises Changed where a person has to choose what the file holds, and nobody has."""
    if made.conflicts and chosen is None:
        raise FileChanged(_("Somebody changed the same lines since. Choose what the file should hold."))


def _check(wish):
    workspace_access.check_rollbacks()
    check_reason(wish)


def check_reason(wish: RollbackRequest) -> None:
    """Raises Refused for a wish without a reason, or with a very long one."""
    if not wish.reason.strip():
        raise Refused(_("Say why this is rolled back."))
    if len(wish.reason) > LONGEST_REASON:
        raise Refused(_("A reason has at most 1,000 characters."))


def _take(made: RollbackPlan, effect, chosen=None):
    way = made.way if chosen is None else Way.CHOSEN
    restored_id = made.restored.id if made.restored and chosen is None else None
    return Reversal(made.audit.id, str(ULID()), way, restored_id, **effects.effect_to_json(effect))


def _steps(made: SessionPlan, effect):
    return [
        Step(
            name,
            plans[0].now,
            plans[-1].wanted,
            tuple(one.audit.id for one in plans),
            tuple(_take(one, effect) for one in plans),
        )
        for name, plans in made.by_file.items()
    ]
