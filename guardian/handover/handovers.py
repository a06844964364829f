"""Handing a change of a memory file to its agent: asked for here, carried out by the job, looked at again."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from people.audit import log as audit_log

from ..models import Handover
from ..rollbacks import recovery, rollback_plan, service, workspace_access
from ..rollbacks.apply import FileChanged
from ..rollbacks.rollback_plan import hash_content
from ..rollbacks.rollback_preview import Comparison, compare_contents
from ..rollbacks.service import RollbackRequest
from ..runner import proposals
from ..standing import effects
from ..standing.effects import JOB_KIND
from . import offers
from .offers import Offer


class NoSuchHandover(Refused):
    """The agent has no such handover."""

    status = 404


@dataclass(frozen=True, slots=True)
class HandoverStart:
    """A change that was handed over, and the job that does it."""

    handover: Handover
    job: JobRun


def find(db: str, handover_id: str) -> Handover:
    """One change that was handed over. Raises NoSuchHandover."""
    row = Handover.objects.using(db).filter(id=handover_id).first()
    if row is None:
        raise NoSuchHandover(_("This agent has no handover %(id)s.") % {"id": handover_id})
    return row


def find_by_write(db: str, audit_id: str) -> list[Handover]:
    """The handovers of the rollback of a write, and the one that it came from, the newest first; three at most."""
    rows = Handover.objects.using(db).filter(Q(audit_id=audit_id) | Q(own_audit_id=audit_id, outcome="done"))
    return list(rows.order_by("-created_at", "-id")[:3])


def find_by_proposal(db: str, run_id: str) -> list[Handover]:
    """The same of a proposal."""
    return list(Handover.objects.using(db).filter(run_id=run_id).order_by("-created_at", "-id")[:3])


def build_comparison(row: Handover) -> Comparison | None:
    """The change that the agent was asked for; None once it is a write, whose page shows it."""
    if row.before_zstd is None or row.wanted_zstd is None:
        return None
    return compare_contents(
        *(packing.unpack(bytes(data)) for data in (row.before_zstd, row.wanted_zstd)), row.file_name
    )


def hand_over_rollback(
    agent: Agent,
    audit_id: str,
    wish: RollbackRequest,
    *,
    seen: str | None,
    hunk: int | None = None,
    chosen: bytes | None = None,
    puts_back: bool = False,
) -> Handover:
    """Prepare the handover of a rollback as it was previewed; `puts_back`: the recorded version may be put back first.

    Raises as `performing.perform`, and Refused where nothing can be handed over.
    """
    service.check_reason(wish)
    workspace_access.check_enabled()
    with workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        made = rollback_plan.plan_rollback(agent, audit_id, hunk=hunk)
        check_seen(seen, made.seen, made.name)
        service.check_chosen(made, chosen)
        offer = check_offer(offers.offer_rollback(agent, made, chosen), puts_back)
        way = made.way if chosen is None else rollback_plan.Way.CHOSEN
        restored_id = made.restored.id if made.restored and chosen is None else None
        about = {"audit_id": audit_id, "hunk": hunk, "way": way, "restored_snapshot_id": restored_id}
        return _stored(agent, offer, by=wish.by, reason=wish.reason, **about)


def hand_over_proposal(agent: Agent, run_id: str, *, by: str, seen: str, puts_back: bool = False) -> Handover:
    """Prepare the handover of a proposal as it was previewed. Raises as `approving.approve` and as above."""
    with workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        made = proposals.preview(agent, proposals.find(agent.db, run_id))
        check_seen(seen, made.seen, made.run.target_file)
        if made.conflicts:
            raise FileChanged(proposals.conflict_sentence())
        offer = check_offer(offers.offer_proposal(agent, made), puts_back)
        return _stored(agent, offer, by=by, reason="", run_id=run_id)


def start(agent: Agent, row: Handover) -> HandoverStart:
    """Queue the job of a prepared handover."""
    return HandoverStart(row, jobs.start(JOB_KIND, build_params(agent, row), by=row.asked_by))


def find_job(agent: Agent, row: Handover) -> JobRun | None:
    """The newest job of a handover."""
    return next(iter(jobs.find_latest([JOB_KIND], 1, params_json=JobRun.params.encode(build_params(agent, row)))), None)


def build_params(agent: Agent, row: Handover) -> dict[str, str]:
    """What the job of a handover is told."""
    return {"agent": agent.agent_id, "handover": row.id}


def check_seen(seen: str | None, now: str, name: str) -> None:
    """Raises Changed when a preview is not the one that was seen; None: nobody saw one."""
    if seen is not None and seen != now:
        raise FileChanged(_("%(file)s has changed since the preview. Check the new preview.") % {"file": name})


def check_offer(offer: Offer, puts_back: bool) -> Offer:
    """An offer that may be taken up. Raises Refused for any other."""
    words = {"file": offer.name}
    if offer.problem:
        raise Refused(offer.problem)
    if not offer.is_needed:
        raise Refused(_("Nothing to hand over: a write of this site leaves %(file)s in the prompt.") % words)
    if offer.puts_back and not puts_back:
        sentence = _("%(file)s is not what OpenClaw's record names. Have that version put back first.")
        raise FileChanged(sentence % words)
    if offer.puts_back:
        workspace_access.check_writes()
    return offer


def _stored(agent, offer: Offer, *, by, reason, **about) -> Handover:
    effects.check_not_handed_over(agent.db, [offer.name])
    row = Handover.objects.using(agent.db).create(
        id=str(ULID()),
        file_name=offer.name,
        own_audit_id=str(ULID()),
        now_hash=hash_content(offer.now),
        before_hash=hash_content(offer.before),
        wanted_hash=hash_content(offer.wanted),
        before_zstd=packing.pack(offer.before),
        wanted_zstd=packing.pack(offer.wanted or b""),
        puts_back=offer.puts_back,
        reason=reason,
        asked_by=by,
        created_at=clock.now_ms(),
        **about,
    )
    names = {"object_type": "handover", "object_id": row.id, "agent_id": agent.agent_id}
    audit_log.record(by, "change_handed_over", **names, file=offer.name, puts_back=offer.puts_back)
    return row
