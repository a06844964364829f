"""What a session was started with, shaped for its page: skills, injected files, tools, and what its index said."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from .models import Session
from .timeline import Preview, pretty, preview

MOST = 200  # names in one list
METADATA = 8_000  # characters
DESCRIPTION = 300  # characters


@dataclass(slots=True)
class About:
    """What is known of a session besides its records; lists are empty when its index did not say."""

    skills: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    prompt_length: int | None = None
    metadata: Preview | None = None


def session(session: Session) -> About:
    """What a session (with its `prompt_report`) was started with."""
    found = About()
    if session.prompt_report:
        report = orjson.loads(session.prompt_report.report_json)
        found.skills, found.files = _named(report.get("skills")), _named(report.get("files"))
        found.tools = [name for name in report.get("tools") or [] if isinstance(name, str)][:MOST]
        found.prompt_length = report.get("systemPromptChars")
    if session.metadata:
        found.metadata = preview(pretty(orjson.loads(session.metadata)), METADATA)
    return found


def _named(rows):
    named = [row for row in rows or [] if isinstance(row, dict) and isinstance(row.get("name"), str)]
    return [row | {"description": str(row.get("description") or "")[:DESCRIPTION]} for row in named[:MOST]]
