"""What a write to a memory file does to the file's place in the prompt, by the rule of OpenClaw 2026.9.6."""

from django.db import models

from agents.models import Agent

from ..collectors.provenance import Record
from .files import GUARDED, hash_of
from .state_database import live_record


class Effect(models.TextChoices):
    """What follows from a write to a file by anybody but the agent."""

    NOTHING = "nothing"
    TAKEN_OUT = "taken_out"  # the agent's next write takes it out of the prompt
    UNKNOWN = "unknown"  # the record is of an unknown version, or cannot be read


def effect_of_write(agent: Agent, file_name: str, data: bytes | None) -> Effect:
    """What it does to the file to hold `data` (None: to be removed), by the record that OpenClaw has now."""
    if file_name not in GUARDED:
        return Effect.NOTHING
    return effect_on_record(live_record(agent, file_name), data)


def effect_on_record(record: Record | None, data: bytes | None) -> Effect:
    """The same by a record that was read already."""
    if record is None or record.is_untrusted:
        return Effect.NOTHING
    if not record.is_known:
        return Effect.UNKNOWN
    return Effect.NOTHING if data is not None and hash_of(data) == record.file_hash else Effect.TAKEN_OUT
