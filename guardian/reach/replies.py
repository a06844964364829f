"""Which replies repeat a line: six words of it in a row, or a number or a name of it beside another word."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from agents.models import Agent
from openclaw_web.errors import Refused
from search import find, query, words

from .contexts import find_reach

IN_A_ROW = 6  # words; of scripts without spaces, characters
MOST_LINES, MOST_TERMS, MOST_HITS = 5, 12, 100
SECONDS = 2.0  # for all searches of one write
NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d{3,}")
NAME = re.compile(r"(?<![.!?\w] )(?<!^)(?<!^[-*] )\b[A-Z][\w'-]{2,}")
SHORTEST_WORD = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that repeats a line, and whether its turn is known or thought to have had the line.

    `is_row`: it has six words of it in a row, which says enough for any turn.
    """

    hit: find.Hit
    is_told: bool
    is_row: bool

    @property
    def session_id(self) -> str:
        return str(self.hit.item.facts["session_id"])

    @property
    def turn_number(self) -> int | None:
        return self.hit.item.facts["turn_number"]  # type: ignore[no-any-return]


def find_replies(agent: Agent, file_name: str, lines: Sequence[str], *, seconds: float = SECONDS) -> list[Reply]:
    """Return the replies that repeat one of the first MOST_LINES lines of a file since it stood, the newest first.

    The search ends after `seconds`.
    """
    hits: dict[tuple[str, int | str], tuple[find.Hit, bool]] = {}  # and whether one suffices, told or not
    end = time.monotonic() + seconds
    since = (find_reach(agent, file_name, lines, among=()).spans or [(0, None)])[0][0] // 1000
    for line in lines[:MOST_LINES]:
        rows, single = _list_terms(line)
        others = {
            part for part in words.split(words.fold(line)) if len(part) >= SHORTEST_WORD or words.is_unspaced(part)
        }
        for term, is_row in [*((term, True) for term in rows), *((term, False) for term in single)][:MOST_TERMS]:
            if time.monotonic() > end:
                break
            for hit in _search(agent, term, since):
                folded = words.fold(hit.item.fields.get("agent", ""))
                beside = [part for part in others - set(term.parts) if query.Term((part,)).find(folded)]
                if term.find(folded) and (is_row or len(beside) >= (2 if len(others) > 3 else 1)):
                    key = hit.item.facts["session_id"], hit.item.key
                    hits[key] = hit, is_row or hits.get(key, (hit, False))[1]
    places = {(hit.item.facts["session_id"], hit.item.facts["turn_number"]) for hit, _is_row in hits.values()}
    contexts = find_reach(agent, file_name, lines, among=places).contexts
    turns_with_line = {(each.turn.session_id, each.turn.turn_number) for each in contexts}
    replies = [
        Reply(hit, (hit.item.facts["session_id"], hit.item.facts["turn_number"]) in turns_with_line, is_row)
        for hit, is_row in hits.values()
    ]
    certain = (reply for reply in replies if reply.is_told or reply.is_row)
    return sorted(certain, key=lambda reply: reply.hit.item.at, reverse=True)


def _list_terms(line):
    """The runs of six words of a line, and its numbers and names, as terms of the search."""
    parts = words.split(words.fold(line))
    rows = [
        query.Term(tuple(parts[start : start + IN_A_ROW])) for start in range(0, max(0, len(parts) - IN_A_ROW + 1), 2)
    ]
    unspaced = [part for part in parts if words.is_unspaced(part) and len(part) >= IN_A_ROW]
    rows += [query.Term((part[start : start + IN_A_ROW],)) for part in unspaced for start in range(0, len(part) - 5, 3)]
    texts = [*NUMBER.findall(line), *NAME.findall(line.strip())]
    single = [query.Term(tuple(words.split(words.fold(text)))) for text in dict.fromkeys(texts)]
    return rows[: MOST_TERMS // 2], [term for term in single if term.parts]


def _search(agent, term, since):
    line_query = query.Query("", [term], filters={"agent": agent.agent_id, "kind": "agent"}, since=since)
    try:
        return find.search(line_query, size=MOST_HITS).hits
    except Refused:
        return []
