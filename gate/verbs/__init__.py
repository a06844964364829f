"""The verbs of `openclaw-web reflection gate`, one module each, and their shared options."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from openclaw_web.commands.groups import WrongUse

from ..models import MemoryGateDecision


def parse_moment(text: str | None, option: str) -> int | None:
    """Parse an ISO 8601 time to milliseconds, such as 2026-03-11T08:00:00+01:00.

    A time without a zone is UTC. Raises WrongUse with the name of the `option`.
    """
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as exc:
        words = {"option": option, "text": text}
        raise WrongUse(_("%(option)s: %(text)s is not an ISO 8601 time such as 2026-03-11T08:00.") % words) from exc
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)


def add_filters(parser: CommandParser) -> None:
    """Add the options that filter decisions."""
    parser.add_argument("-s", "--since", metavar="TIME", help=_("at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("before this ISO 8601 time"))
    parser.add_argument("-d", "--decision", choices=MemoryGateDecision.Decision.values, help=_("only this decision"))
    parser.add_argument("-S", "--session", metavar="SESSION", help=_("only this session: its ID or key"))


def parse_filters(options: dict[str, Any], names: Sequence[str] = ("decision", "session")) -> dict[str, Any]:
    """Return the list filters of the options with these names, and of the two times."""
    filters = {name: options[name] for name in names if options.get(name)}
    moments = {name: parse_moment(options.get(name), f"--{name}") for name in ("since", "until")}
    return filters | {name: at for name, at in moments.items() if at is not None}
