"""What lists show of samples that are decisions, as SQL: words of the turn, the decision and its fact."""

from django.db.models import Case, Expression, IntegerField, JSONField, Q, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import Exact

from openclaw_web.sqlite.fields import FromEnd

from ..exporters.samples import GATE_TYPES

BODY = Cast("content", JSONField())


def user() -> Case:
    """What the user said in the turn, if the gate was given it; of a sample of a turn in any case."""
    count = Exact(Cast(KeyTextTransform("turnMessages", BODY), IntegerField()), 2)
    return _either(Case(_said("user", 1), _said("user", 2, count), output_field=TextField()), "userMessage")


def reply() -> Case:
    """The same of the agent."""
    return _either(Case(_said("agent", 1), output_field=TextField()), "agentReply")


def decided(what: str) -> Case:
    """What memory_gate said: `Decision` or `Fact`. Nothing of a sample of a turn."""
    found = Coalesce(KeyTextTransform(f"incorrect{what}", BODY), KeyTextTransform(f"correct{what}", BODY))
    return Case(When(_is_decision(), then=found), output_field=TextField())


def _either(of_decision: Expression, key: str) -> Case:
    return Case(When(_is_decision(), then=of_decision), default=KeyTextTransform(key, BODY), output_field=TextField())


def _said(role: str, place: int, *conditions: Exact) -> When:
    """The message of a side at this place from the end of the conversation."""
    found = Q(Exact(FromEnd("content", "conversation", place, "role"), Value(role)))
    for condition in conditions:
        found &= Q(condition)
    return When(found, then=FromEnd("content", "conversation", place, "message"))


def _is_decision() -> Q:
    return Q(sample_type__in=GATE_TYPES)
