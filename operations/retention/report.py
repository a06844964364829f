"""Arguments and output of `openclaw-web retention` and `archive`: ages, receipts, and their text."""

from datetime import UTC, date, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import amounts

from ..artifact_gc import services as artifact_gc
from .session_selection import REASON_WORDS, days_ago

RETENTION_SCHEMA, ARCHIVE_SCHEMA = "openclaw-web.retention.v1", "openclaw-web.archive-run.v1"

MOST_DAYS = 36_500
SOME_FAILED = gettext_lazy("Some sessions or archives could not be processed.")
SESSIONS = ("dry_run", "before", "out", "sessions", "records", "turns", "kept", "bytes", "agents")
FILES = ("restored", "there", "older", "sound", "rows")


def parse_moment(before: str | None, older_than: str | None) -> int:
    """Parse a day, or an age in days, to a UTC day's beginning in milliseconds.

    Raises ValueError for other text. An age is the same moment as that of `retention --days`: receipts name its day.
    """
    if before:
        day = date.fromisoformat(before)
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
    try:
        days, rest = divmod(artifact_gc.parse_age(older_than or ""), 86_400)
    except artifact_gc.WrongAge as wrong:
        raise ValueError from wrong
    if rest or days > MOST_DAYS:
        raise ValueError(older_than)
    return days_ago(days)


def build_sessions_receipt(result: dict[str, Any]) -> dict[str, Any]:
    """The receipt of a run of `archive`."""
    facts = {name: result[name] for name in (*SESSIONS, "message", "failed", "failed_count")}
    return {"verb": "archive", **facts, **dict.fromkeys(FILES)}


def build_files_receipt(verb: str, result: dict[str, Any]) -> dict[str, Any]:
    """The receipt of a verification or a restore."""
    count = {"failed_count": len(result["failed"])}
    return {"verb": verb, **dict.fromkeys(SESSIONS), **result, **count}


def has_successes(facts: dict[str, Any]) -> bool:
    """Whether a session was removed, archived, restored or found, or an archive was intact."""
    return any(facts.get(name) for name in ("sessions", "restored", "there", "older", "sound"))


def in_words(facts: dict[str, Any]) -> str:
    """The receipt as text: the message, counts by reason and by agent."""
    lines = [facts["message"]]
    lines += [f"  {count:,}: {REASON_WORDS.get(reason, reason)}" for reason, count in (facts.get("kept") or {}).items()]
    for agent_id, agent in (facts.get("agents") or {}).items():
        if agent["sessions"]:
            texts = {"agent": agent_id, "oldest": agent["oldest"]}
            texts |= {name: amounts.format_amount(name, agent[name]) for name in ("sessions", "turns", "records")}
            words = _("  %(agent)s: %(sessions)s, %(turns)s, %(records)s, since %(oldest)s")
            lines.append(words % texts)
    if facts.get("dry_run"):
        lines.append(_("Nothing was removed."))
    return "\n".join(lines)
