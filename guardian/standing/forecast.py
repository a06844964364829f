"""Forecasts the effect of a write on a file's place in the prompt.

It follows the rule of OpenClaw 2026.9.6.
"""

from django.db import models

from agents.models import Agent

from ..collectors.provenance import Record
from .files import GUARDED, hash_content
from .state_database import read_live_record


class Effect(models.TextChoices):
    """The effect of a write by anybody but the agent."""

    NOTHING = "nothing"
    TAKEN_OUT = "taken_out"  # the agent's next write takes it out of the prompt
    UNKNOWN = "unknown"  # the record is of an unknown version, or cannot be read


def forecast_effect(agent: Agent, file_name: str, data: bytes | None) -> Effect:
    """Forecast the effect of writing `data` to a file; None removes the file.

    It follows from the record that OpenClaw has now.
    """
    if file_name not in GUARDED:
        return Effect.NOTHING
    return forecast_record_effect(read_live_record(agent, file_name), data)


def forecast_record_effect(record: Record | None, data: bytes | None) -> Effect:
    """Forecast the effect from a record that was read already."""
    if record is None or record.is_untrusted:
        return Effect.NOTHING
    if not record.is_known:
        return Effect.UNKNOWN
    return Effect.NOTHING if data is not None and hash_content(data) == record.file_hash else Effect.TAKEN_OUT
