"""Which write put each line of a memory file there, from the places that were stored with each write.

Writes are followed back from the version that the file has now. Where the write before does not lead to the version
that the next one began with, a version is missing: the two are compared, and who changed these lines is not known.
A rollback wrote none of the lines that it brought back, with an older version or between later changes: the writes of
that time did. What a person chose to put there instead is the rollback's.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agents.models import Agent
from openclaw_web.diffs import line_diff
from openclaw_web.sqlite.json_columns import decode

from .. import versions
from ..changes import Hunk
from ..files import MEMORY_FILES
from ..models import FileSnapshot, Rollback, RollbackIntent, WriteGuardianAudit

Status = WriteGuardianAudit.Status
ROLLBACK = WriteGuardianAudit.Origin.ROLLBACK
DONE = (Status.WRITTEN, Status.ROLLED_BACK)
READ = ("id", "before_snapshot_id", "after_snapshot_id", "hunks_json", "created_at", "is_diff_shared", "origin")
MOST_GAPS = 20  # versions are compared for each
MOST_RETURNS = 20  # older versions that are blamed for lines which rollbacks brought back
HASH = re.compile(r"@([0-9a-f]{32})[0-9a-f]*@\d+$")  # in the ids of versions: their contents need not be read


@dataclass(frozen=True, slots=True)
class Gap:
    """A change that no known write made: after `since` and before `until` (milliseconds; None: up to now)."""

    since: int
    until: int | None


Owner = tuple[str | None, Gap | None]  # a write, or a gap; neither: the line was there before


class Line(NamedTuple):
    """A line of the file now: the write that put it there, or the gap; with neither it was there before."""

    number: int
    text: str
    audit_id: str | None
    gap: Gap | None


@dataclass(slots=True)
class Blame:
    """All lines of a version of a file. `shared`: for writes with one diff, which of them stands for all."""

    version: FileSnapshot
    lines: list[Line]
    first_at: int | None  # of the first write that was followed; None: no write is known
    is_cut: bool = False  # too many versions are missing: earlier writes were not followed
    shared: dict[str, str] = field(default_factory=dict)


class _Asked(NamedTuple):
    """Which lines of a version somebody asks about. Each of `returns` is one older version that may be looked at.

    `until`: when the version was changed; None: it is what the file has now.
    """

    texts: Sequence[str]
    places: Sequence[int]
    returns: Iterator[int]
    until: int | None = None


class _Write(NamedTuple):
    id: str
    before: str | None  # what the file held, as a hash; None: there was no file
    after: str | None
    hunks: tuple[Hunk, ...]
    created_at: int
    versions: tuple[str | None, str | None]
    is_rollback: bool


def blame_file(agent: Agent, name: str) -> Blame | None:
    """Who put each line of a memory file there; None when there is no version of it."""
    newest = versions.find_newest(agent, name) if name in MEMORY_FILES else None
    return FileBlame(agent.db, name).blame_snapshot(newest) if newest else None


class FileBlame:
    """The writes to a memory file, read once: they say who put each line of any of its versions there."""

    def __init__(self, db: str, name: str):
        self._db = db
        self._shared: dict[str, str] = {}
        self._writes = _written(db, name, self._shared)

    def blame_snapshot(self, version: FileSnapshot) -> Blame:
        """The newest version of the file."""
        return self._blamed(version, self._writes, None)

    def blame_before(self, audit: WriteGuardianAudit) -> Blame | None:
        """The version that a write began with, as the writes before it left it; None where there was no file."""
        version = audit.before_snapshot
        return self._blamed(version, self._until(audit, is_with=False), audit.created_at) if version else None

    def blame_after(self, audit: WriteGuardianAudit) -> Blame | None:
        """The version that a write led to; None where it left no file."""
        version = audit.after_snapshot
        return self._blamed(version, self._until(audit, is_with=True), audit.created_at) if version else None

    def _until(self, audit, *, is_with) -> list[_Write]:
        """The writes up to one, with or without it and those that share its diff."""
        standing = self._shared.get(audit.id, audit.id)
        for number, write in enumerate(self._writes):
            if write.id == standing:
                return self._writes[number if is_with else number + 1 :]
        return [write for write in self._writes if write.created_at <= audit.created_at]  # it changed nothing itself

    def _blamed(self, version, writes, until) -> Blame:
        found = Blame(version, [], None, shared=self._shared)
        texts = line_diff.split_lines(version.content)
        asked = _Asked(texts, range(len(texts)), iter(range(MOST_RETURNS)), until)
        owners = _owners(self._db, version, writes, found, asked)
        lines = zip(texts, owners, strict=True)
        found.lines = [Line(number, text, *owner) for number, (text, owner) in enumerate(lines, start=1)]
        return found


def find_remaining_lines(agent: Agent, audit_ids: Collection[str]) -> list[tuple[str, int, str]]:
    """The lines that memory files still have from these writes: (file, line number, text without its ending)."""
    return sorted({line for lines in find_remaining_by_write(agent, audit_ids).values() for line in lines})


def find_remaining_by_write(agent: Agent, audit_ids: Collection[str]) -> dict[str, list[tuple[str, int, str]]]:
    """The same for each of these writes, by its id; those with one diff left the same lines."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(id__in=audit_ids, status__in=DONE)
    files = dict(rows.filter(hunks_json__isnull=False).values_list("id", "target_file"))
    found: dict[str, list[tuple[str, int, str]]] = {}
    for name in sorted({file for file in files.values() if file}):
        blamed = blame_file(agent, name)
        for line in blamed.lines if blamed else ():
            if line.audit_id:
                found.setdefault(line.audit_id, []).append((name, line.number, line.text.rstrip("\r\n")))
        for one, standing in blamed.shared.items() if blamed else ():
            if one in files and standing in found:
                found[one] = found[standing]
    return {name: lines for name, lines in found.items() if name in files}


