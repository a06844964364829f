"""The job that takes back what stems from a message, step by step, or takes that back again.

It can end anywhere: another run goes on with the steps that wait, and repeats none.
"""

from typing import Any

from django.db import transaction
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
        row.save(force_insert=True)
        RemediationStep.objects.bulk_create(consequences.plan)
    return row


def start(row: Remediation, *, by: str, is_undo: bool = False) -> JobRun:
    """Queue the job that carries out the steps that wait, or with `is_undo` takes back those that are done."""
    return jobs.start(JOB_KIND, build_params(row, is_undo) | {"by": by}, by=by)


def build_params(row: Remediation, is_undo: bool) -> dict[str, Any]:
    return {"agent": row.agent_id, "remediation": row.id, "is_undo": is_undo}


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job and return how many steps were done, and how many were not."""
    row, by, is_undo = Remediation.objects.get(id=params["remediation"]), params["by"], params["is_undo"]
    agent = agents.get(row.agent_id)
    with locks.exclusive_lock(
        f"remediation-{row.id}.lock", _("This is being carried out already. Wait until it ends.")
    ):
        steps = list(row.steps.filter(state=State.DONE if is_undo else State.WAITING).order_by("number"))
        # What releases have depends on the other steps: they are last either way.
        steps.sort(key=lambda step: (step.kind == Step.RELEASE, -step.number if is_undo else step.number))
        failed = 0
        for number, step in enumerate(steps):
            progress.update(number, len(steps), step.title)
            try:
                if is_undo:
                    _take_back(agent, row, step, by)
                else:
                    _carry_out(agent, row, step, progress)
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


def _carry_out(agent, row, step, progress):
    if step.kind == Step.WRITE and step.is_handed_over:
        _hand_over(agent, row, step, progress)
    elif step.kind == Step.WRITE:
        by_us = {"rolled_back_by": row.started_by, "rolled_back_at__gte": row.created_at}  # by a run that was killed
        if not Rollback.objects.using(agent.db).filter(audit_id=step.key, **by_us).exists():
            service.roll_back(agent, step.key, RollbackRequest(row.started_by, row.reason), seen=step.seen)
    elif step.kind == Step.REJECT:
        _judge(row, step, step.key, Status.REJECTED)
    elif step.kind == Step.REVIEW:
        session_id, _sign, number = step.key.rpartition(":")
        of_turn = {"agent_id": agent.agent_id, "session_id": session_id, "turn_number": int(number)}
        rows = DatasetSample.objects.filter(sample_type=DatasetSample.Type.ANNOTATED_TURN, **of_turn)
        if sample := rows.only("id", "annotation_status").first():
            if sample.annotation_status not in queues.WAITING or sample.annotated_by == row.started_by:
                _judge(row, step, sample.id, Status.NEEDS_REVIEW)
        else:
            result = samples.make_samples(agent, session_id, [int(number)], by=row.started_by)
            if not result.made:
                raise Refused(join_sentences(samples.describe_problems(result)))
    else:
        _check_release(step)


def _judge(row, step, sample_id, status):
    """Give a verdict, unless a run that was killed has given it."""
    sample = DatasetSample.objects.filter(id=sample_id, annotation_status=status, annotated_by=row.started_by)
    given = sample.filter(annotated_at__gte=row.created_at).only("label_id").first()
    label = given or verdicts.label_sample(sample_id, status, by=row.started_by, notes=row.reason)
    step.label_id = label.label_id


def _hand_over(agent, row, step, progress):
    earlier = Handover.objects.using(agent.db).filter(audit_id=step.key, created_at__gte=row.created_at)
    handover = earlier.order_by("-created_at").first() or handovers.hand_over_rollback(
        agent, step.key, RollbackRequest(row.started_by, row.reason), seen=step.seen, puts_back=step.puts_back
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
    if step.kind == Step.REVIEW and not step.label_id:
        return _("The sample of the answer remains in the queue.")
    return ""


def _take_back(agent, row, step, by):
    if reason := explain_lasting(step):
        raise Refused(reason)
    if step.kind == Step.WRITE:
        own_id = Rollback.objects.using(agent.db).filter(audit_id=step.key).values_list("own_audit_id", flat=True).get()
        back = WriteGuardianAudit.objects.using(agent.db).filter(
            id=own_id, status=WriteGuardianAudit.Status.ROLLED_BACK
        )
        if not back.exists():
            service.roll_back(
                agent, own_id, RollbackRequest(by, _("What stems from a message was put back.")), seen=None
            )
    elif step.kind == Step.RELEASE:
        _check_release(step)
    elif not SampleLabel.objects.filter(undoes=step.label_id).exists():
        undo.undo(row.started_by, step.label_id, is_any=True)


JOB = Kind(
    run=run,
    label=gettext_lazy("Taking back what stems from a message"),
    audit_text=gettext_lazy("started to take back what stems from a message"),
    cancel_text=gettext_lazy("Steps already done are kept; the others wait on the page of the plan."),
    page="operations:remediation_detail",
    page_params=("agent", "remediation"),
    ends_with_terminal=True,
)
