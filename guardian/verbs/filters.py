"""The options that select writes, the same for every verb that lists them."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.verbs import parse_filters

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
    criteria = parse_filters(options, ("file", "status", "flagged"))
    return WRITES.fits(agent, **criteria, **({"session": session} if session else {}))
