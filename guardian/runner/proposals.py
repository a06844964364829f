"""Proposals of the built-in guardian: preview, approval and refusal.

A preview compares a proposal with the file as it is now. An approved one is written by `rollbacks.apply`, the only
writer.
"""

import hashlib
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from ulid import ULID

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.pages import states
from openclaw_web.sqlite import write_queue
from people.audit import log as audit
from people.models.bookkeeping import KeyValue

from ..changes import Change, compute_change
from ..models import GuardianRun, WriteGuardianAudit
from ..recording import write_store
from ..recording.reports import Report, Source
from ..rollbacks import apply, recovery, rollback_plan, workspace_access
from ..rollbacks.apply import FileChanged, check_seen
from ..rollbacks.intent_store import OwnWrite, Step
from ..rollbacks.merge import Conflict, take_out
from ..rollbacks.rollback_plan import hash_content
from ..services import bytes_to_text, refresh_sums, text_to_bytes
from ..standing import effects
from ..standing.effects import Effect

SCOPE = "guardian_waiting"


def count_waiting(db: str) -> int:
    return GuardianRun.objects.using(db).filter(state=GuardianRun.State.PROPOSED).count()


def store_count(agent: Agent) -> None:
    """Store how many proposals wait, after their number changed.

    A second call corrects the number.
    """
    with transaction.atomic():
        if count := count_waiting(agent.db):
            KeyValue.objects.put(SCOPE, agent.agent_id, count)
        else:
            KeyValue.objects.filter(scope=SCOPE, key=agent.agent_id).delete()


def read_counts() -> dict[str, int]:
    """Return the number of waiting proposals by agent; agents with none are left out."""
    return KeyValue.objects.filter(scope=SCOPE).decoded(int)


BY_GUARDIAN = "guardian"  # the author of decisions that no person made


def end_without_write(db: str, run: GuardianRun, state: str, status: str, *, by: str) -> GuardianRun:
    """Store that a run writes nothing, in the run and as a write of its own.

    Both are stored, or neither.
    """
    moment = clock.now_ms()
    row = WriteGuardianAudit(
        id=str(ULID()),
        target_file=run.target_file,
        status=status,
        reason=run.reason or None,
        created_at=moment,
        **build_write_columns(run) | {"origin": WriteGuardianAudit.Origin.OWN},
    )
    run.state, run.audit_id, run.decided_by, run.decided_at = state, row.id, by, moment
    with write_queue.agent_transaction(db):
        write_store.store_reports(db, [Report(row, Source.OWN, reporter=by)])
        run.save(using=db)
    refresh_sums(db)
    return run


def build_write_columns(run: GuardianRun) -> dict[str, object]:
    names = ("decision_id", "turn_id", "session_id", "session_key", "candidate_fact", "retry_of", "rule_id")
    model_columns = {"llm_model": run.llm_model, "llm_latency_ms": run.llm_latency_ms, "agent_steps": run.step_count}
    return {name: getattr(run, name) for name in names} | (model_columns if run.llm_model else {})


State, Status = GuardianRun.State, WriteGuardianAudit.Status
LONGEST_REASON = 2_000
NO_REASON = gettext_lazy("Say why this is declined.")


class NoSuchProposal(Refused):
    """The agent has no such proposal."""

    status = 404


@dataclass(frozen=True, slots=True)
class ProposalPreview:
    """The change that approving a proposal would make to its file.

    `now` is what the file holds (None: no file), `new_content` what it will hold.

    With `is_merged` the file has changed since the model read it, and only the lines of the proposal go in. While there
    are `conflicts` nobody can tell what the file should hold, and nothing is written.
    """

    run: GuardianRun
    place: Path
    now: bytes | None
    new_content: bytes
    is_merged: bool = False
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def seen(self) -> str:
        """Hash that changes when the file, its new content or the workspace changes."""
        text = f"{hash_content(self.now)} {hash_content(self.new_content)} ".encode() + os.fsencode(self.place)
        return hashlib.sha256(text).hexdigest()

    @property
    def change(self) -> Change:
        return compute_change(self.now, self.new_content, self.run.target_file)


@dataclass(slots=True)
class ApprovalResult:
    """Result of an approval.

    `meanwhile` are ids of versions that somebody else wrote at that moment; they are kept. `is_written` is false when
    the file already holds what it would hold.
    """

    audit_id: str | None
    meanwhile: list[str] = field(default_factory=list)
    is_written: bool = True


def find(db: str, run_id: str) -> GuardianRun:
    """Return a run of the built-in guardian. Raises NoSuchProposal."""
    run = GuardianRun.objects.using(db).filter(id=run_id).first()
    if run is None:
        raise NoSuchProposal(_("This agent has no proposal %(id)s.") % {"id": run_id})
    return run


def read_contents(run: GuardianRun) -> tuple[bytes | None, bytes | None]:
    """Return the file's content when the model was asked, and the model's new content.

    The first is None where there was no file, the second where the model writes nothing.
    """
    before, after = (
        None if packed is None else packing.unpack(bytes(packed)) for packed in (run.before_zstd, run.after_zstd)
    )
    return before, after


