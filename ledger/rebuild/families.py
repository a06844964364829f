"""Sessions that may have records in common, in an order that does not depend on when each was imported.

A family is everything that sessions connect by naming parents. A parent stands before its children, whether it is
imported or not; otherwise the session that began first. Only sessions of a family that overlap in time can share a
record: sessions that merely follow one another are told apart without reading them.
"""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..collectors.lineage import KEY, decode_parents
from ..models import Session

BATCH = 500
ALONE = "alone"
COLUMNS = ("id", "parents", "session_key", "record_count", "withheld_count", "created_at", "last_activity_at")


@dataclass(frozen=True, slots=True)
class Member:
    """One session of a family, and the mark of the relatives that it was last compared with."""

    session_id: str
    parents: tuple[str, ...]
    session_key: str | None
    record_count: int
    withheld_count: int
    created_at: int
    last_at: int
    mark: str

    @property
    def state(self) -> str:
        """What changes when there is something new to compare."""
        return f"{self.session_id} {self.record_count} {self.withheld_count}"


@dataclass(slots=True)
class Relatives:
    """Members of a family that may share records, the one first that others repeat."""

    members: list[Member] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """What members are marked with that were compared with these, as they are."""
        if len(self.members) == 1:
            return ALONE
        return hashlib.sha256("\n".join(member.state for member in self.members).encode()).hexdigest()[:32]

    @property
    def is_compared(self) -> bool:
        """Whether all were compared with one another as they are; sessions that name no parent are not marked."""
        mark = self.mark
        return all(member.mark == mark for member in self.members if member.parents)


def find_relatives(db: str) -> Iterator[Relatives]:
    """All sessions that name a parent, with those they are related to."""
    members = _members(db)
    parents = {member.session_id: [*member.parents] for member in members.values()}
    for member in members.values():
        if member.session_key and (key := KEY + member.session_key) in _named(parents):
            parents.setdefault(key, []).append(member.session_id)
    for family in _families(parents):
        in_order = [members[name] for name in _ranked(family, parents, members) if name in members]
        yield from _overlapping(in_order)


def _members(db):
    """Sessions that name a parent, and the parents that are here, by id."""
    rows = Session.objects.using(db)
    found = {member.session_id: member for member in _rows(rows.exclude(parents=""))}
    named = {name for member in found.values() for name in member.parents}
    keys = sorted(name.removeprefix(KEY) for name in named if name.startswith(KEY))
    ids = sorted(name for name in named if not name.startswith(KEY) and name not in found)
    for column, values in (("id", ids), ("session_key", keys)):
        for start in range(0, len(values), BATCH):
            more = _rows(rows.filter(**{f"{column}__in": values[start : start + BATCH]}))
            found |= {member.session_id: member for member in more}
    return found


def _rows(sessions) -> Iterator[Member]:
    for name, parents, *values, mark in sessions.values_list(*COLUMNS, "repeats_mark").iterator():
        yield Member(name, tuple(one for one in decode_parents(parents) if one != name), *values, mark)


def _named(parents):
    return {name for names in parents.values() for name in names}


def _families(parents) -> list[list[str]]:
    """The connected parts of what names what."""
    beside = defaultdict(set)
    for name, names in parents.items():
        for other in names:
            beside[name].add(other)
            beside[other].add(name)
    found, seen = [], set[str]()
    for start in beside:
        family, waiting = [], [start]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                family.append(name)
                waiting += beside[name]
        found += [family] if family else []
    return found


def _ranked(family: list[str], parents, members) -> Iterator[str]:
    """Parents first; of several that could be next, and within a circle, the one that began first."""

    def order(name):
        return (members[name].created_at if name in members else 0, name)

    children, missing = defaultdict(list), {}
    for name in family:
        above = {*parents.get(name, ())}
        missing[name] = len(above)
        for parent in above:
            children[parent].append(name)
    free = [order(name) for name in family if not missing[name]]
    left = sorted(map(order, family), reverse=True)
    heapq.heapify(free)
    done = set[str]()
    while len(done) < len(family):
        name = _next(free, left, done)
        done.add(name)
        yield name
        for child in children[name]:
            missing[child] -= 1
            if not missing[child] and child not in done:
                heapq.heappush(free, order(child))


def _next(free, left, done):
    while free:
        name = heapq.heappop(free)[1]
        if name not in done:
            return name
    while left[-1][1] in done:
        left.pop()
    return left.pop()[1]


def _overlapping(in_order: list[Member]) -> Iterator[Relatives]:
    """Members in groups whose times overlap, each in the order given."""
    places = {member.session_id: place for place, member in enumerate(in_order)}
    group: list[Member] = []
    end = 0
    for member in sorted(in_order, key=lambda one: (one.created_at, one.session_id)):
        if group and member.created_at > end:
            yield _relatives(group, places)
            group = []
        end = max(end, member.last_at) if group else member.last_at
        group.append(member)
    if group:
        yield _relatives(group, places)


def _relatives(group: Iterable[Member], places):
    return Relatives(sorted(group, key=lambda member: places[member.session_id]))
