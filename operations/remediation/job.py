"""The job that takes back what stems from a message, step by step, or takes that back again.

It can end anywhere: another run goes on with the steps that wait, and repeats none.
"""

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from ulid import ULID

from agents import services as agents
from agents.models import Agent
from datasets import services as samples
from datasets.models import DatasetSample, DatasetVersion, SampleLabel
from datasets.releases import taints
from datasets.review import queues, undo, verdicts
from guardian.handover import handovers, outcomes
from guardian.handover import job as handover_job
from guardian.models import Handover, Rollback, WriteGuardianAudit
from guardian.rollbacks import service
from guardian.rollbacks.service import RollbackRequest
from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.sentences import join_sentences
from people.audit import log as audit_log

from ..models import Remediation, RemediationStep
from .plans import Consequences

JOB_KIND = "remediation"
Step, State, Status = RemediationStep.Kind, RemediationStep.State, DatasetSample.Status


def store_plan(agent: Agent, consequences: Consequences, *, reason: str, seen: str, by: str) -> Remediation:
    """Store the plan as it was previewed. Raises Refused when it is another one by now, or does nothing."""
    if not consequences.doable:
        raise Refused(_("There is nothing to take back."))
    if consequences.seen != seen:
        raise Refused(_("What stems from this message has changed since the preview. Check the new preview."))
    request = RollbackRequest(by, reason)
    service.check_reason(request)
    columns = {"agent_id": agent.agent_id, "turn_id": consequences.turn.id, "reason": reason, "started_by": by}
    row = Remediation(id=str(ULID()), created_at=clock.now_ms(), **columns)
    for step in consequences.plan:
        step.remediation = row
        step.state = State.LEFT if step.problem else State.WAITING
    with transaction.atomic():
        open_plans = Remediation.objects.filter(
            agent_id=agent.agent_id, turn_id=row.turn_id, steps__state=State.WAITING
        )
        if open_plans.exists():
            raise Refused(_("An earlier plan for this message is not finished. Wait for it, or continue it."))
        row.save(force_insert=True)
        RemediationStep.objects.bulk_create(consequences.plan)
    return row


