"""Merges the same list of several agents into one: by its first column, then the agent, then the rest of its order.

The files of agents are opened one after another, and only those whose rows the page can show.
"""

import heapq
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import DatabaseError
from django.utils.translation import get_language

from ..errors import UnusableFile
from . import segments
from .declaration import List
from .list_counts import RowCount
from .paging import (
    Listing,
    Page,
    build_cursor_refusal,
    decode_cursor,
    encode_cursor,
    filter_beyond,
    get_value,
    list_names,
    read_batches,
    reverse_order,
)

MOST_FILES = 12  # files that a first page opens when it knows of each where its rows begin
LOOKING_MS = 1_000  # the longest time that a first page looks at files it knows nothing about
COUNTING_MS = 60  # the longest time that a number of rows takes
MOST_SORTED = 12  # agents whose rows can be sorted by another column than the time: all their files are opened
ROWS_AT_ONCE, SMALLEST_BATCH, BATCH = 5_000, 20, 500  # of a download: of all files together, and of one
NO_ROWS = "no rows"  # kept of an agent without a matching row


@dataclass(frozen=True, slots=True)
class Merged:
    """Several agents whose lists are shown as one.

    `agents` have an `agent_id`, `lost` are the ids of those without a file; `cache` keeps what was read of their
    files (`agents.read_cache.ReadCache`).
    """

    agents: list[Any]
    lost: list[str]
    cache: Any

    def read_each(
        self, key: Hashable | None, read: Callable[[Any], Any], agents: list[Any] | None = None, ms: int = COUNTING_MS
    ) -> tuple[list[Any], bool]:
        """Read a value of all or some agents for about `ms` milliseconds; return also whether that was enough.

        Without a `key` no value is cached. None is no value.
        """
        values, end = [], time.monotonic() + ms / 1000
        for agent in self.agents if agents is None else agents:
            if time.monotonic() > end:
                return values, False
            try:
                read_agent = partial(read, agent)
                value = self.cache.get_or_read(agent.agent_id, key, read_agent) if key else read_agent()
            except (UnusableFile, DatabaseError):
                continue
            if value is None:
                return values, False
            values.append(value)
        return values, True


@dataclass
class MergedPage:
    """A page of rows of several agents: `rows` are pairs of an agent and a row.

    `next`, `previous` and `is_partial` are those of `Page`. `unread` is the number of agents whose rows may
    be missing because the time was up; `unusable` are the agents whose file cannot be used.
    """

    rows: list[tuple[Any, Any]] = field(default_factory=list)
    next: str | None = None
    previous: str | None = None
    is_partial: bool = False
    reached = None  # each agent came to a time of its own
    unread: int = 0
    goes_on: bool = True  # whether the same page looks at these when it is loaded again
    unusable: list[str] = field(default_factory=list)
    prepared: dict[tuple[str, str | None], Any] = field(default_factory=dict)  # by agent and language

    def __len__(self):
        return len(self.rows)

    def split(self) -> Iterator[tuple[Any, Page]]:
        """Yield each agent with its rows, in the order of the page."""
        for whose in dict.fromkeys(agent for agent, _row in self.rows):
            yield whose, Page(row for agent, row in self.rows if agent is whose)

    def prepare_once(self, agent: Any, rows: Page, prepare: Callable[[], Any]) -> Any:
        """Return what `prepare` makes of an agent's rows, or made of these same rows for an earlier page."""
        place = (agent.agent_id, get_language())
        known, prepared = self.prepared.get(place, ([], None))
        if [*map(id, known)] != [*map(id, rows)]:
            prepared = prepare()
            self.prepared[place] = rows, prepared
        return prepared

    def list_runs(self) -> list[tuple[Any, int]]:
        """Return the agents in the order of the page, each with the number of rows that stand together."""
        return [(agent, len(list(run))) for agent, run in groupby(agent for agent, _row in self.rows)]