def parse_snapshot_hash(version_id: str) -> str | None:
    """The beginning of the hash of a version, as its id says it; None where it does not."""
    found = HASH.search(version_id)
    return found[1] if found else None


def _owners(db, version, writes, found, asked) -> list[Owner]:
    """Of each line of a version the write or the gap that put it there; lines that are not `asked` for may be of a
    rollback that brought them back.
    """
    gaps: dict[str, Gap] = {}
    names = assign_writes(len(asked.texts), _chain(db, version, writes, gaps, found, asked.until))
    padded = [*names, *[None] * len(asked.texts)][: len(asked.texts)]
    owners: list[Owner] = [(None, gaps[who]) if who in gaps else (who, None) for who in padded]
    rollbacks = {write.id for write in writes if write.is_rollback} & {owners[place][0] for place in asked.places}
    taken = find_taken_back_ids(db, rollbacks) if rollbacks else {}
    known = {write.id: number for number, write in enumerate(writes)}
    for rollback_id, audit_ids in taken.items():
        for number in (known[one] for one in audit_ids if one in known):
            places = [place for place in asked.places if owners[place][0] == rollback_id]
            if places and next(asked.returns, None) is not None:
                for place, owner in _before(db, writes[number:], asked, places):
                    owners[place] = owner
    return owners


def _before(db, writes, asked, places) -> Iterator[tuple[int, Owner]]:
    """Whose lines a write, the first of `writes`, had changed: of those of `places` that came back from before it."""
    write, *earlier = writes
    version = FileSnapshot.objects.using(db).filter(id=write.versions[0]).first()
    texts = line_diff.split_lines(version.content) if version else []
    pairs = dict(match_lines(asked.texts, places, texts, write.hunks))
    if version and pairs:
        before = _Asked(texts, sorted(pairs.values()), asked.returns, write.created_at)
        owners = _owners(db, version, earlier, Blame(version, [], None), before)
        yield from ((place, owners[was]) for place, was in pairs.items())


def _written(db, name, shared: dict[str, str]) -> list[_Write]:
    """The writes whose changes are known, newest first; of those with one diff the newest, which stands for all."""
    rows = WriteGuardianAudit.objects.using(db).placed().filter(target_file=name, status__in=DONE)
    rows = rows.filter(hunks_json__isnull=False).order_by("-created_at", "-place").values_list(*READ)
    kept: list[_Write] = []
    standing: dict[tuple[str | None, str | None], str] = {}  # by the versions on both sides of a shared diff
    hashes = _Hashes(db)
    for audit_id, before, after, hunks, created_at, is_shared, origin in rows:
        if is_shared and (first := standing.setdefault((before, after), audit_id)) != audit_id:
            shared[audit_id] = first
            continue
        sides = hashes.of(before), hashes.of(after)
        kept.append(_Write(audit_id, *sides, decode(hunks, list), created_at, (before, after), origin == ROLLBACK))
    return kept


