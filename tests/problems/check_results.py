"""Runs checks for problems and returns their sentences."""

from problems import check_pass
from problems.models import Problem
from problems.words import build_facts, describe_problem, find

MOST_PASSES = 20


def check() -> list[str]:
    """Run a check; returns the sentences of all open problems, the worst first."""
    passes = iter(range(MOST_PASSES))  # a busy machine needs more than one
    while not check_pass.check_all():
        next(passes)
    return open_sentences()


def open_sentences() -> list[str]:
    """Return the sentences of all open problems, the worst first."""
    return [sentence_of(row) for row in Problem.objects.filter(state="open").order_by("-severity", "-since_at", "id")]


def sentence_of(row) -> str:
    """Return the sentence of a row."""
    return describe_problem(find(row.kind), build_facts(row.agent_id, row.detail))
