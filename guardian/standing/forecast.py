"""What a write to a memory file does to the file's place in the prompt, by the rule of OpenClaw 2026.9.6."""

from django.db import models

from agents.models import Agent

from ..collectors.provenance import Record
from .files import GUARDED, hash_content
from .state_database import read_live_record


class Effect(models.TextChoices):
    """What follows from a write to a file by anybody but the agent."""

    NOTHING = "nothing"
    TAKEN_OUT = "taken_out"  # the agent's next write takes it out of the prompt
    UNKNOWN = "unknown"  # the record is of an unknown version, or cannot be read


def forecast_effect(agent: Agent, file_name: str, data: bytes | None) -> Effect:
    """What it does to the file to hold `data` (None: to be removed), by the record that OpenClaw has now."""
    if file_name not in GUARDED:
        return Effect.NOTHING
    return forecast_record_effect(read_live_record(agent, file_name), data)


def forecast_record_effect(record: Record | None, data: bytes | None) -> Effect:
    """The same by a record that was read already."""
    if record is None or record.is_untrusted:
        return Effect.NOTHING
    if not record.is_known:
        return Effect.UNKNOWN
    return Effect.NOTHING if data is not None and hash_content(data) == record.file_hash else Effect.TAKEN_OUT
