"""Has a model score samples of turns: which ones, what a run would send, and the job.

A score is the model's opinion. It approves nothing; people sort by it, and the quality report compares it with their
verdicts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from agents.models import Agent
from agents.runners import calls, launch
from agents.runners.batch import Batch, build_message, check_answered
from agents.runners.calls import ModelRequest
from agents.runners.choice import Choice
from agents.runners.runner import build_estimate
from gate.runner.turn_selection import filter_by_choice
from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Listener, Progress
from ledger import consent
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.llm import prices
from openclaw_web.llm.answers import parse_strictly
from openclaw_web.llm.estimates import Estimate

from ..models import DatasetSample, ScoreCall
from .config import MOST_ANSWER, PROMPT, RUNNER, Scorer, build_question, get_configured_scorer

BATCH = 200
USUAL_ANSWER = 60  # tokens of a score with its reason
MOST_REASON = 1_000  # characters of a reason that are stored
WORDS = {
    "scored": ngettext_lazy("%(count)s sample scored.", "%(count)s samples scored.", "number"),
    "malformed": ngettext_lazy("%(count)s answer was no score.", "%(count)s answers were no scores.", "number"),
    "unanswered": ngettext_lazy("%(count)s sample was not answered.", "%(count)s samples were not answered.", "number"),
    "withheld": ngettext_lazy("%(count)s sample was withheld.", "%(count)s samples were withheld.", "number"),
}
Outcome = ScoreCall.Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """The estimate of a run and its number of samples."""

    samples: int


def find_scores(sample_ids: Iterable[str]) -> dict[str, ScoreCall]:
    """Return the newest score of each of these samples that has one, by sample id."""
    rows = ScoreCall.objects.filter(sample_id__in=list(sample_ids), outcome=Outcome.SCORED).order_by("created_at", "id")
    return {row.sample_id: row for row in rows}


def plan_run(agent: Agent, choice: Choice) -> Plan:
    """Estimate a run over the samples of a choice; nothing is sent. Raises NoSuchSession."""
    scorer = get_configured_scorer()
    count, tokens = 0, 0
    for sample in _select_samples(agent, choice, scorer).iterator(chunk_size=BATCH):
        question = build_question(sample, sample.body.get("context") or [])
        count, tokens = count + 1, tokens + prices.estimate_tokens(PROMPT) + prices.estimate_tokens(question)
    estimate = build_estimate(RUNNER, agent, scorer, tokens, count * USUAL_ANSWER, RUNNER.problem_of())
    return Plan(samples=count, withheld=0, **estimate)


def start_run(agent: Agent, choice: Choice, *, by: str) -> JobRun:
    """Queue a run.

    Raises Refused when nothing may be sent, or a run of this agent is queued or running already.
    """
    RUNNER.check()
    with launch.exclusive_start(RUNNER, agent):
        return jobs.start(RUNNER.kind, choice.to_params(agent), by=by)


def run_here(agent: Agent, choice: Choice, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run in this process, and return the job, however it ended."""
    RUNNER.check()
    return launch.run_here(RUNNER, agent, choice.to_params(agent), by=by, listener=listener)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job.

    Raises Refused when nothing may be sent, another process runs for this agent, or no call was answered.
    """
    agent, counts = agents.get(params["agent"]), dict.fromkeys(("scored", "malformed"), 0)
    with launch.exclusive_run(RUNNER, agent.agent_id):
        RUNNER.check()
        scorer = get_configured_scorer()
        ids = list(_select_samples(agent, Choice.from_params(params), scorer).values_list("id", flat=True))
        batch = Batch(RUNNER, scorer, progress, len(ids))

        def is_withheld(sample_id):
            outcome = _score_sample(agent, scorer, sample_id, batch)
            if outcome:
                counts[str(outcome)] += 1
            return not outcome

        batch.run(ids, is_withheld)
    result = {"agent": agent.agent_id, "samples": batch.total, **batch.result(), **counts}
    result = {"message": build_message(WORDS, result), **result}
    check_answered(result, counts["scored"])
    return result


def _select_samples(agent: Agent, choice: Choice, scorer: Scorer) -> QuerySet[DatasetSample]:
    """Samples of turns that this model has not scored with this prompt, the newest first."""
    answered = (Outcome.SCORED, Outcome.MALFORMED)
    calls_before = ScoreCall.objects.filter(
        sample_id=OuterRef("id"), llm_model=scorer.model, prompt_version=scorer.prompt_version, outcome__in=answered
    )
    samples = DatasetSample.objects.filter(
        agent_id=agent.agent_id, sample_type=DatasetSample.Type.ANNOTATED_TURN, turn_number__isnull=False
    ).exclude(Exists(calls_before))
    return filter_by_choice(agent.db, samples, choice).order_by("-created_at", "-id")[: choice.limit]


def _score_sample(agent: Agent, scorer: Scorer, sample_id: str, batch: Batch) -> Outcome | None:
    """Have a sample scored; None when its words may not be used, or it is gone.

    Raises LimitReached and CallFailed.
    """
    sample = DatasetSample.objects.filter(id=sample_id).first()
    usable = consent.filter_messages(agent.db, {sample.turn_id: sample.body.get("context") or []}) if sample else {}
    if sample is None or sample.turn_id not in usable:
        return None
    question = build_question(sample, usable[sample.turn_id])
    call, answer = calls.send_request(
        RUNNER.allowance,
        DEFAULT_DB_ALIAS,
        ModelRequest(
            row=lambda columns: ScoreCall(
                sample_id=sample.id, llm_model=scorer.model, prompt_version=scorer.prompt_version, **columns
            ),
            send=lambda: scorer.ask(question),
            cost=scorer.cost,
            prompt_tokens=prices.estimate_tokens(PROMPT) + prices.estimate_tokens(question),
            most_answer=MOST_ANSWER,
            save_failed=lambda failed, _failure: failed.save(force_update=True),
        ),
        wait=batch.wait,
    )
    fields = parse_strictly(answer.text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip())
    score, reason = (fields.get(name) for name in ("score", "reason")) if isinstance(fields, dict) else (None, None)
    is_score = isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1
    call.outcome = Outcome.SCORED if is_score else Outcome.MALFORMED
    call.score = score if is_score else None
    explanation = str(reason or "").replace("\0", "")[:MOST_REASON]
    call.reason = explanation if is_score else _("The answer of the model is no score.")
    call.save(force_update=True)
    return call.outcome


JOB = Kind(
    run=run,
    label=gettext_lazy("Score samples"),
    audit_text=gettext_lazy("started to have samples scored"),
    cancel_text=gettext_lazy("Scores so far are kept; the other samples can be scored by another run."),
    page=RUNNER.page,
    page_params=("agent",),
    ends_with_terminal=True,
)
