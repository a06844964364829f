"""Sessions and turns beside the rows of the gate's lists, and the filter by session."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Substr

from agents.models import Agent
from ledger.lists.session_list import read_titles
from ledger.models import ConversationTurn
from openclaw_web.lists.paging import Term
from openclaw_web.sqlite.fields import IsAmong
from search import narrow

from ..recording import turn_matching

SESSION = "id or key of a session; a key that several sessions had is searched for"  # of a filter

EXACT_PREFIX = "="
MAX_CHECKED = 20  # up to so many sessions with one key are checked for rows one by one
FIRST_CHARACTERS = 240


def build_session_term(agent: Agent, rows: QuerySet[Any], name: str) -> Term:
    """Build the condition that a row belongs to a session.

    `name` is an id, a key, or the name that the plugin uses. Several sessions may have had the same key. With
    EXACT_PREFIX before the name, only the id counts.
    """
    if name.startswith(EXACT_PREFIX):
        return Term("session_id", "exact", name.removeprefix(EXACT_PREFIX))
    names = sorted({name, *turn_matching.find_session_ids(agent.db, agent.agent_id, [name])})
    if 1 < len(names) <= MAX_CHECKED:
        names = [session_id for session_id in names if rows.filter(session_id=session_id).exists()] or [name]
    return Term("session_id", "exact", names[0]) if len(names) == 1 else Term("session_id", "in", names)


def build_text_condition(agent: Agent, words: str, source: str) -> Q:
    """Build the condition that the reason or the fact of a row has these words; `source` is that of the search."""
    keys = narrow.find_keys(agent.db, words, source)
    if keys is None:  # without an index
        return Q(reason__icontains=words) | Q(candidate_fact__icontains=words)
    return Q(IsAmong(("id",), [key for _part, key in keys]))


def read_beginnings(rows: QuerySet[Any], columns: Sequence[str]) -> QuerySet[Any, dict[str, Any]]:
    """Read rows as dictionaries, with the beginnings of reason and fact as `why` and `fact`."""
    return rows.values(
        *(name for name in columns if name not in ("reason", "candidate_fact")),
        "place",
        why=Substr("reason", 1, FIRST_CHARACTERS),
        fact=Substr("candidate_fact", 1, FIRST_CHARACTERS),
    )


def read_row_context(db: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Read `titles` of the rows' stored sessions, and `turns` by their ids."""
    ids = {row["turn_id"] for row in rows if row["turn_id"]}
    turns = ConversationTurn.objects.using(db).filter(id__in=ids)
    turn_starts = turns.values("id", "turn_number", said=Substr("user_message_content", 1, FIRST_CHARACTERS))
    return {"titles": read_titles(db, rows), "turns": {turn["id"]: turn for turn in turn_starts}}
