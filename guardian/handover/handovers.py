"""Hands a change of a memory file to its agent.

The handover is prepared here, the job carries it out, and its outcome can be checked again.
"""

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
from ..rollbacks.apply import FileChanged, check_seen
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
    """Return one change that was handed over. Raises NoSuchHandover."""
    row = Handover.objects.using(db).filter(id=handover_id).first()
    if row is None:
        raise NoSuchHandover(_("This agent has no handover %(id)s.") % {"id": handover_id})
    return row


def find_by_write(db: str, audit_id: str) -> list[Handover]:
    """Return the handovers of a write's rollback, and the one it came from.

    The newest come first, and there are three at most.
    """
    rows = Handover.objects.using(db).filter(Q(audit_id=audit_id) | Q(own_audit_id=audit_id, outcome="done"))
    return list(rows.order_by("-created_at", "-id")[:3])


def find_by_proposal(db: str, run_id: str) -> list[Handover]:
    """Return the handovers of a proposal, the newest first, three at most."""
    return list(Handover.objects.using(db).filter(run_id=run_id).order_by("-created_at", "-id")[:3])


def build_comparison(row: Handover) -> Comparison | None:
    """Compare the file before and after the change that the agent was asked for.

    None once the change is a write, whose page shows it.
    """
    if row.before_zstd is None or row.wanted_zstd is None:
        return None
    return compare_contents(
        *(packing.unpack(bytes(data)) for data in (row.before_zstd, row.wanted_zstd)), row.file_name
    )


def hand_over_rollback(
    agent: Agent,
    audit_id: str,
    request: RollbackRequest,
    *,
    seen: str | None,
    hunk: int | None = None,
    chosen: bytes | None = None,
    puts_back: bool = False,
) -> Handover:
    """Prepare the handover of a rollback as it was previewed.

    With `puts_back` the version that OpenClaw's record names may be put back first. Raises as `service.roll_back`, and
    Refused where nothing can be handed over.
    """
    service.check_reason(request)
    workspace_access.check_enabled()
    with workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        plan = rollback_plan.plan_rollback(agent, audit_id, hunk=hunk)
        check_seen(seen, plan.seen, plan.name)
        service.check_chosen(plan, chosen)
        offer = check_offer(offers.offer_rollback(agent, plan, chosen), puts_back)
        way = plan.way if chosen is None else rollback_plan.Way.CHOSEN
        restored_id = plan.restored.id if plan.restored and chosen is None else None
        columns = {"audit_id": audit_id, "hunk": hunk, "way": way, "restored_snapshot_id": restored_id}
        return _store_handover(agent, offer, by=request.by, reason=request.reason, **columns)


def hand_over_proposal(agent: Agent, run_id: str, *, by: str, seen: str, puts_back: bool = False) -> Handover:
    """Prepare the handover of a proposal as it was previewed.

    Raises as `proposals.approve` and as `hand_over_rollback`.
    """
    with workspace_access.exclusive_write(agent):
        recovery.recover_locked(agent)
        preview = proposals.preview(agent, proposals.find(agent.db, run_id))
        check_seen(seen, preview.seen, preview.run.target_file)
        if preview.conflicts:
            raise FileChanged(proposals.conflict_sentence())
        offer = check_offer(offers.offer_proposal(agent, preview), puts_back)
        return _store_handover(agent, offer, by=by, reason="", run_id=run_id)


def start(agent: Agent, row: Handover) -> HandoverStart:
    """Queue the job of a prepared handover."""
    return HandoverStart(row, jobs.start(JOB_KIND, build_params(agent, row), by=row.asked_by))


def find_job(agent: Agent, row: Handover) -> JobRun | None:
    return jobs.find_last(JOB_KIND, build_params(agent, row))


def build_params(agent: Agent, row: Handover) -> dict[str, str]:
    return {"agent": agent.agent_id, "handover": row.id}


def check_offer(offer: Offer, puts_back: bool) -> Offer:
    """Return an offer that may be taken up. Raises Refused for any other."""
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


def _store_handover(agent, offer: Offer, *, by, reason, **columns) -> Handover:
    effects.check_not_handed_over(agent.db, [offer.name])
    row = Handover.objects.using(agent.db).create(
        id=str(ULID()),
        file_name=offer.name,
        own_audit_id=str(ULID()),
        now_hash=hash_content(offer.now),
        before_hash=hash_content(offer.before),
        wanted_hash=hash_content(offer.new_content),
        before_zstd=packing.pack(offer.before),
        wanted_zstd=packing.pack(offer.new_content or b""),
        puts_back=offer.puts_back,
        reason=reason,
        asked_by=by,
        created_at=clock.now_ms(),
        **columns,
    )
    names = {"object_type": "handover", "object_id": row.id, "agent_id": agent.agent_id}
    audit_log.record(by, "change_handed_over", **names, file=offer.name, puts_back=offer.puts_back)
    return row
