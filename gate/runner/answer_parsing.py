"""What a model answered, as a decision: exactly the object that the prompt asks for, or nothing.

A Markdown fence around the whole answer is taken off; any other word around the object makes the answer malformed, and
so does a name that is given twice. Names that nobody asked for are ignored.
"""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from django.utils.translation import gettext as _

from ..models import MemoryGateDecision

NO_WRITE = MemoryGateDecision.Decision.NO_WRITE
DECISIONS = frozenset(MemoryGateDecision.Decision.values)
MOST_TEXT = 20_000  # characters of a reason or a fact
FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL | re.IGNORECASE)


class Fault(StrEnum):
    """What is wrong with an answer."""

    not_an_object = "not_an_object"
    unknown_decision = "unknown_decision"
    missing_reason = "missing_reason"
    missing_candidate_fact = "missing_candidate_fact"  # as the Reflection plugin calls it
    unexpected_fact = "unexpected_fact"


class MalformedAnswer(Exception):
    """An answer that is no decision: `kind` in one word, `sentence` for people."""

    def __init__(self, kind: Fault):
        self.kind = kind
        self.sentence = _sentences()[kind]
        super().__init__(self.sentence)


@dataclass(frozen=True, slots=True)
class ModelDecision:
    """What a model decided about a turn."""

    decision: str
    reason: str
    candidate_fact: str | None


def parse_answer(text: str) -> ModelDecision:
    """The decision in an answer. Raises CallMalformed and nothing else, whatever the answer is."""
    found = _object(text)
    decision, reason, fact = (found.get(name) for name in ("decision", "reason", "candidateFact"))
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


def _object(text):
    whole = text.strip()
    fenced = FENCED.fullmatch(whole)
    value = _value(fenced[1] if fenced else whole)
    if not isinstance(value, dict):
        raise MalformedAnswer(Fault.not_an_object)
    return value


def _value(text) -> Any:
    """The value of a JSON text; None when it is none, or says one thing twice."""
    try:
        orjson.loads(text)  # refuses what no database takes, and what is nested without end
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None


def _once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


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
