"""Estimates what a run of the built-in guardian would send, where to, and its cost.

No fact and no file is sent for it.
"""

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


def problem_of(agent: Agent) -> str:
    """Return why nothing of an agent may be sent now, as a sentence; empty otherwise."""
    if problem := RUNNER.problem_of():
        return problem
    try:
        workspace_access.get_workspace(agent)
    except Refused as refused:
        return refused.sentence
    return ""


def _plan(agent, pairs: Sequence[tuple[str, str]], withheld) -> Plan:
    guardian, problem = config.get_configured_guardian(), problem_of(agent)
    sizes = {name: _estimate_file_tokens(agent, name) if not problem else 0 for name in {name for _fact, name in pairs}}
    prompt_tokens, answer_tokens = _estimate_tokens(pairs, sizes)
    values = build_estimate(RUNNER, agent, guardian, prompt_tokens, answer_tokens, problem)
    files = dict(sorted(Counter(name for _fact, name in pairs).items()))
    return Plan(facts=len(pairs), withheld=withheld, files=files, **values)


def _estimate_file_tokens(agent, name):
    return prices.estimate_tokens(bytes_to_text(Memory(agent).read_file(name) or b""))


def _estimate_tokens(pairs, sizes):
    """Estimate the tokens of the prompts and of the answers.

    A fact is sent twice, the file once, and the file comes back once.
    """
    prompt_tokens = answer_tokens = 0
    for fact, name in pairs:
        opening_tokens = prompts.estimate_tokens(prompts.build_opening(fact, name))
        prompt_tokens += 2 * opening_tokens + sizes[name] + USUAL_ANSWER
        answer_tokens += sizes[name] + 2 * USUAL_ANSWER
    return prompt_tokens, answer_tokens
