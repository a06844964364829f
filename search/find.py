"""Finds the texts of a query in the indexes of all agents, and compares each with the query before it counts.

An index names candidates, the newest first; the rows themselves say what they have now, and what nobody may read.
"""

import heapq
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import build_cursor_refusal, decode_cursor, encode_cursor
from openclaw_web.sqlite import word_index
from openclaw_web.sqlite.word_index import WordIndex

from . import query as queries
from . import words
from .fill import Place, count_waiting, list_places, read_mark
from .query import Query
from .sources import FIELDS_OF, GROUPS, KINDS, MARK, RANKS, Item, get_sources

FIRST_READ, MOST_READ = 20, 5_000  # candidates of a file that are read at once
MOST_COMPARED, READ_AT_ONCE = 300, 25  # candidates that are compared at once, and rows of a source that are read
AROUND = 2_000  # characters of a text that a hit has before its first word; four times as many after it
MOST_CANDIDATES = 20_000
MOST_OPEN = 50  # indexes
GLOBAL_KINDS = {"sample", "task"}  # of the global file; all others are of agents
MOST_RANKED = 2_000  # hits of which the best come first
SECONDS, RANKING_SECONDS = 1.5, 0.06  # for candidates; what was not reached is said
EXCERPT = 240  # characters


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that has the query; `kind` is that of the field with its words."""

    query: Query
    item: Item
    agent_id: str
    kind: str
    rank: tuple[bool, int]

    def cut(self, length: int = EXCERPT) -> list[tuple[str, bool]]:
        """The text around the words, in pieces, each with whether it is one of them."""
        return queries.mark(self.query, self.item.fields[self.kind], length)

    @property
    def label(self) -> str:
        return str(KINDS[self.kind])


@dataclass(slots=True)
class Results:
    """The hits of a page. With `next` there may be more; `is_partial`: a limit ended the search first.

    `behind` are the agents with texts that no index has yet ("" is the global file), `unread` those that there was no
    time for: their hits may be missing anywhere.
    """

    hits: list[Hit] = field(default_factory=list)
    next: str = ""
    is_partial: bool = False
    behind: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def describe_limits(pages: Iterable[Results]) -> list[str]:
    """Sentences about what a search did not cover."""
    pages = list(pages)
    names = sorted({name or _("samples and tasks") for results in pages for name in results.behind})
    sentences = []
    if names:
        words_of_names = {"names": ", ".join(names[:5]) + (", …" if names[5:] else "")}
        sentences.append(_("New texts are not searched yet: %(names)s.") % words_of_names)
    if any(results.unread for results in pages):
        sentences.append(_("There was no time to search all agents. Name one: agent:NAME."))
    elif any(results.is_partial for results in pages):
        sentences.append(_("Only the newest texts with these words were compared. There may be more hits."))
    return sentences


def to_json(results: Results) -> dict[str, Any]:
    """A page of hits as the API and the command have it."""
    items = []
    for hit in results.hits:
        marks, text = [], ""
        for piece, is_mark in hit.cut():
            marks += [(len(text), len(text) + len(piece))] if is_mark else []
            text += piece
        item = {"kind": hit.kind, "agent_id": hit.agent_id, "created_at": hit.item.at, "title": hit.item.title}
        items.append(item | {"address": hit.item.href, "excerpt": text, "marks": marks})
    limits = {"next": results.next or None, "is_partial": results.is_partial, "behind": sorted(set(results.behind))}
    return {"items": items, **limits}


class Shelf:
    """The files of one search: the index of each is opened once, the first ones of very many again."""

    def __init__(self, query: Query):
        agent_id = query.filters.get("agent", "")
        names = {name for name in Agent.objects.values_list("agent_id", flat=True) if agent_id in ("", name)}
        if agent_id and not names:
            raise Refused(_("There is no agent %(name)s.") % {"name": agent_id})
        self.places = [place for place in list_places() if place.agent_id in {"", *names}]
        self.behind = sorted(names - {place.agent_id for place in self.places})  # their files are lost
        self._opened: dict[Place, tuple[ExitStack, WordIndex | None]] = {}
        self._mark, self.unread = read_mark(), []
        self.end = time.monotonic() + SECONDS

    def open(self, place: Place) -> WordIndex | None:
        if place not in self._opened:
            if len(self._opened) >= MOST_OPEN:
                self._opened.pop(next(iter(self._opened)))[0].close()
            stack = ExitStack()
            index = stack.enter_context(word_index.open_index(place.file))
            self._opened[place] = stack, index  # `close` closes it also where it is damaged
            facts = index.read_facts() if index else {}
            is_same = facts.get("mark") == self._mark and index
            has_changed = not place.agent_id or facts.get("state") != place.read_state()
            if not is_same or (has_changed and count_waiting(place, index)):
                self.behind.append(place.agent_id)
        return self._opened[place][1]

    def close(self) -> None:
        for stack, _index in self._opened.values():
            stack.close()


def search_groups(query: Query, size: int) -> dict[str, Results]:
    """Return the newest hits of each group of kinds, by the name of the group."""
    with closing(Shelf(query)) as shelf:
        return {group: _search(query, shelf, group, size=size) for group in GROUPS}


def search(
    query: Query, *, is_best: bool = False, after: str = "", size: int = 20, most: int = MOST_CANDIDATES
) -> Results:
    """Return a page of hits of all kinds, or of the kind or the group that the query names.

    `most` is the number of candidates that are compared; 0: all. Raises Refused for an unknown agent or kind, and for
    a cursor that is none.
    """
    with closing(Shelf(query)) as shelf:
        return _search(query, shelf, "", is_best=is_best, after=after, size=size, most=most)


def _search(query, shelf, group, *, is_best=False, after="", size=20, most=MOST_CANDIDATES):
    kind, match = query.filters.get("kind", ""), query.match
    if kind and kind not in (*KINDS, *GROUPS):
        words_of_kinds = {"kind": kind, "kinds": ", ".join([*KINDS, *GROUPS])}
        raise Refused(_("There is no kind “%(kind)s”. Use one of these: %(kinds)s.") % words_of_kinds)
    kinds = {kind} - {""} or set(KINDS)
    for name in filter(None, (kind, group)):
        match = word_index.join_all([match, word_index.quote(f"{MARK}{FIELDS_OF.get(name, name)}")])
        kinds &= set(GROUPS[name][1]) if name in GROUPS else {name}
    if kind in GROUPS:
        kinds = set(GROUPS[kind][1])
    if kind not in FIELDS_OF:  # otherwise other fields of the text may have them
        match = word_index.leave_out(match, query.match_without)
    places = [place for place in shelf.places if kinds & GLOBAL_KINDS or place.agent_id]
    places = [place for place in places if kinds - GLOBAL_KINDS or not place.agent_id]
    finder = _Finder(query, match, shelf, places, most, size)
    if is_best:
        return _rank(finder, after, size)
    hits = list(islice(finder.iterate(_read_cursor(after) if after else None), size + 1))
    limits = {"behind": shelf.behind, "unread": shelf.unread}
    results = Results(
        [hit for hit, _place in hits[:size]], is_partial=bool(finder.is_partial or shelf.unread), **limits
    )
    if shelf.unread:  # what follows would pass over the newer hits of these
        return results
    if len(hits) > size:
        results.next = encode_cursor(list(hits[size - 1][1]))
    elif finder.is_partial and finder.last:
        results.next = encode_cursor(list(finder.last))
    return results


def _rank(finder, after, size):
    """A page of the best of the newest hits: with the words of the query side by side, then by kind, then by time."""
    entries = islice(finder.iterate(None), MOST_RANKED)
    hits = [hit for hit, _place in islice(entries, 1)]  # all files are open now: many take longer than the ranking may
    finder.end = min(finder.end, time.monotonic() + RANKING_SECONDS)
    hits += [hit for hit, _place in entries]
    hits.sort(key=lambda hit: hit.rank)  # of equal ones the newest first, as they came
    start = _read_cursor(after, 1)[0] if after else 0
    results = Results(hits[start : start + size], behind=finder.shelf.behind, unread=finder.shelf.unread)
    results.is_partial = bool(finder.is_partial or finder.shelf.unread) or len(hits) == MOST_RANKED
    results.next = encode_cursor([start + size]) if len(hits) > start + size else ""
    return results


def _read_cursor(text, length=3):
    values = decode_cursor(text, length)
    if [type(value) for value in values] != [int, str, int][:length]:
        raise build_cursor_refusal()
    return tuple(values)


class _Finder:
    """One search over several files; `last` is the place of the last candidate that was compared."""

    def __init__(self, query: Query, match: str, shelf: Shelf, places: list[Place], most: int, size: int):
        self.query, self.match, self.shelf, self.places, self.most, self.size = query, match, shelf, places, most, size
        self.is_partial, self.last = False, None
        self.end = shelf.end if most else float("inf")

    def iterate(self, after) -> Iterator[tuple[Hit, tuple[int, str, int]]]:
        """Yield hits with their places, the newest first, after a place."""
        streams = [self._read(place, after) for place in self.places]
        candidates = heapq.merge(*streams, key=lambda entry: (-entry[1].at, entry[0].agent_id, -entry[1].id))
        count, at_once = 0, self.size * 2
        while batch := list(islice(candidates, min(at_once, self.most - count) if self.most else at_once)):
            matches, compared = self._compare(batch)
            for place, candidate in batch:
                key = place.agent_id, candidate.id
                if key not in compared:  # there was no time
                    self.is_partial = True
                    return
                self.last = candidate.at, *key
                if hit := matches.get(key):
                    yield hit, self.last
            count, at_once = count + len(batch), min(at_once * 2, MOST_COMPARED)
            if self.most and (count >= self.most or time.monotonic() > self.end):
                self.is_partial = next(candidates, None) is not None
                return

    def _read(self, place, after):
        """Yield the candidates of one file, which is open only while it is read."""
        until, at_once = min(self.query.until, after[0]) if after else self.query.until, FIRST_READ
        start = word_index.start_at(until)
        while start:
            if time.monotonic() > self.end:
                self.shelf.unread.append(place.agent_id)
                return
            try:
                index = self.shelf.open(place)
                if index is None:
                    return
                rows, start = index.find(self.match, start, self.query.since, at_once)
            except DatabaseError:  # damaged: the next run of the job builds it anew
                self.shelf.behind.append(place.agent_id)
                return
            for row in rows:
                if self.query.since <= row.at <= until and not (after and _is_before(row, place.agent_id, after)):
                    yield place, row
            at_once = min(at_once * 4, MOST_READ)

    def _compare(self, batch):
        """The hits among candidates, and all that there was time to compare, by agent and id."""
        by_source = defaultdict(list)
        for place, candidate in batch:
            by_source[place, candidate.source].append(candidate)
        matches, compared = {}, set()
        for (place, name), candidates in by_source.items():
            source = get_sources(is_global=not place.agent_id).get(name)
            for start in range(0, len(candidates), READ_AT_ONCE):
                if compared and time.monotonic() > self.end:
                    return matches, compared
                rows = candidates[start : start + READ_AT_ONCE]
                try:
                    items = source.read_items(place.db, [(row.part, row.key) for row in rows]) if source else {}
                except DatabaseError:  # the file of one agent is damaged
                    self.shelf.behind.append(place.agent_id)
                    items = {}
                for row in rows:
                    compared.add((place.agent_id, row.id))
                    item = items.get((row.part, row.key))
                    if item and (hit := _build_hit(self.query, item, place.agent_id)):
                        matches[place.agent_id, row.id] = hit
        return matches, compared


def _is_before(row, agent_id, after):
    """Whether a candidate stands at a place or before it."""
    return (-row.at, agent_id, -row.id) <= (-after[0], after[1], -after[2])


def _build_hit(query, item, agent_id):
    """The hit of an item; None where it does not have the query or does not pass its filters."""
    facts, filters = item.facts, query.filters
    agent_id = agent_id or facts.get("agent", "")
    moment = min(max(0, item.at // 1000), queries.LAST)
    if not query.since <= moment <= query.until or filters.get("agent", agent_id) != agent_id:
        return None
    if "tool" in filters and filters["tool"] not in facts.get("tool", ()):
        return None
    if any(name in filters and filters[name] != facts.get(name) for name in ("channel", "model")):
        return None
    kind_asked = filters.get("kind", "")
    fields = {kind_asked: item.fields.get(kind_asked, "")} if kind_asked in FIELDS_OF else item.fields
    matches = query.find_fields({name: words.fold(text) for name, text in fields.items()})
    if not matches:
        return None
    kind = next((name for name, is_together in matches.items() if is_together), next(iter(matches)))
    if lines := facts.pop("lines", None):
        counts, standing = {}, facts.pop("standing")
        for line in filter(standing.__contains__, lines):
            counts[line] = sum(term.find(words.fold(line)) is not None for term in query.terms)
        best = max(counts, key=counts.__getitem__, default="")
        facts["stands"] = counts.get(best, 0) > 0
        item.href += f"?{urlencode({'q': best.strip()[:80]})}" if facts["stands"] else ""
    first = queries.find_first(query, fields[kind])
    item.fields = {kind: fields[kind][max(0, first - AROUND) : first + 4 * AROUND]}
    rank = RANKS.index(kind) if kind in RANKS else len(RANKS)
    return Hit(query, item, agent_id, kind, (not matches[kind], rank))
