"""Every column of the guardian's tables that can hold words is declared, once."""

from django.apps import apps

from gate.redaction import Kind
from guardian import redaction
from guardian.models import FileSnapshot, WriteGuardianAudit
from tests.gate.test_redaction import may_hold_words


def test_every_column_that_can_hold_words_is_declared():
    there = {
        (model.__name__, field.column)
        for model in apps.get_app_config("guardian").get_models()
        for field in model._meta.concrete_fields
        if may_hold_words(field)
    }
    declared = {(model.__name__, name) for model, names in redaction.COLUMNS.items() for name in names}
    assert there - declared == set(), "declare these in guardian/redaction.py"
    assert declared - there == set(), "no such columns"


def test_what_people_said_is_among_them():
    found = set(redaction.columns(Kind.WORDS))
    assert {(WriteGuardianAudit, "candidate_fact"), (WriteGuardianAudit, "diff"), (FileSnapshot, "raw")} <= found
