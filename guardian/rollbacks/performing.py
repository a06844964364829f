"""Rolling back a write, or all writes of a session: previewed, then done as it was previewed or not at all."""

from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from openclaw_web.disk import locks
from openclaw_web.errors import Refused

from . import exchanging, places
from .exchanging import Changed
from .planning import Plan, Way, plan
from .sessions import SessionPlan, plan_session
from .steps import Step, Take


@dataclass(slots=True)
class Result:
    """What was done. `restored_to` is when the version was made that is back; None: no file, or merged lines.

    `meanwhile` are versions that somebody wrote while files were exchanged: kept, and not in the files.
    """

    rollback_id: str
    success: bool = True
    restored_to: int | None = None
    meanwhile: list[str] = field(default_factory=list)


def perform(
    agent: Agent,
    audit_id: str,
    *,
    by: str,
    reason: str,
    seen: str,
    hunk: int | None = None,
    chosen: bytes | None = None,
) -> Result:
    """Roll back a write. `seen` is `Plan.now_hash` of the preview; `chosen` is the content where there are conflicts.

    Raises as `planning.plan`, and Changed when the file is another one by now, or a conflict needs a person.
    """
    _check(reason)
    with locks.lock(f"rollback-{agent.agent_id}.lock"):
        made = plan(agent, audit_id, hunk=hunk)
        if made.now_hash != seen:
            raise Changed(_("%(file)s has changed since the preview. Look at the new preview.") % {"file": made.name})
        if made.conflicts and chosen is None:
            raise Changed(_("Somebody changed the same lines since. Choose what the file should hold."))
        take = _take(made, chosen)
        # One hunk alone leaves the rest of a write in the file: that is a write of its own, and no rollback of it.
        takes = (take,) if made.hunk is None else ()
        step = Step(made.name, made.now, made.wanted if chosen is None else chosen, (audit_id,), takes)
        meanwhile = exchanging.carry_out(agent, [step], by=by, reason=reason)
    restored = made.restored.created_at if take.restored_id and made.restored else None
    return Result(take.rollback_id, restored_to=restored, meanwhile=meanwhile)


def perform_session(
    agent: Agent,
    session_id: str,
    *,
    by: str,
    reason: str,
    seen: dict[str, str],
    since: int | None = None,
    until: int | None = None,
) -> list[Result]:
    """Roll back all writes of a session, the last one first: all of them, or with a refusal none.

    `seen` is `SessionPlan.hashes` of the preview. Raises as `plan_session`; Changed for conflicts and changed files.
    """
    _check(reason)
    with locks.lock(f"rollback-{agent.agent_id}.lock"):
        made = plan_session(agent, session_id, since=since, until=until)
        if made.hashes != seen:
            raise Changed(_("A file has changed since the preview. Look at the new preview."))
        if made.conflicts:
            raise Changed(_("Somebody changed the same lines since. Roll these writes back one by one."))
        steps = _steps(made)
        meanwhile = exchanging.carry_out(agent, steps, by=by, reason=reason)
    return [Result(take.rollback_id, meanwhile=meanwhile) for step in steps for take in step.takes]


def _check(reason):
    places.check()
    if not reason.strip():
        raise Refused(_("Say why this is rolled back."))


def _take(made: Plan, chosen=None):
    way = made.way if chosen is None else Way.CHOSEN
    restored_id = made.restored.id if made.restored and chosen is None else None
    return Take(made.audit.id, str(ULID()), way, restored_id)


def _steps(made: SessionPlan):
    return [
        Step(name, plans[0].now, plans[-1].wanted, tuple(one.audit.id for one in plans), tuple(map(_take, plans)))
        for name, plans in made.by_file.items()
    ]
