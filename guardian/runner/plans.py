"""Estimates what a run of the built-in guardian would send, where to, and its cost.

No fact and no file is sent for it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.utils.translation import gettext as _

from agents.models import Agent
from agents.runners import switches
from agents.runners.runner import build_estimate
from agents.runners.status import RunnerStatus, read_runner_status
from agents.runners.switches import Switch
from jobs.kinds import DAY_MS
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.llm import prices
from openclaw_web.llm.estimates import Estimate
from openclaw_web.pages import formatting, zones

from ..models import GuardianRun, WriteGuardianAudit
from ..rollbacks import workspace_access
from ..services import bytes_to_text
from . import fact_selection, proposals, unattended_writes
from .fact_selection import FactChoice, Memory
from .llm import config, prompts
from .llm.config import RUNNER, Guardian

USUAL_ANSWER = 60  # tokens beside the content of the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """The facts that a run would send, with estimates for two steps, read and write.

    `files` counts the facts for each file; what these files hold is sent with them.
    """

    facts: int
    files: dict[str, int]


def plan_run(agent: Agent, choice: FactChoice) -> Plan:
    """Estimate a run over the chosen facts of an agent.

    Raises NoSuchSession, and Refused for files that nobody may read.
    """
    selection = fact_selection.select_facts(agent, choice)
    pairs = [
        (decision.candidate_fact or "", fact_selection.get_target_file(decision)) for decision in selection.decisions
    ]
    return _plan(agent, pairs, selection.withheld)


def plan_fact(agent: Agent, fact: str, target_file: str) -> Plan:
    """Estimate a run over one fact and the file that it belongs to."""
    return _plan(agent, [(fact, target_file)], 0)


def plan_test(agent: Agent, guardian: Guardian, runs: Iterable[GuardianRun]) -> Plan:
    """Estimate a test, as if files had the size of today; those that cannot be read count nothing."""
    return _plan(agent, [(run.candidate_fact, run.target_file) for run in runs], 0, guardian)


def problem_of(agent: Agent) -> str:
    """Return why nothing of an agent may be sent now, as a sentence; empty otherwise."""
    if problem := RUNNER.problem_of():
        return problem
    try:
        workspace_access.get_workspace(agent)
    except Refused as refused:
        return refused.sentence
    return ""


def _plan(agent, pairs: Sequence[tuple[str, str]], withheld, tested: Guardian | None = None) -> Plan:
    guardian, memory = tested or config.get_configured_guardian(), Memory(agent)
    problem = RUNNER.problem_of(guardian.model) if tested else problem_of(agent)  # a test needs no workspace
    sizes = {
        name: prices.estimate_tokens(bytes_to_text(memory.read_file(name) or b""))
        for name in {name for _fact, name in pairs}
        if not problem and (not tested or memory.can_read(name))
    }
    prompt_tokens = answer_tokens = 0  # a fact is sent twice, the file once, and the file comes back once
    for fact, name in pairs:
        opening_tokens = prompts.estimate_tokens(prompts.build_opening(fact, name, guardian.prompt))
        prompt_tokens += 2 * opening_tokens + sizes.get(name, 0) + USUAL_ANSWER
        answer_tokens += sizes.get(name, 0) + 2 * USUAL_ANSWER
    values = build_estimate(RUNNER, agent, guardian, prompt_tokens, answer_tokens, problem)
    files = dict(sorted(Counter(name for _fact, name in pairs).items()))
    return Plan(facts=len(pairs), withheld=withheld, files=files, **values)


WAITS_MS = unattended_writes.PLUGIN_DAYS * DAY_MS
Audit = WriteGuardianAudit


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnGuardianStatus(RunnerStatus):
    """Status of an agent's built-in guardian, with its counts of this UTC day.

    `switches` holds each file that may be written unattended, with the person who turned that on, or None. `proposed`
    is the number of waiting proposals of all days.
    """

    switches: dict[str, Switch | None]
    limits: dict[str, int]
    proposed: int
    written_today: int
    refused_today: int


def read_guardian_status(agent: Agent) -> OwnGuardianStatus:
    """Return the current status of an agent's built-in guardian."""
    start, end = clock.today_ms()
    today = GuardianRun.objects.using(agent.db).filter(created_at__gte=start, created_at__lt=end)
    active, today = switches.read_agent_switches(RUNNER, agent.agent_id), list(today.values_list("state", flat=True))
    return OwnGuardianStatus(
        **read_runner_status(RUNNER, agent, config.get_configured_guardian(), problem_of(agent)),
        cost_today=RUNNER.allowance.cost_today(agent.db),
        switches={name: active.get(name) for name in unattended_writes.UNATTENDED_FILES},
        limits=unattended_writes.read_limits(),
        proposed=proposals.count_waiting(agent.db),
        written_today=today.count(GuardianRun.State.WRITTEN),
        refused_today=today.count(GuardianRun.State.REFUSED),
    )


def build_switch_sentence(agent: Agent, name: str) -> str:
    """Return the sentence that says that a file is now written unattended.

    If the plugin wrote lately, the sentence also says until when facts become proposals.
    """
    writes = Audit.objects.using(agent.db).filter(
        created_at__gte=clock.now_ms() - WAITS_MS,
        origin__in=(Audit.Origin.RECORDED, Audit.Origin.IMPORTED),
        status=Audit.Status.WRITTEN,
    )
    last_write = writes.aggregate(last=Max("created_at"))["last"]
    if last_write is None:
        return _("New facts are written to %(file)s unattended from now on.") % {"file": name}
    words = {"file": name, "day": _format_day(last_write), "until": _format_day(last_write + WAITS_MS)}
    return (
        _(
            "Unattended writing is on for %(file)s. The plugin last wrote on %(day)s; until %(until)s every fact "
            "becomes a proposal."
        )
        % words
    )


def _format_day(ms):
    return formatting.day_in_words(datetime.fromtimestamp(ms / 1000, zones.get_zone()).date())
