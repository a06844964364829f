"""What lists show of samples that are decisions, as SQL: words of the turn, the decision and its fact."""

from django.db.models import Case, Expression, IntegerField, Q, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import Exact

from openclaw_web.sqlite.fields import Json, JsonItemFromEnd

from ..exporters.samples import GATE_TYPES
from ..exporters.writes import WRITE

BODY = Json("content")


def build_user_text() -> Case:
    """What the user said in the turn, if the gate was given it; of a sample of a turn in any case."""
    count = Exact(Cast(KeyTextTransform("turnMessages", BODY), IntegerField()), 2)
    of_decision = Case(_said("user", 1), _said("user", 2, count), output_field=TextField())
    return _either(of_decision, "userMessage", "candidateFact")


def build_reply_text() -> Case:
    """The same of the agent."""
    return _either(Case(_said("agent", 1), output_field=TextField()), "agentReply")


def build_decision_text(what: str) -> Case:
    """What memory_gate said: `Decision` or `Fact`; of a write what was done, and the file. Nothing of a turn."""
    found = Coalesce(KeyTextTransform(f"incorrect{what}", BODY), KeyTextTransform(f"correct{what}", BODY))
    of_write = KeyTextTransform({"Decision": "decision", "Fact": "targetFile"}[what], BODY)
    return Case(When(_is_decision(), then=found), When(_is_write(), then=of_write), output_field=TextField())


def _either(of_decision: Expression, key: str, key_of_write: str = "") -> Case:
    cases = [When(_is_decision(), then=of_decision)]
    cases += [When(_is_write(), then=KeyTextTransform(key_of_write, BODY))] if key_of_write else []
    return Case(*cases, default=KeyTextTransform(key, BODY), output_field=TextField())


def _said(role: str, place: int, *conditions: Exact) -> When:
    """The message of a side at this place from the end of the conversation."""
    found = Q(Exact(JsonItemFromEnd("content", "conversation", place, "role"), Value(role)))
    for condition in conditions:
        found &= Q(condition)
    return When(found, then=JsonItemFromEnd("content", "conversation", place, "message"))


def _is_decision() -> Q:
    return Q(sample_type__in=GATE_TYPES)


def _is_write() -> Q:
    return Q(sample_type=WRITE)
