"""Data of a session besides its records: skills, injected files, tools and index entry."""

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
    """Data of a session besides its records; lists are empty when its index lacks them."""

    skills: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    prompt_length: int | None = None
    metadata: Preview | None = None
    status: str = ""  # how its last run ended, in OpenClaw's word
    recap: str = ""  # that OpenClaw made of it
    moments: dict[str, int] = field(default_factory=dict)  # when somebody pinned, archived or snoozed it
    pending_count: int = 0  # messages that OpenClaw accepted and never ran; the last one came at `pending_at`
    pending_at: int | None = None


def build_session_metadata(session: Session) -> SessionMetadata:
    """The metadata of a session (with its `prompt_report`) for its page."""
    metadata = SessionMetadata()
    if session.prompt_report:
        report = session.prompt_report.report
        metadata.skills = [_build_skill(row) for row in _filter_named(report.get("skills"))]
        metadata.files = [_build_file(row) for row in _filter_named(report.get("files"))]
        metadata.tools = [name for name in _get_list(report.get("tools")) if isinstance(name, str)][:MOST]
        metadata.prompt_length = parse_count(report.get("systemPromptChars"))
    if index_entry := session.index_facts:
        metadata.metadata = build_preview(format_json(index_entry), METADATA)
        metadata.status, metadata.recap = (
            _get_text(index_entry.get("status")),
            _get_text(index_entry.get("activitySummary")),
        )
        if isinstance(pending := index_entry.get("pendingInputs"), dict):
            metadata.pending_count = parse_count(pending.get("count")) or 0
            metadata.pending_at = parse_moment_ms(pending.get("lastAt"))
        metadata.moments = {name: ms for name in MOMENTS if (ms := parse_moment_ms(index_entry.get(name)))}
    return metadata


def _filter_named(rows):
    return [row for row in _get_list(rows) if isinstance(row, dict) and isinstance(row.get("name"), str)][:MOST]


def _build_skill(row):
    description = row.get("description")
    return {"name": row["name"], "description": description[:DESCRIPTION] if isinstance(description, str) else ""}


def _build_file(row):
    """A file with its sizes; values that are no numbers are left out."""
    raw, injected = parse_count(row.get("rawChars")), parse_count(row.get("injectedChars"))
    is_cut = row.get("truncated") is True and None not in (raw, injected)
    values = {"name": row["name"], "rawChars": raw, "injectedChars": injected}
    return values | {"missing": row.get("missing") is True, "truncated": is_cut}


def _get_text(value):
    return value if isinstance(value, str) else ""


def _get_list(value):
    return value if isinstance(value, list) else []