@dataclass(frozen=True)
class MergedListing:
    """The matching rows of several agents in one order. `sort` and `criteria` are arguments of `List.fits`."""

    merged: Merged
    declaration: List
    sort: str
    criteria: dict[str, Any]

    @cached_property
    def key(self) -> Hashable | None:
        """The name under which the cache has values of this list; None where a filter asks for more than the file."""
        if any(name in self.criteria for name in self.declaration.uncached):
            return None
        return self.declaration.on, self.sort, repr(sorted(self.criteria.items()))

    def open(self, agent: Any) -> Listing:
        """The rows of one agent."""
        return self.declaration.fits(agent, sort=self.sort, **self.criteria)

    def count(self, count: Callable[[Any, Listing], RowCount]) -> RowCount:
        """The number of rows, “at least” when the time was up; `count` takes an agent and its rows."""
        key = self.key and ("count", self.key)
        counts, is_whole = self.merged.read_each(key, lambda agent: count(agent, self.open(agent)))
        return segments.sum_counts([*counts, RowCount(0, not is_whole)])

    def count_bars(self, unit: str, count: Callable[[Listing], Any], ms: int) -> Counter | None:
        """The rows of each day or hour (`unit`), counted in about `ms` milliseconds; None when the time was up."""
        key = self.key and ("bars", unit, self.key)
        counts, is_whole = self.merged.read_each(key, lambda agent: count(self.open(agent)), ms=ms)
        return sum(map(Counter, counts), Counter()) if is_whole else None

    def page(self, *, after=None, before=None, size=50) -> MergedPage:
        """One page; the arguments are those of `paging.page_of`."""
        backwards = bool(before and not after)
        start = before if backwards else after
        page = MergedPage(unusable=[*self.merged.lost], goes_on=self.key is not None)
        entries, end = self._read(page, start, size, is_descending=self.sort.startswith("-") != backwards)
        if backwards and len(entries) <= size and not end:  # the beginning of the list: shown as the full first page
            return self.page(size=size)
        page_entries = entries[:size]
        onwards = page_entries[-1][0] if len(entries) > size else end
        onwards = onwards and encode_cursor(onwards)
        back = start and (encode_cursor(page_entries[0][0]) if page_entries else start)
        page.previous, page.next = (onwards, back) if backwards else (back, onwards)
        page.rows = [(agent, row) for _key, agent, row in (reversed(page_entries) if backwards else page_entries)]
        return page

    def find_unusable(self) -> list[str]:
        """The agents whose file cannot be used; every file is opened."""
        names = [*self.merged.lost]
        for agent in self.merged.agents:
            try:
                list(self.open(agent).all.order_by().values_list("pk")[:1])
            except (UnusableFile, DatabaseError):
                names.append(agent.agent_id)
        return names

    def read_rows(self, read: Callable[[Listing], Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield every row with its agent; `read` makes a queryset of `values` with the columns of the order."""
        size = max(SMALLEST_BATCH, min(BATCH, ROWS_AT_ONCE // max(len(self.merged.agents), 1)))
        streams = [self._stream(agent, read, size) for agent in self.merged.agents]
        for _key, agent, row in heapq.merge(*streams, key=itemgetter(0), reverse=self.sort.startswith("-")):
            yield agent, row

    def _stream(self, agent, read, size):
        listing = self.open(agent)
        for batch in read_batches(read(listing), order=listing.order, size=size):
            for row in batch:
                yield _build_key(agent, row, listing.order), agent, row

    def _read(self, page, start, size, *, is_descending):
        """Read up to `size` + 1 rows after a cursor, as (key, agent, row).

        With them comes the key up to which nothing is missing where reading ended early; None where it did not.
        """
        place = _read_place(start) if start else None
        key = None if place or not self.key else ("page", size, is_descending, self.key)
        if key and (refreshed := self._refresh(key, page, size, is_descending)):
            return refreshed
        entries, end = [], None
        until = time.monotonic() + LOOKING_MS / 1000
        agents = self._order_agents(is_descending)
        # What a first page does not open begins here, so that no row behind it is certain.
        is_known = len(agents) > MOST_FILES and agents[0][1] is not None
        floor = agents[MOST_FILES][1] if is_known and not place else None
        for number, (agent, first) in enumerate(agents):
            is_late = time.monotonic() > until
            if first is not None:
                certain = [row for row in entries if _is_before(row[0][0], first, is_descending)]
                if len(certain) > size:
                    break
                if certain and not place and (number >= MOST_FILES or is_late):
                    entries = certain
                    end = _find_first(end, certain[-1][0], is_descending)
                    break
            elif is_late and not place:
                page.unread = len(agents) - number
                break
            try:
                worst = entries[size][0][0] if len(entries) > size else floor
                rows, ended = self._read_agent(
                    agent, place, worst if first is not None else None, size + 1, is_descending
                )
            except (UnusableFile, DatabaseError):
                page.unusable.append(agent.agent_id)
                continue
            if first is None and not place and self.key:
                begins = rows[0][0][0] if rows else ended[0] if ended else NO_ROWS
                self.merged.cache.put(agent.agent_id, ("first", is_descending, self.key), begins)
            if ended:
                end, page.is_partial = _find_first(end, ended, is_descending), True
            entries = sorted(entries + rows, key=itemgetter(0), reverse=is_descending)[: size + 1]
        else:
            if floor is not None:  # no row behind it was read
                page.is_partial = page.is_partial or not entries
                end = _find_first(end, entries[-1][0] if entries else (floor, ""), is_descending)
        entries = [row for row in entries if not end or not _is_before(end, row[0], is_descending)]
        if key and page.unusable == self.merged.lost and not (page.is_partial or page.unread):
            self.merged.cache.put_page(key, (entries, end, page.prepared))
        return entries, end

    def _refresh(self, key, page, size, is_descending):
        """Bring what `_read` returned last up to date, by the files that changed; None where that makes no page."""
        agents = self.merged.agents
        cached, unchanged = self.merged.cache.get_page(key, [agent.agent_id for agent in agents])
        changed = [agent for agent in agents if agent.agent_id not in unchanged]
        if not cached or len(changed) > MOST_FILES:
            return None
        entries, end, prepared = cached
        last = end or (entries[size][0] if len(entries) > size else None)  # no row before it is missing
        entries = [entry for entry in entries if entry[1].agent_id in unchanged]
        for agent in changed:
            try:
                rows, ended = self._read_agent(agent, None, last and last[0], size + 1, is_descending)
            except (UnusableFile, DatabaseError):
                return None
            if ended:
                return None
            entries += [row for row in rows if not last or not _is_before(last, row[0], is_descending)]
        if last and not end and len(entries) <= size:
            return None
        entries = sorted(entries, key=itemgetter(0), reverse=is_descending)[: size + 1]
        names = {agent.agent_id for _key, agent, _row in entries}
        page.prepared = {place: known for place, known in prepared.copy().items() if place[0] in names}
        self.merged.cache.put_page(key, (entries, end, page.prepared))
        return entries, end

    def _order_agents(self, is_descending):
        """The agents that may have rows, each with the value that its rows begin with, best first.

        Those of which that is not known come before.
        """
        known, unknown = [], []
        for agent in self.merged.agents:
            first = self.key and self.merged.cache.get(agent.agent_id, ("first", is_descending, self.key))
            if first is None:
                unknown.append((agent, None))
            elif first != NO_ROWS:
                known.append((agent, first))
        return unknown + sorted(known, key=itemgetter(1), reverse=is_descending)

    def _read_agent(self, agent, place, worst, size, is_descending):
        """Read an agent's rows after a place of the merged list, and the key where a search ended early.

        With `worst` no rows that come after this value of the first column.
        """
        listing = self.open(agent)
        order = listing.order if listing.order[0].startswith("-") == is_descending else reverse_order(listing.order)
        rows = self.declaration.read(listing.rows)
        if place:
            first, whose, *rest = place
            values = [first, *rest] if whose == agent.agent_id else [first]
            is_after = _is_before(whose, agent.agent_id, is_descending)
            rows = filter_beyond(rows, order=order, values=values, or_at=is_after)
        if worst is not None:
            rows = filter_beyond(rows, order=reverse_order(order), values=[worst], or_at=True)
        # All searches together take about as long as a page may.
        time_ms = listing.time_ms and max(1, min(listing.time_ms, LOOKING_MS // len(self.merged.agents)))
        page = replace(listing, rows=rows, order=order, time_ms=time_ms).page(size=size)
        end = None
        if page.is_partial and page.next:
            value, *rest = decode_cursor(page.next)
            end = (value, agent.agent_id, *rest)
        return [(_build_key(agent, row, order), agent, row) for row in page], end


def _build_key(agent, row, order):
    """The place of a row in the merged list."""
    first, *rest = (get_value(row, name) for name in list_names(order))
    return first, agent.agent_id, *rest


def _read_place(cursor):
    """The key of a cursor. Raises Refused for that of another list."""
    place = decode_cursor(cursor)
    if len(place) < 2 or not isinstance(place[1], str):
        raise build_cursor_refusal()
    return place


def _find_first(end, other, is_descending):
    """Whichever of two keys comes first; the first one may be None."""
    return other if end is None or _is_before(other, end, is_descending) else end


def _is_before(key, other, is_descending):
    return key > other if is_descending else key < other
