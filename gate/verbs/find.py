"""`reflection gate list` and `show`: decisions as JSON and as text."""

from dataclasses import replace
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web import clock
from openclaw_web.commands.groups import Outcome, WrongUse, check_limit
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import exact_facts

from ..detail import api_detail
from ..lists.decision_list import DECISIONS
from ..lists.schemas import DecisionDetail, DecisionOut
from ..models import MemoryGateDecision
from . import add_filters, parse_filters

WIDTH = 76
ROLES = {"user": gettext_lazy("user"), "agent": gettext_lazy("agent")}


class ListVerb:
    """Lists the newest decisions that fit."""

    HELP = gettext_lazy("List decisions, newest first.")
    EXAMPLES = ("reflection gate list", "reflection gate list channel:irc:group:#lab -l 20 --with-context")

    def add_arguments(self, parser):
        parser.add_argument("key", nargs="?", metavar="SESSION", help=_("only this session: its ID or key"))
        add_filters(parser)
        parser.add_argument("-l", "--limit", type=int, default=10, metavar="N", help=_("how many, 1 to 1000 (10)"))
        parser.add_argument("-c", "--with-context", action="store_true", help=_("with what the gate saw"))

    def run(self, agent, key, limit, with_context, **options):
        check_limit(limit)
        agent_row = agents.get(agent)
        if key and options["session"]:
            raise WrongUse(_("Name the session once."))
        filters = parse_filters(options) | ({"session": key} if key else {})
        rows = decisions(agent_row, filters, limit, with_context=with_context)
        receipt = {"decisions": [_as_json(row, DecisionOut) for row in rows]}
        lines = [line for row in rows for line in (_format_lines(row), *(_format_window(row) if with_context else ()))]
        return Outcome(receipt, "\n".join(lines) or _("No decisions."))


class ShowVerb:
    """Shows one decision with all its columns."""

    HELP = gettext_lazy("Show one decision and what the gate saw.")
    EXAMPLES = ("reflection gate show 01J0000000000000000000DEMO",)

    def add_arguments(self, parser):
        parser.add_argument("id", metavar="DECISION", help=_("ID of the decision"))
        parser.add_argument(
            "-c", "--with-context", action="store_true", help=_("with what the gate saw, also in the words")
        )

    def run(self, agent, id, with_context, **options):
        try:
            row = api_detail.read_decision(agents.get(agent), id, is_operator=True)
        except Http404 as exc:
            words = {"id": id, "agent": agent}
            raise Refused(_("The agent %(agent)s has no decision %(id)s.") % words) from exc
        decision_json = _as_json(row, DecisionDetail)
        lines = [_format_lines(row), *_format_facts(row), *(_format_window(row) if with_context else [])]
        return Outcome({"decision": decision_json}, "\n".join(lines))


def decisions(agent: Any, filters: dict[str, Any], limit: int, *, with_context: bool) -> list[MemoryGateDecision]:
    """Return the first `limit` decisions that fit.

    A text search is continued until there are enough.
    """
    listing = DECISIONS.fits(agent, **filters)
    listing = replace(listing, rows=api_detail.annotate_responses(listing.rows))
    return listing.first(limit, **api_detail.build_page_limits(agent.db, with_context=with_context))


def _as_json(row, schema):
    return schema.model_validate(row).model_dump()


def _format_lines(row):
    """Return a decision as two lines: time, decision and id; reason and fact."""
    head = f"{clock.format_utc(row.created_at)}  {row.decision:<15}  {glyphs.to_one_line(row.id)}"
    reason = " ".join(row.reason.split())
    fact = f"  → {' '.join(row.candidate_fact.split())}" if row.candidate_fact else ""
    return f"{head}\n  {_shorten(reason)}{_shorten(fact)}"


def _shorten(text):
    return text if len(text) <= WIDTH * 2 else f"{text[: WIDTH * 2]}…"


def _format_facts(row):
    unknown = "–"
    tokens = [row.prompt_tokens, row.completion_tokens]
    values = {
        _("session"): row.session_id,
        _("turn"): row.turn_id or unknown,
        _("model"): row.llm_model or unknown,
        _("prompt"): row.prompt_version or unknown,
        _("latency"): unknown if row.llm_latency_ms is None else f"{row.llm_latency_ms:,} ms",
        _("tokens"): " + ".join(unknown if count is None else f"{count:,}" for count in tokens),
        _("cost"): unknown if row.cost_usd is None else f"${row.cost_usd:.6f}",
        **exact_facts(row),
    }
    return [f"  {name}: {glyphs.to_one_line(str(value))}" for name, value in values.items()]


def _format_window(row):
    """Return the messages that the gate saw, one per line."""
    if row.context is None:
        return [_("    What the gate saw is not known.")]
    messages = [(message["role"], message["message"]) for message in row.context["recent_messages"]]
    turn = [("user", row.context["current_user_message"]), ("agent", row.context["current_agent_reply"])]
    messages += [
        message for message in turn if message[1] and message not in messages[-2:]
    ]  # the plugin includes the turn in its messages
    return [f"    {ROLES[role]}: {' '.join(text.split())}" for role, text in messages]
