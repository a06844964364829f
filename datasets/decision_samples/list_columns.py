"""SQL of the list's columns for samples of decisions: messages, decision and fact."""

from django.db.models import Case, Expression, IntegerField, Q, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import Exact

from openclaw_web.sqlite.fields import Json, JsonItemFromEnd

from ..sample_texts import GATE_TYPES, WRITE

BODY = Json("content")


def build_user_text() -> Case:
    """The user's message in the turn, as far as the gate was given it.

    Samples of whole turns always have it.
    """
    count = Exact(Cast(KeyTextTransform("turnMessages", BODY), IntegerField()), 2)
    of_decision = Case(_message_at("user", 1), _message_at("user", 2, count), output_field=TextField())
    return _select_by_type(of_decision, "userMessage", "candidateFact")


def build_reply_text() -> Case:
    """The agent's reply in the turn, as far as the gate was given it."""
    return _select_by_type(Case(_message_at("agent", 1), output_field=TextField()), "agentReply")


def build_decision_text(part: str) -> Case:
    """memory_gate's `Decision` or `Fact`; of a write its decision or file; NULL for turns."""
    of_decision = Coalesce(KeyTextTransform(f"incorrect{part}", BODY), KeyTextTransform(f"correct{part}", BODY))
    of_write = KeyTextTransform({"Decision": "decision", "Fact": "targetFile"}[part], BODY)
    return Case(When(_is_decision(), then=of_decision), When(_is_write(), then=of_write), output_field=TextField())


def _select_by_type(of_decision: Expression, key: str, key_of_write: str = "") -> Case:
    cases = [When(_is_decision(), then=of_decision)]
    cases += [When(_is_write(), then=KeyTextTransform(key_of_write, BODY))] if key_of_write else []
    return Case(*cases, default=KeyTextTransform(key, BODY), output_field=TextField())


def _message_at(role: str, place: int, *conditions: Exact) -> When:
    """The message of a side at this place from the end of the conversation."""
    matches = Q(Exact(JsonItemFromEnd("content", "conversation", place, "role"), Value(role)))
    for condition in conditions:
        matches &= Q(condition)
    return When(matches, then=JsonItemFromEnd("content", "conversation", place, "message"))


def _is_decision() -> Q:
    return Q(sample_type__in=GATE_TYPES)


def _is_write() -> Q:
    return Q(sample_type=WRITE)
