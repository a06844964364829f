"""The options that select writes, the same for every verb that lists them."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.verbs import parse_moment

from ..detail.audit_list import WRITES
from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit


def add_filters(parser: CommandParser) -> None:
    parser.add_argument("-f", "--file", choices=MEMORY_FILES, metavar="FILE", help=_("only writes to this file"))
    statuses = WriteGuardianAudit.Status.values
    parser.add_argument("-s", "--status", choices=statuses, metavar="STATUS", help=", ".join(statuses))
    parser.add_argument("--flagged", action="store_true", help=_("only writes that a rule applies to"))
    parser.add_argument("--since", metavar="TIME", help=_("at or after this ISO 8601 time"))
    parser.add_argument("--until", metavar="TIME", help=_("before this ISO 8601 time"))


def build_listing(agent: Agent, options: dict[str, Any], session: str | None = None) -> Any:
    """Build the `Listing` of the writes that the options select, newest first."""
    criteria = {name: options[name] for name in ("file", "status") if options.get(name)}
    criteria |= {"flagged": True} if options.get("flagged") else {}
    moments = {name: parse_moment(options.get(name), f"--{name}") for name in ("since", "until")}
    criteria |= {name: at for name, at in moments.items() if at is not None}
    return WRITES.fits(agent, **criteria, **({"session": session} if session else {}))