def _chain(db, version, writes, gaps, found, until) -> Iterator[tuple[str, tuple[Hunk, ...]]]:
    """The writes that led to a version, newest first, as `blame` takes them; with a gap where one is missing.

    A write that leads nowhere is left out when an earlier one led to the very content that is looked for.
    """
    wanted, version_id = version.content_hash[:32], version.id
    places: dict[str | None, list[int]] = {}
    begun: dict[str | None, list[int]] = {}
    for number, write in enumerate(writes):
        places.setdefault(write.after, []).append(number)
        begun.setdefault(write.before, []).append(number)
    at = 0
    while at < len(writes):
        leading = places.get(wanted, [])
        at = next(iter(leading[bisect_left(leading, at) :][:1]), at)
        write = writes[at]
        if write.after != wanted:
            if len(gaps) == MOST_GAPS:
                found.is_cut = True
                return
            key = f"gap {len(gaps)}"  # no id holds a blank
            gaps[key] = Gap(write.created_at, until)
            yield key, _between(db, write.versions[1], version_id)
            wanted, version_id = write.after, write.versions[1]
            continue
        if write.is_rollback and (older := _first_after(at, leading)):
            at = older
            continue
        if write.is_rollback and (later := _first_after(at, begun.get(wanted, []))):
            at, version_id, until = later + 1, writes[later].versions[0], writes[later].created_at
            found.first_at = until
            continue
        yield write.id, write.hunks
        wanted, version_id, until, found.first_at = write.before, write.versions[0], write.created_at, write.created_at
        at += 1


def _first_after(at, places):
    """The first of these places after one; 0 when there is none."""
    return next(iter(places[bisect_left(places, at + 1) :][:1]), 0)


def _between(db, before, after):
    """What changed between two versions, as hunks; None is no file."""
    rows = FileSnapshot.objects.using(db).filter(id__in=[name for name in (before, after) if name])
    contents = dict(rows.values_list("id", "content"))
    diff = line_diff.compare(contents.get(before), contents.get(after))
    return tuple((one.old_start, one.old_end, one.new_start, one.new_end) for one in diff.blocks if not one.is_same)


class _Hashes:
    """The hashes of versions, by their ids: mostly from the ids themselves."""

    def __init__(self, db):
        self.rows, self.known = FileSnapshot.objects.using(db), {None: None}

    def of(self, version_id):
        if version_id not in self.known:
            told = parse_snapshot_hash(version_id) or self.rows.values_list("content_hash", flat=True).get(
                id=version_id
            )
            self.known[version_id] = told[:32]
        return self.known[version_id]


def assign_writes(line_count: int, writes: Iterable[tuple[str, Sequence[Hunk]]]) -> list[str | None]:
    """For each of the lines that a file has now, the write that put it there; None: none of these did.

    `writes` are (id, hunks), the newest first, each leading from the state before it to the state after. They are
    carried out again on lines of nobody: what none of them added was there before the first.
    """
    known = list(writes)
    grown = sum(hunk[3] - hunk[2] - hunk[1] + hunk[0] for _name, hunks in known for hunk in hunks)
    lines: list[str | None] = [None] * (line_count - grown)
    for name, hunks in reversed(known):
        for old_start, old_end, new_start, new_end in reversed(hunks):
            lines[old_start:old_end] = [name] * (new_end - new_start)
    return lines


def find_taken_back_ids(db: str, rollback_ids: Collection[str]) -> dict[str, list[str]]:
    """Ids of the writes that each of these rollbacks took back, as a whole or one change of them, by its own id."""
    found = defaultdict(list)
    rows = Rollback.objects.using(db).filter(own_audit__in=rollback_ids).order_by("audit__created_at", "audit_id")
    for own_id, audit_id in rows.values_list("own_audit_id", "audit_id"):
        found[own_id].append(audit_id)
    of_one_change = WriteGuardianAudit.objects.using(db).filter(id__in=set(rollback_ids) - found.keys())
    by_version = dict(of_one_change.exclude(after_snapshot=None).values_list("after_snapshot_id", "id"))
    intents = RollbackIntent.objects.using(db).filter(after_snapshot__in=by_version)
    for version_id, audits in intents.values_list("after_snapshot_id", "audits_json"):
        found[by_version[version_id]] += decode(audits, list)
    return dict(found)


def match_lines(
    texts: Sequence[str], places: Sequence[int], before: Sequence[str], hunks: Sequence[Hunk]
) -> Iterator[tuple[int, int]]:
    """Which of the lines `places` of `texts` a write had changed or removed: (place, where the line was before it)."""
    gone = defaultdict(list)
    for old_start, old_end, _new_start, _new_end in hunks:
        for number in range(old_start, min(old_end, len(before))):
            gone[before[number]].append(number)
    for place in places:
        if was := gone.get(texts[place]):
            yield place, was.pop(0)