def preview(agent: Agent, run: GuardianRun) -> ProposalPreview:
    """Return what approving would do to the file as it is now; writes nothing.

    Raises Refused for a run that is no proposal, MayNotWrite and NotWritten for the file itself.
    """
    check_open(run)
    before, after = read_contents(run)
    place = workspace_access.get_workspace(agent)
    return build_preview(run, place, before, after or b"", rollback_plan.read_workspace_file(place, run.target_file))


def build_preview(
    run: GuardianRun, place: Path, before: bytes | None, after: bytes, now: bytes | None
) -> ProposalPreview:
    """Return what approving would do to a file that holds `now`.

    `place` is the workspace, `before` what the file held when the model was asked, `after` the model's new content.
    """
    if now == before:
        return ProposalPreview(run, place, now, after)
    # Taking the reversed proposal out of what the file holds now puts the proposal in.
    merged = take_out(*(bytes_to_text(content or b"") for content in (after, before, now)))
    return ProposalPreview(run, place, now, text_to_bytes(merged.text), is_merged=True, conflicts=merged.conflicts)


def approve(agent: Agent, run_id: str, *, by: str, seen: str, accepts_effect: bool = False) -> ApprovalResult:
    """Write a proposal as it was previewed.

    `seen` is `ProposalPreview.seen`. Raises NoSuchProposal, Refused for one that was decided, FileChanged when the file
    is another one by now, MayNotWrite and NotWritten when nothing may be written.
    """
    workspace_access.check_writes()
    with exclusive_write(agent):
        recovery.recover_locked(agent)
        proposal = preview(agent, find(agent.db, run_id))
        check_seen(seen, proposal.seen, proposal.run.target_file)
        if proposal.conflicts:
            raise FileChanged(conflict_sentence())
        effect = Effect.NOTHING
        if proposal.new_content != proposal.now:
            contents = {proposal.run.target_file: proposal.new_content}
            effect = effects.accept_effects(agent, contents, is_accepted=accepts_effect)
        result = write(agent, proposal, by=by)
    _log(agent, "proposal_approved", run_id, by, **effects.effect_to_json(effect))
    return result


def confirm_applied(agent: Agent, run_id: str, *, by: str) -> GuardianRun:
    """End a proposal that somebody applied to the file by hand.

    Raises Refused while the file does not hold it.
    """
    with exclusive_write(agent):
        proposal = preview(agent, find(agent.db, run_id))
        if proposal.new_content != proposal.now:
            sentence = _("%(file)s does not contain these lines yet. Apply the patch, then confirm again.")
            raise Refused(sentence % {"file": proposal.run.target_file})
        effects.check_not_handed_over(agent.db, [proposal.run.target_file])
        proposal.run.reason = _("The patch was applied by hand.")
        end_without_write(agent.db, proposal.run, State.SKIPPED, Status.SKIPPED, by=by)
    _log(agent, "proposal_approved", run_id, by)
    return proposal.run


def write(agent: Agent, proposal: ProposalPreview, *, by: str) -> ApprovalResult:
    """Write a previewed proposal; the caller holds `exclusive_write`."""
    run = proposal.run
    if proposal.new_content == proposal.now:
        run.reason = _("The file holds it already.")
        ended = end_without_write(agent.db, run, State.SKIPPED, Status.SKIPPED, by=by)
        return ApprovalResult(ended.audit_id, is_written=False)
    own = OwnWrite(run.id, build_write_columns(run))
    step = Step(run.target_file, proposal.now, proposal.new_content, (), (), own)
    meanwhile = apply.apply_steps(agent, proposal.place, [step], by=by, reason="")
    run.refresh_from_db(using=agent.db)
    return ApprovalResult(run.audit_id, meanwhile)


def decline(agent: Agent, run_id: str, *, by: str, reason: str) -> GuardianRun:
    """Leave a proposal unwritten and store that as a refused write.

    Raises NoSuchProposal, and Refused for a proposal that was decided already or a reason that is empty or too long.
    """
    if not reason.strip():
        raise Refused(str(NO_REASON))
    if len(reason) > LONGEST_REASON:
        raise Refused(_("A reason can have at most %(most)s characters.") % {"most": f"{LONGEST_REASON:,}"})
    with exclusive_write(agent):
        run = find(agent.db, run_id)
        check_open(run)
        effects.check_not_handed_over(agent.db, [run.target_file])
        run.reason = reason.strip()
        end_without_write(agent.db, run, State.DECLINED, Status.REFUSED, by=by)
    _log(agent, "proposal_declined", run_id, by)
    return run


def check_open(run: GuardianRun) -> None:
    """Raise Refused unless a run is a proposal that waits."""
    if run.state != State.PROPOSED:
        words = {"state": str(states.word(run.state)).lower()}
        raise Refused(_("This proposal does not wait any more: %(state)s.") % words)


def exclusive_write(agent: Agent) -> AbstractContextManager[None]:
    """Keep all other writers, rollbacks included, away from an agent's memory files."""
    return workspace_access.exclusive_write(agent)


def conflict_sentence() -> str:
    """Return the sentence that says why a proposal with conflicts is not written."""
    return _("Out of date: somebody changed the same lines since. Decline this, or have it proposed again.")


def _log(agent, action, run_id, by, **about):
    audit.record(by, action, object_type="proposal", object_id=run_id, agent_id=agent.agent_id, **about)
    store_count(agent)
