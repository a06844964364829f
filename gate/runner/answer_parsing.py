"""Parses a model's answer to a decision.

The answer must be exactly the object that the prompt asks for.

A Markdown fence around the whole answer is removed. Any other text around the object makes the answer malformed, and so
does a name that is given twice. Other names than those of the prompt are ignored.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from openclaw_web.llm.answers import parse_strictly

from ..models import MemoryGateDecision

NO_WRITE = MemoryGateDecision.Decision.NO_WRITE
DECISIONS = frozenset(MemoryGateDecision.Decision.values)
MOST_TEXT = 20_000  # characters of a reason or a fact
FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL | re.IGNORECASE)


class Fault(StrEnum):
    """The fault of an answer."""

    not_an_object = "not_an_object"
    unknown_decision = "unknown_decision"
    missing_reason = "missing_reason"
    missing_candidate_fact = "missing_candidate_fact"  # the name that the Reflection plugin uses
    unexpected_fact = "unexpected_fact"


class MalformedAnswer(Exception):
    """An answer that is no decision: `kind` in one word, `sentence` for people."""

    def __init__(self, kind: Fault):
        self.kind = kind
        self.sentence = _sentences()[kind]
        super().__init__(self.sentence)


@dataclass(frozen=True, slots=True)
class ModelDecision:
    """The decision of a model on a turn."""

    decision: str
    reason: str
    candidate_fact: str | None


def parse_answer(text: str) -> ModelDecision:
    """Return the decision in an answer. Raises only CallMalformed."""
    stripped = text.strip()
    fenced = FENCED.fullmatch(stripped)
    fields = parse_strictly(fenced[1] if fenced else stripped)
    if not isinstance(fields, dict):
        raise MalformedAnswer(Fault.not_an_object)
    decision, reason, fact = (fields.get(name) for name in ("decision", "reason", "candidateFact"))
    if not isinstance(decision, str) or decision not in DECISIONS:
        raise MalformedAnswer(Fault.unknown_decision)
    if not _is_text(reason):
        raise MalformedAnswer(Fault.missing_reason)
    if decision == NO_WRITE:
        if fact is not None and not (isinstance(fact, str) and not fact.strip()):
            raise MalformedAnswer(Fault.unexpected_fact)
        return ModelDecision(decision, reason.strip(), None)
    if not _is_text(fact):
        raise MalformedAnswer(Fault.missing_candidate_fact)
    return ModelDecision(decision, reason.strip(), fact.strip())


def _is_text(value):
    return isinstance(value, str) and bool(value.strip()) and len(value) <= MOST_TEXT and "\x00" not in value


def _sentences():
    return {
        Fault.not_an_object: _("The model did not answer with one JSON object."),
        Fault.unknown_decision: _("The answer of the model names none of the six decisions."),
        Fault.missing_reason: _("The answer of the model has no reason, or one of more than 20,000 characters."),
        Fault.missing_candidate_fact: _("The model decided to write, but its answer does not say what."),
        Fault.unexpected_fact: _("The model decided to write nothing, but its answer contains something to write."),
    }
