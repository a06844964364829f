"""Checks as tests run them: what a check finds, in sentences."""

from problems import checking
from problems.models import Problem
from problems.words import facts_of, find, sentence


def check() -> list[str]:
    """The sentences of all open problems after a check, the worst first."""
    checking.check_all()
    return open_sentences()


def open_sentences() -> list[str]:
    """The sentences of all open problems, the worst first."""
    return [sentence_of(row) for row in Problem.objects.filter(state="open").order_by("-severity", "-since_at", "id")]


def sentence_of(row) -> str:
    """The sentence of a row."""
    return sentence(find(row.kind), facts_of(row.agent_id, row.detail_json))
