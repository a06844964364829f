"""What stands around the rows of the gate's lists: sessions by whatever they are called, and how turns began."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Substr

from agents.models import Agent
from ledger.lists.session_list import read_titles
from ledger.models import ConversationTurn
from openclaw_web.lists.paging import Term

from ..recording import turn_matching

EXACT_PREFIX = "="
FEW = 20  # sessions of one key that are asked one by one whether they have rows
FIRST_CHARACTERS = 240


def build_session_term(agent: Agent, rows: QuerySet[Any], name: str) -> Term:
    """The condition that a row belongs to a session, named by its id, its key, or what the plugin calls it.

    Several sessions may have had the same key. With EXACTLY before it, only the id counts.
    """
    if name.startswith(EXACT_PREFIX):
        return Term("session_id", "exact", name.removeprefix(EXACT_PREFIX))
    names = sorted({name, *turn_matching.find_session_ids(agent.db, agent.agent_id, [name])})
    if 1 < len(names) <= FEW:
        names = [one for one in names if rows.filter(session_id=one).exists()] or [name]
    return Term("session_id", "exact", names[0]) if len(names) == 1 else Term("session_id", "in", names)


def read_row_context(db: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a page shows beside its rows: `titles` of the sessions that are stored, and `turns` by their ids."""
    ids = {row["turn_id"] for row in rows if row["turn_id"]}
    turns = ConversationTurn.objects.using(db).filter(id__in=ids)
    begun = turns.values("id", "turn_number", said=Substr("user_message_content", 1, FIRST_CHARACTERS))
    return {"titles": read_titles(db, rows), "turns": {turn["id"]: turn for turn in begun}}
