"""What `openclaw-web retention` and `archive` are told and print: ages, receipts, and the same in words."""

from datetime import UTC, date, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import amounts

from ..artifact_gc import services as clearing
from .session_selection import REASON_WORDS, days_ago

RETENTION, ARCHIVE = "openclaw-web.retention.v1", "openclaw-web.archive-run.v1"
BY = "command line"
MOST_DAYS = 36_500
SOME_FAILED = gettext_lazy("Some sessions or archives could not be processed.")
SESSIONS = ("dry_run", "before", "out", "sessions", "records", "turns", "kept", "bytes", "agents")
FILES = ("restored", "there", "older", "sound", "rows")


def parse_moment(before: str | None, older_than: str | None) -> int:
    """A day, or an age in whole days, as the beginning of a UTC day in milliseconds. Raises ValueError for others.

    An age means the moment that `retention --days` means: the receipt of either names its day.
    """
    if before:
        day = date.fromisoformat(before)
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
    try:
        days, rest = divmod(clearing.parse_age(older_than or ""), 86_400)
    except clearing.WrongAge as wrong:
        raise ValueError from wrong
    if rest or days > MOST_DAYS:
        raise ValueError(older_than)
    return days_ago(days)


def build_sessions_receipt(result: dict[str, Any]) -> dict[str, Any]:
    """The receipt of an archive run."""
    facts = {name: result[name] for name in (*SESSIONS, "message", "failed", "failed_count")}
    return {"verb": "archive", **facts, **dict.fromkeys(FILES)}


def build_files_receipt(verb: str, result: dict[str, Any]) -> dict[str, Any]:
    """The receipt of a verify or restore."""
    count = {"failed_count": len(result["failed"])}
    return {"verb": verb, **dict.fromkeys(SESSIONS), **result, **count}


def has_successes(facts: dict[str, Any]) -> bool:
    """Whether a session was removed, archived, put back or found in its place, or an archive found sound."""
    return any(facts.get(name) for name in ("sessions", "restored", "there", "older", "sound"))


def in_words(facts: dict[str, Any]) -> str:
    """A line for all, one for each reason to stay, one for each agent that has something old."""
    lines = [facts["message"]]
    lines += [f"  {count:,}: {REASON_WORDS.get(reason, reason)}" for reason, count in (facts.get("kept") or {}).items()]
    for agent_id, agent in (facts.get("agents") or {}).items():
        if agent["sessions"]:
            told = {"agent": agent_id, "oldest": agent["oldest"]}
            told |= {name: amounts.format_amount(name, agent[name]) for name in ("sessions", "turns", "records")}
            words = _("  %(agent)s: %(sessions)s, %(turns)s, %(records)s, since %(oldest)s")
            lines.append(words % told)
    if facts.get("dry_run"):
        lines.append(_("Nothing was removed."))
    return "\n".join(lines)
