"""Groups sessions that may share records, in an order independent of when each was imported.

A family is all sessions that are connected by naming parents. A parent stands before its children, whether it is
imported or not; otherwise the session that began first. Only sessions of a family that overlap in time can share a
record: sessions that merely follow one another need no reading.
"""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..collectors.lineage import KEY, decode_parents
from ..models import Session
from ..transcripts.reported_turns import EARLIER_MS, LATER_MS, PREFIX

BATCH = 500
ALONE = "alone"
COLUMNS = ("id", "parents", "session_key", "record_count", "withheld_count", "created_at", "last_activity_at")


@dataclass(frozen=True, slots=True)
class Member:
    """One session of a family, and the mark of the relatives it was last compared with."""

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
        """A text that changes when the session has something new to compare."""
        return f"{self.session_id} {self.record_count} {self.withheld_count}"


@dataclass(slots=True)
class Relatives:
    """Members of a family that may share records; later ones repeat records of earlier ones."""

    members: list[Member] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """The mark that members get once they were compared with these members as they are."""
        if len(self.members) == 1:
            return ALONE
        return hashlib.sha256("\n".join(member.state for member in self.members).encode()).hexdigest()[:32]

    @property
    def is_compared(self) -> bool:
        """Whether all members were compared with one another as they are.

        Sessions that name no parent are not marked, so they are passed over.
        """
        mark = self.mark
        return all(member.mark == mark for member in self.members if member.parents)


def find_relatives(db: str) -> Iterator[Relatives]:
    """All sessions that name a parent, in groups with their relatives."""
    members = _read_members(db)
    parents = {member.session_id: [*member.parents] for member in members.values()}
    named = {name for names in parents.values() for name in names}
    for member in members.values():
        if member.session_key and (key := KEY + member.session_key) in named:
            parents.setdefault(key, []).append(member.session_id)
    for family in _find_families(parents):
        ordered = [members[name] for name in _rank(family, parents, members) if name in members]
        yield from _group_overlapping(ordered)


def _read_members(db):
    """Sessions that name a parent, and their parents that are stored, by id."""
    rows = Session.objects.using(db)
    members = {member.session_id: member for member in iterate_members(rows.exclude(parents=""))}
    named = {name for member in members.values() for name in member.parents}
    keys = sorted(name.removeprefix(KEY) for name in named if name.startswith(KEY))
    ids = sorted(name for name in named if not name.startswith(KEY) and name not in members)
    for column, values in (("id", ids), ("session_key", keys)):
        for start in range(0, len(values), BATCH):
            parents = iterate_members(rows.filter(**{f"{column}__in": values[start : start + BATCH]}))
            members |= {member.session_id: member for member in parents}
    return members


def iterate_members(sessions) -> Iterator[Member]:
    for name, parents, *values, begin, end, mark in sessions.values_list(*COLUMNS, "repeats_mark").iterator():
        if name.startswith(PREFIX):  # the plugin has other times for the turns of a transcript
            begin, end = begin - EARLIER_MS, end + LATER_MS
        own_parents = tuple(parent for parent in decode_parents(parents) if parent != name)
        yield Member(name, own_parents, *values, begin, end, mark)


def _find_families(parents) -> list[list[str]]:
    """The connected components of the graph of names."""
    neighbours = defaultdict(set)
    for name, names in parents.items():
        for other in names:
            neighbours[name].add(other)
            neighbours[other].add(name)
    families, seen = [], set[str]()
    for start in neighbours:
        family, waiting = [], [start]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                family.append(name)
                waiting += neighbours[name]
        families += [family] if family else []
    return families


def _rank(family: list[str], parents, members) -> Iterator[str]:
    """The names of a family in order, parents first.

    Of several that could be next, and within a circle, the session that began first comes first.
    """

    def order(name):
        return (members[name].created_at if name in members else 0, name)

    children, missing = defaultdict(list), {}
    for name in family:
        own_parents = {*parents.get(name, ())}
        missing[name] = len(own_parents)
        for parent in own_parents:
            children[parent].append(name)
    free = [order(name) for name in family if not missing[name]]
    remaining = sorted(map(order, family), reverse=True)
    heapq.heapify(free)
    done = set[str]()
    while len(done) < len(family):
        name = _pop_next(free, remaining, done)
        done.add(name)
        yield name
        for child in children[name]:
            missing[child] -= 1
            if not missing[child] and child not in done:
                heapq.heappush(free, order(child))


def _pop_next(free, remaining, done):
    while free:
        name = heapq.heappop(free)[1]
        if name not in done:
            return name
    while remaining[-1][1] in done:
        remaining.pop()
    return remaining.pop()[1]


def _group_overlapping(ordered: list[Member]) -> Iterator[Relatives]:
    """Members in groups whose times overlap, each in the order given."""
    places = {member.session_id: place for place, member in enumerate(ordered)}
    group: list[Member] = []
    end = 0
    for member in sorted(ordered, key=lambda candidate: (candidate.created_at, candidate.session_id)):
        if group and member.created_at > end:
            yield _build_relatives(group, places)
            group = []
        end = max(end, member.last_at) if group else member.last_at
        group.append(member)
    if group:
        yield _build_relatives(group, places)


def _build_relatives(group: Iterable[Member], places):
    return Relatives(sorted(group, key=lambda member: places[member.session_id]))
