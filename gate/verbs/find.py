"""`reflection gate list` and `show`: decisions as the API tells them, and in words."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import exact_facts

from ..detail import api_detail
from ..lists.decision_list import DECISIONS
from ..lists.schemas import DecisionDetail, DecisionOut
from ..models import MemoryGateDecision
from . import add_filters, parse_filters

MOST = 1_000
WIDTH = 76
ROLES = {"user": gettext_lazy("user"), "agent": gettext_lazy("agent")}


class ListVerb:
    """The newest decisions that fit."""

    HELP = gettext_lazy("List decisions, newest first.")
    EXAMPLES = ("reflection gate list", "reflection gate list channel:irc:group:#lab -l 20 --with-context")

    def add_arguments(self, parser):
        parser.add_argument("key", nargs="?", metavar="SESSION", help=_("only this session: its ID or key"))
        add_filters(parser)
        parser.add_argument("-l", "--limit", type=int, default=10, metavar="N", help=_("how many, 1 to 1000 (10)"))
        parser.add_argument("-c", "--with-context", action="store_true", help=_("with what the gate saw"))

    def run(self, agent, key, limit, with_context, **options):
        if not 1 <= limit <= MOST:
            raise WrongUse(_("--limit must be 1 to 1000."))
        found = agents.get(agent)
        if key and options["session"]:
            raise WrongUse(_("Name the session once."))
        asked = parse_filters(options) | ({"session": key} if key else {})
        rows = decisions(found, asked, limit, with_context=with_context)
        receipt = {"decisions": [_as_json(row, DecisionOut) for row in rows]}
        lines = [line for row in rows for line in (_lines(row), *(_window(row) if with_context else ()))]
        return Outcome(receipt, "\n".join(lines) or _("No decisions."))


class ShowVerb:
    """One decision with all that is known of it."""

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
        told = _as_json(row, DecisionDetail)
        lines = [_lines(row), *_facts(row), *(_window(row) if with_context else [])]
        return Outcome({"decision": told}, "\n".join(lines))


def decisions(agent: Any, asked: dict[str, Any], limit: int, *, with_context: bool) -> list[MemoryGateDecision]:
    """The first `limit` decisions that fit, however often a search has to go on for them."""
    found = DECISIONS.fits(agent, **asked)
    found = replace(found, rows=api_detail.annotate_responses(found.rows))
    return found.first(limit, **api_detail.build_page_limits(agent.db, with_context=with_context))


def _as_json(row, schema):
    return schema.model_validate(row).model_dump()


def _lines(row):
    """A decision in two lines: when and what; why, and the fact."""
    at = datetime.fromtimestamp(row.created_at / 1000, UTC)
    head = f"{at:%Y-%m-%d %H:%M:%S} UTC  {row.decision:<15}  {glyphs.to_one_line(row.id)}"
    why = " ".join(row.reason.split())
    fact = f"  → {' '.join(row.candidate_fact.split())}" if row.candidate_fact else ""
    return f"{head}\n  {_short(why)}{_short(fact)}"


def _short(text):
    return text if len(text) <= WIDTH * 2 else f"{text[: WIDTH * 2]}…"


def _facts(row):
    unknown = "–"
    tokens = [row.prompt_tokens, row.completion_tokens]
    known = {
        _("session"): row.session_id,
        _("turn"): row.turn_id or unknown,
        _("model"): row.llm_model or unknown,
        _("prompt"): row.prompt_version or unknown,
        _("latency"): unknown if row.llm_latency_ms is None else f"{row.llm_latency_ms:,} ms",
        _("tokens"): " + ".join(unknown if count is None else f"{count:,}" for count in tokens),
        _("cost"): unknown if row.cost_usd is None else f"${row.cost_usd:.6f}",
        **exact_facts(row),
    }
    return [f"  {name}: {glyphs.to_one_line(str(value))}" for name, value in known.items()]


def _window(row):
    """What the gate saw, message by message."""
    if row.context is None:
        return [_("    What the gate saw is not known.")]
    said = [(message["role"], message["message"]) for message in row.context["recent_messages"]]
    turn = [("user", row.context["current_user_message"]), ("agent", row.context["current_agent_reply"])]
    said += [one for one in turn if one[1] and one not in said[-2:]]  # a plugin counts the turn among its messages
    return [f"    {ROLES[role]}: {' '.join(text.split())}" for role, text in said]
