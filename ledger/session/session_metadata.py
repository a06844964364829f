"""What a session was started with, shaped for its page: skills, injected files, tools, and what its index said."""

from dataclasses import dataclass, field
from typing import Any

from openclaw_web.sqlite.json_columns import parse_count

from ..collectors.records import parse_moment_ms
from ..models import Session
from .timeline import Preview, build_preview, format_json

MOST = 200  # names in one list
METADATA = 8_000  # characters
MOMENTS = ("pinnedAt", "archivedAt", "snoozedUntil")
DESCRIPTION = 300  # characters


@dataclass(slots=True)
class SessionMetadata:
    """What is known of a session besides its records; lists are empty when its index did not say."""

    skills: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    prompt_length: int | None = None
    metadata: Preview | None = None
    status: str = ""  # how its last run ended, in OpenClaw's word
    recap: str = ""  # that OpenClaw made of it
    moments: dict[str, int] = field(default_factory=dict)  # when somebody pinned, archived or snoozed it


def build_session_metadata(session: Session) -> SessionMetadata:
    """What a session (with its `prompt_report`) was started with."""
    found = SessionMetadata()
    if session.prompt_report:
        report = session.prompt_report.report
        found.skills = [_skill(row) for row in _named(report.get("skills"))]
        found.files = [_file(row) for row in _named(report.get("files"))]
        found.tools = [name for name in _list(report.get("tools")) if isinstance(name, str)][:MOST]
        found.prompt_length = parse_count(report.get("systemPromptChars"))
    if said := session.index_entry:
        found.metadata = build_preview(format_json(said), METADATA)
        found.status, found.recap = _text(said.get("status")), _text(said.get("activitySummary"))
        found.moments = {name: ms for name in MOMENTS if (ms := parse_moment_ms(said.get(name)))}
    return found


def _named(rows):
    return [row for row in _list(rows) if isinstance(row, dict) and isinstance(row.get("name"), str)][:MOST]


def _skill(row):
    description = row.get("description")
    return {"name": row["name"], "description": description[:DESCRIPTION] if isinstance(description, str) else ""}


def _file(row):
    """A file with its sizes; what is no number is left out."""
    raw, injected = parse_count(row.get("rawChars")), parse_count(row.get("injectedChars"))
    is_cut = row.get("truncated") is True and None not in (raw, injected)
    told = {"name": row["name"], "rawChars": raw, "injectedChars": injected}
    return told | {"missing": row.get("missing") is True, "truncated": is_cut}


def _text(value):
    return value if isinstance(value, str) else ""


def _list(value):
    return value if isinstance(value, list) else []
