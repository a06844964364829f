"""Every text or bytes column declares its content, which never makes a migration."""

import os
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import models

from openclaw_web.sqlite import fields
from openclaw_web.sqlite.fields import EpochMs, TextKind, get_text_kind, may_hold_words

GOLDEN = Path(__file__).parent.parent / "data" / "columns.txt"


def test_what_columns_say_is_known():
    """A changed declaration shows up in the diff of the golden file."""
    declarations = "".join(
        f"{model._meta.db_table}.{field.column} {' '.join(words)}\n"
        for model in sorted(apps.get_models(), key=lambda model: model._meta.db_table)
        for field in model._meta.concrete_fields
        if (words := _words_of(field))
    )
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(declarations)
    assert declarations == GOLDEN.read_text(), (
        "run UPDATE_GOLDEN=1 ./dev test tests/agents/test_columns.py, look at the diff"
    )


def _words_of(field):
    kind = get_text_kind(field)
    words = [] if kind in (None, TextKind.PLAIN) else [kind.value]
    return words + (["reported"] if getattr(field, "is_reported", False) else [])


def test_check_names_a_column_that_does_not_say_what_it_holds():
    class Note(models.Model):
        text = models.TextField()
        at = EpochMs()

        class Meta:
            app_label = "gate"

        def __str__(self):
            return self.text

    try:
        with pytest.raises(SystemCheckError) as failed:
            call_command("check")
    finally:
        del apps.all_models["gate"]["note"]
        apps.clear_cache()
    assert "Note.text does not say what it holds." in str(failed.value)
    assert str(failed.value).count("does not say") == 1


def test_a_key_of_another_table_holds_what_that_table_does():
    turns, sums = apps.get_model("ledger", "ConversationTurn"), apps.get_model("gate", "GateSessionSums")
    assert get_text_kind(turns._meta.get_field("session")) == TextKind.PLAIN
    assert get_text_kind(sums._meta.get_field("session_id")) == TextKind.WHO
    assert not may_hold_words(turns._meta.get_field("turn_number"))


@pytest.mark.parametrize("name", ["SpeechText", "PersonText", "OperatorText", "PlainText", "SpeechBytes", "PlainBytes"])
def test_what_a_column_holds_makes_no_migration(name):
    options = {"shown": "api file", "reported": True, "label": "Said", "help_text": "what was said"}
    field = getattr(fields, name)(null=True, name="said", **options)
    _name, path, _args, kwargs = field.deconstruct()
    assert path == f"django.db.models.{'BinaryField' if name.endswith('Bytes') else 'TextField'}"
    assert kwargs == {"null": True}
    assert get_text_kind(field.clone()) == get_text_kind(field) is not None