def start(row: Remediation, *, by: str, is_undo: bool = False) -> JobRun:
    """Queue the job that carries out the steps that wait or failed, or with `is_undo` takes back those that are done.

    Raises Refused for the rest of a plan that was undone.
    """
    if not is_undo and row.steps.filter(state=State.UNDONE).exists():
        raise Refused(_("This plan was undone. Start another one from the message."))
    return jobs.start(JOB_KIND, {"agent": row.agent_id, "remediation": row.id, "is_undo": is_undo, "by": by}, by=by)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job and return how many steps were done, and how many were not."""
    row, by, is_undo = Remediation.objects.get(id=params["remediation"]), params["by"], params["is_undo"]
    agent = agents.get(row.agent_id)
    with locks.exclusive_lock(
        f"remediation-{row.id}.lock", _("This is being carried out already. Wait until it ends.")
    ):
        states = [State.DONE] if is_undo else [State.WAITING, State.FAILED]
        steps = list(row.steps.filter(state__in=states).order_by("number"))
        if is_undo:
            row.steps.filter(state=State.WAITING).update(state=State.UNDONE)
        # What releases have depends on the other steps: they are last either way.
        steps.sort(key=lambda step: (step.kind == Step.RELEASE, -step.number if is_undo else step.number))
        failed = 0
        for number, step in enumerate(steps):
            progress.update(number, len(steps), step.title)
            try:
                if is_undo:
                    _take_back(agent, step, by)
                else:
                    _carry_out(agent, row, step, by, progress)
                step.state, step.problem = State.UNDONE if is_undo else State.DONE, ""
            except Refused as refused:
                step.state, step.problem = State.DONE if is_undo else State.FAILED, refused.sentence
                failed += 1
            step.at = clock.now_ms()
            action = "remediation_step_undone" if is_undo else "remediation_step_done"
            with transaction.atomic():
                step.save()
                audit_log.record(
                    by, action, object_type="remediation", object_id=row.id, agent_id=row.agent_id,
                    step=step.kind, name=step.key, state=step.state, is_refused=bool(step.problem),
                )  # fmt: skip
    done = len(steps) - failed
    sentences = [format_plural("%(count)s step done.", "%(count)s steps done.", done)]
    if failed:
        sentences.append(format_plural("%(count)s was refused.", "%(count)s were refused.", failed))
    return {"message": join_sentences(sentences), "done": done, "refused": failed}


def _carry_out(agent, row, step, by, progress):
    if step.kind == Step.WRITE:
        failed = row.steps.filter(kind=Step.REJECT, state=State.FAILED).values("key")
        if DatasetSample.objects.filter(audit_id=step.key, id__in=failed).exists():  # a rollback judges it otherwise
            raise Refused(_("The sample of this write could not be rejected. Continue when that is possible."))
    if step.kind == Step.WRITE and step.is_handed_over:
        _hand_over(agent, row, step, by, progress)
    elif step.kind == Step.WRITE:
        by_us = {"rolled_back_by__in": (row.started_by, by), "rolled_back_at__gte": row.created_at}  # by a killed run
        if not Rollback.objects.using(agent.db).filter(audit_id=step.key, **by_us).exists():
            service.roll_back(agent, step.key, RollbackRequest(by, row.reason), seen=step.seen)
    elif step.kind == Step.REJECT:
        _judge(row, step, DatasetSample.objects.filter(id=step.key), Status.REJECTED, by)
    elif step.kind == Step.REVIEW:
        session_id, _sign, number = step.key.rpartition(":")
        of_turn = {"agent_id": agent.agent_id, "session_id": session_id, "turn_number": int(number)}
        rows = DatasetSample.objects.filter(sample_type=DatasetSample.Type.ANNOTATED_TURN, **of_turn)
        if not _judge(row, step, rows, Status.NEEDS_REVIEW, by):
            result = samples.make_samples(agent, session_id, [int(number)], by=by)
            if not result.made:
                raise Refused(join_sentences(samples.describe_problems(result)))
    else:
        _check_release(step)


def _judge(row, step, samples_of_step, status, by):
    """Judge a sample, unless a run that was killed did, or somebody rejected it or it waits for review.

    False where there is no sample.
    """
    sample = samples_of_step.only("id", "annotation_status", "annotated_by", "annotated_at", "label_id").first()
    if sample is None:
        return False
    is_ours = sample.annotated_by in (row.started_by, by) and (sample.annotated_at or 0) >= row.created_at
    if sample.annotation_status == status and is_ours:
        step.label_id = sample.label_id
    elif sample.annotation_status not in (Status.REJECTED, *(queues.WAITING if status == Status.NEEDS_REVIEW else ())):
        step.label_id = verdicts.label_sample(sample.id, status, by=by, notes=row.reason).label_id
    return True


def _hand_over(agent, row, step, by, progress):
    earlier = Handover.objects.using(agent.db).filter(audit_id=step.key, created_at__gte=row.created_at)
    handover = earlier.order_by("-created_at").first() or handovers.hand_over_rollback(
        agent, step.key, RollbackRequest(by, row.reason), seen=step.seen, puts_back=step.puts_back
    )
    result = handover_job.run(handovers.build_params(agent, handover), progress)
    if result["outcome"] not in outcomes.WRITTEN:
        raise Refused(result["message"])


def _check_release(step):
    version = DatasetVersion.objects.filter(id=step.key).first()
    if version is None:
        raise Refused(_("This release no longer exists."))
    taints.find_taints(version)


def explain_lasting(step: RemediationStep) -> str:
    """Return why a step cannot be taken back, in a sentence; empty where it can."""
    if step.kind == Step.WRITE and step.is_handed_over:
        return _("This change was the agent's: have the agent put the lines back.")
    if step.kind in (Step.REVIEW, Step.REJECT) and not step.label_id:
        return _("The plan gave no verdict here: the sample is not changed.")
    return ""


def _take_back(agent, step, by):
    if reason := explain_lasting(step):
        raise Refused(reason)
    if step.kind == Step.WRITE:
        rows = Rollback.objects.using(agent.db).filter(audit_id=step.key)
        own_id = rows.values_list("own_audit_id", flat=True).first()
        if own_id is None:
            raise Refused(_("The rollback is not stored any more."))
        back = WriteGuardianAudit.objects.using(agent.db).filter(
            id=own_id, status=WriteGuardianAudit.Status.ROLLED_BACK
        )
        if not back.exists():
            service.roll_back(
                agent, own_id, RollbackRequest(by, _("What stems from a message was put back.")), seen=None
            )
    elif step.kind == Step.RELEASE:
        _check_release(step)
    else:
        _undo_verdict(step, by)


def _undo_verdict(step, by):
    """Undo a verdict of the plan, with the reason that was given for it later. Raises Refused when it is overtaken."""
    labels = SampleLabel.objects.filter(Q(id=step.label_id) | Q(amends=step.label_id))
    if not SampleLabel.objects.filter(undoes__in=labels.values("id")).exists():
        label = labels.filter(id__in=DatasetSample.objects.values("label_id")).first()
        if label is None:
            raise Refused(_("Somebody has judged or removed the sample since: it is not changed."))
        undo.undo(label.labelled_by, label.id, is_any=True, undone_by=by)


JOB = Kind(
    run=run,
    label=gettext_lazy("Taking back what stems from a message"),
    audit_text=gettext_lazy("started to take back what stems from a message"),
    cancel_text=gettext_lazy("Steps already done are kept; the others wait on the page of the plan."),
    page="operations:remediation_detail",
    page_params=("agent", "remediation"),
    ends_with_terminal=True,
)
