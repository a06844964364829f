"""What a run of our guardian would send, where to, and about what it would cost; nothing is sent for it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agents.models import Agent
from agents.runners.runner import build_estimate
from openclaw_web.errors import Refused
from openclaw_web.llm import prices
from openclaw_web.llm.estimates import Estimate

from ..file_bytes import bytes_to_text
from ..rollbacks import workspace_access
from . import fact_selection
from .fact_selection import FactChoice
from .llm import config, prompts
from .llm.config import RUNNER
from .memory import Memory

USUAL_ANSWER = 60  # tokens beside the content of the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """What would be sent of how many facts. `files` counts them for each file; what these hold is sent with them.

    The estimates are for two steps, read and write.
    """

    facts: int
    files: dict[str, int]


def plan_run(agent: Agent, asked: FactChoice) -> Plan:
    """What handling these facts of an agent would mean. Raises NoSuchSession, and Refused for files nobody may read."""
    chosen = fact_selection.select_facts(agent, asked)
    told = [(decision.candidate_fact or "", fact_selection.get_target_file(decision)) for decision in chosen.decisions]
    return _plan(agent, told, chosen.withheld)


def plan_fact(agent: Agent, fact: str, target_file: str) -> Plan:
    """The same for one fact and the file that it belongs to."""
    return _plan(agent, [(fact, target_file)], 0)


def problem_of(agent: Agent) -> str:
    """Why nothing of an agent may be sent now, in a sentence; empty when something may be."""
    if problem := RUNNER.problem_of():
        return problem
    try:
        workspace_access.get_workspace(agent)
    except Refused as refused:
        return refused.sentence
    return ""


def _plan(agent, told: Sequence[tuple[str, str]], withheld) -> Plan:
    guardian, problem = config.get_configured_guardian(), problem_of(agent)
    sizes = {name: _tokens_of(agent, name) if not problem else 0 for name in {name for _fact, name in told}}
    asked, answered = _tokens(told, sizes)
    values = build_estimate(RUNNER, agent, guardian, asked, answered, problem)
    files = dict(sorted(Counter(name for _fact, name in told).items()))
    return Plan(facts=len(told), withheld=withheld, files=files, **values)


def _tokens_of(agent, name):
    return prices.estimate_tokens(bytes_to_text(Memory(agent).read_file(name) or b""))


def _tokens(told, sizes):
    """About how many tokens are asked and answered: a fact is sent twice, the file once, and comes back once."""
    asked = answered = 0
    for fact, name in told:
        begin = prompts.estimate_tokens(prompts.build_opening(fact, name))
        asked += 2 * begin + sizes[name] + USUAL_ANSWER
        answered += sizes[name] + 2 * USUAL_ANSWER
    return asked, answered
