"""Every column of the gate's tables that can hold words is declared, once."""

from django.apps import apps
from django.db import models

from gate import redaction
from gate.models import GateWindow, MemoryGateDecision
from gate.redaction import Kind

NO_WORDS = (models.IntegerField, models.FloatField, models.BooleanField)


def may_hold_words(field):
    field = field.target_field if field.is_relation else field
    return not isinstance(field, NO_WORDS)


def test_every_column_that_can_hold_words_is_declared():
    there = {
        (model.__name__, field.column)
        for model in apps.get_app_config("gate").get_models()
        for field in model._meta.concrete_fields
        if may_hold_words(field)
    }
    declared = {(model.__name__, name) for model, names in redaction.COLUMNS.items() for name in names}
    assert there - declared == set(), "declare these in gate/redaction.py"
    assert declared - there == set(), "no such columns"


def test_what_people_said_is_among_them():
    found = set(redaction.columns(Kind.WORDS))
    assert {(MemoryGateDecision, "candidate_fact"), (GateWindow, "body_zstd")} <= found
    assert (MemoryGateDecision, "session_key") in set(redaction.columns(Kind.WHO))
    assert (MemoryGateDecision, "session_key") not in found
