"""Finds the write that added each line of a memory file, from stored hunks.

Writes are followed back from the version that the file has now. Where the write before does not lead to the version
that the next one began with, a version is missing: the two versions are compared, and it is not known who changed these
lines. A rollback wrote none of the lines that it restored, with an older version or between later changes: the writes
of that time did. Text that a person chose for the place of these lines is the rollback's.
"""

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agents.models import Agent
from openclaw_web.diffs import line_diff
from openclaw_web.sqlite.json_columns import decode

from .. import versions
from ..changes import Hunk, find_hunks
from ..files import MEMORY_FILES
from ..models import FileSnapshot, Rollback, RollbackIntent, WriteGuardianAudit
from ..recording.reports import CHANGED

Status = WriteGuardianAudit.Status
ROLLBACK = WriteGuardianAudit.Origin.ROLLBACK
READ = ("id", "before_snapshot_id", "after_snapshot_id", "hunks_json", "created_at", "is_diff_shared", "origin")
MOST_GAPS = 20  # two versions are compared for each
MOST_RETURNS = 20  # older versions in which restored lines are searched
HASH = re.compile(r"@([0-9a-f]{32})[0-9a-f]*@\d+$")  # in the ids of versions: their contents need not be read


@dataclass(frozen=True, slots=True)
class Gap:
    """A change by no known write, after `since` and before `until`.

    Both are in milliseconds; None: up to now.
    """

    since: int
    until: int | None


Owner = tuple[str | None, Gap | None]  # a write, or a gap; neither: the line is older than all writes


class Line(NamedTuple):
    """A line of the file now, with the write that added it, or the gap.

    Without both, it is older than all known writes.
    """

    number: int
    text: str
    audit_id: str | None
    gap: Gap | None


@dataclass(slots=True)
class Blame:
    """The origin of all lines of a version of a file.

    `shared`: of writes with one diff, the one that stands for all.
    """

    version: FileSnapshot
    lines: list[Line]
    first_at: int | None  # of the first write that was followed; None: no write is known
    is_cut: bool = False  # too many versions are missing: earlier writes were not followed
    shared: dict[str, str] = field(default_factory=dict)


class _LineRequest(NamedTuple):
    """The lines of a version to find the writes of.

    Each of `returns` is one older version that may still be searched. `until`: when the version was changed; None: it
    is the version of the file now.
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
    """Return who wrote each line of a memory file; None without any version."""
    newest = versions.find_newest(agent, name) if name in MEMORY_FILES else None
    return FileBlame(agent.db, name).blame_snapshot(newest) if newest else None


class FileBlame:
    """The writes to a memory file, read once, to blame any of its versions."""

    def __init__(self, db: str, name: str):
        self._db = db
        self._shared: dict[str, str] = {}
        rows = WriteGuardianAudit.objects.using(db).placed().filter(target_file=name, status__in=CHANGED)
        rows = rows.filter(hunks_json__isnull=False).order_by("-created_at", "-place").values_list(*READ)
        writes: list[_Write] = []
        standing: dict[tuple[str | None, str | None], str] = {}  # by the versions on both sides of a shared diff
        hashes = _Hashes(db)
        for audit_id, before, after, hunks, created_at, is_shared, origin in rows:
            if is_shared and (first := standing.setdefault((before, after), audit_id)) != audit_id:
                self._shared[audit_id] = first
                continue
            sides = hashes.get(before), hashes.get(after)
            writes.append(
                _Write(audit_id, *sides, decode(hunks, list), created_at, (before, after), origin == ROLLBACK)
            )
        self._writes = writes

    def blame_snapshot(self, version: FileSnapshot) -> Blame:
        return self._blame_version(version, self._writes, None)

    def blame_version(self, version: FileSnapshot, until: int | None) -> Blame:
        """Blame a version as it was until the next one; None: it is the newest."""
        writes = [write for write in self._writes if until is None or write.created_at < until]
        return self._blame_version(version, writes, None if until is None else version.created_at)

    def blame_before(self, audit: WriteGuardianAudit) -> Blame | None:
        """Blame the version that a write began with; None where there was no file."""
        version = audit.before_snapshot
        return (
            self._blame_version(version, self._list_until(audit, is_with=False), audit.created_at) if version else None
        )

    def blame_after(self, audit: WriteGuardianAudit) -> Blame | None:
        """Blame the version that a write led to; None where it left no file."""
        version = audit.after_snapshot
        return (
            self._blame_version(version, self._list_until(audit, is_with=True), audit.created_at) if version else None
        )

    def _list_until(self, audit, *, is_with) -> list[_Write]:
        """Return the writes up to one, with or without it and those that share its diff."""
        standing = self._shared.get(audit.id, audit.id)
        for number, write in enumerate(self._writes):
            if write.id == standing:
                return self._writes[number if is_with else number + 1 :]
        return [write for write in self._writes if write.created_at <= audit.created_at]  # this write changed nothing

    def _blame_version(self, version, writes, until) -> Blame:
        result = Blame(version, [], None, shared=self._shared)
        texts = line_diff.split_lines(version.content)
        line_request = _LineRequest(texts, range(len(texts)), iter(range(MOST_RETURNS)), until)
        owners = _find_owners(self._db, version, writes, result, line_request)
        lines = zip(texts, owners, strict=True)
        result.lines = [Line(number, text, *owner) for number, (text, owner) in enumerate(lines, start=1)]
        return result


def find_remaining_lines(agent: Agent, audit_ids: Collection[str]) -> list[tuple[str, int, str]]:
    """Return the lines that memory files still have from these writes.

    Each is (file, line number, text without its ending).
    """
    return sorted({line for lines in find_remaining_by_write(agent, audit_ids).values() for line in lines})


def find_remaining_by_write(agent: Agent, audit_ids: Collection[str]) -> dict[str, list[tuple[str, int, str]]]:
    """Return these lines for each write, by id; writes with one diff left the same lines."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(id__in=audit_ids, status__in=CHANGED)
    files = dict(rows.filter(hunks_json__isnull=False).values_list("id", "target_file"))
    lines_by_write: dict[str, list[tuple[str, int, str]]] = {}
    for name in sorted({file for file in files.values() if file}):
        blame = blame_file(agent, name)
        for line in blame.lines if blame else ():
            if line.audit_id:
                lines_by_write.setdefault(line.audit_id, []).append((name, line.number, line.text.rstrip("\r\n")))
        for write_id, standing in blame.shared.items() if blame else ():
            if write_id in files and standing in lines_by_write:
                lines_by_write[write_id] = lines_by_write[standing]
    return {name: lines for name, lines in lines_by_write.items() if name in files}


def parse_snapshot_hash(version_id: str) -> str | None:
    """Return the beginning of the hash in the id of a version; None without one."""
    match = HASH.search(version_id)
    return match[1] if match else None


def _find_owners(db, version, writes, result, line_request) -> list[Owner]:
    """Return for each line of a version the write or the gap that added it.

    For lines outside of `line_request`, it may be the rollback that restored them.
    """
    gaps: dict[str, Gap] = {}
    names = assign_writes(len(line_request.texts), _follow_back(db, version, writes, gaps, result, line_request.until))
    padded = [*names, *[None] * len(line_request.texts)][: len(line_request.texts)]
    owners: list[Owner] = [(None, gaps[name]) if name in gaps else (name, None) for name in padded]
    rollbacks = {write.id for write in writes if write.is_rollback} & {
        owners[place][0] for place in line_request.places
    }
    taken_back_ids = find_taken_back_ids(db, rollbacks) if rollbacks else {}
    known = {write.id: number for number, write in enumerate(writes)}
    for rollback_id, audit_ids in taken_back_ids.items():
        for number in (known[write_id] for write_id in audit_ids if write_id in known):
            places = [place for place in line_request.places if owners[place][0] == rollback_id]
            if places and next(line_request.returns, None) is not None:
                for place, owner in _find_earlier_owners(db, writes[number:], line_request, places):
                    owners[place] = owner
    return owners


def _find_earlier_owners(db, writes, line_request, places) -> Iterator[tuple[int, Owner]]:
    """Yield the earlier owners of lines that a rollback restored.

    These are lines at `places` that the first of `writes` had changed.
    """
    write, *earlier = writes
    version = FileSnapshot.objects.using(db).filter(id=write.versions[0]).first()
    texts = line_diff.split_lines(version.content) if version else []
    pairs = dict(match_lines(line_request.texts, places, texts, write.hunks))
    if version and pairs:
        earlier_request = _LineRequest(texts, sorted(pairs.values()), line_request.returns, write.created_at)
        owners = _find_owners(db, version, earlier, Blame(version, [], None), earlier_request)
        yield from ((place, owners[earlier_place]) for place, earlier_place in pairs.items())


def _follow_back(db, version, writes, gaps, result, until) -> Iterator[tuple[str, tuple[Hunk, ...]]]:
    """Yield the writes that led to a version, newest first, with gaps for missing ones.

    A write that leads nowhere is left out when an earlier one led to the very content that is searched.
    """
    wanted_hash, version_id = version.content_hash[:32], version.id
    numbers_by_after: dict[str | None, list[int]] = {}
    numbers_by_before: dict[str | None, list[int]] = {}
    for number, write in enumerate(writes):
        numbers_by_after.setdefault(write.after, []).append(number)
        numbers_by_before.setdefault(write.before, []).append(number)
    index = 0
    while index < len(writes):
        leading = numbers_by_after.get(wanted_hash, [])
        index = next(iter(leading[bisect_left(leading, index) :][:1]), index)
        write = writes[index]
        if write.after != wanted_hash:
            if len(gaps) == MOST_GAPS:
                result.is_cut = True
                return
            key = f"gap {len(gaps)}"  # no id holds a blank
            gaps[key] = Gap(write.created_at, until)
            before = write.versions[1]
            rows = FileSnapshot.objects.using(db).filter(id__in=[name for name in (before, version_id) if name])
            contents = dict(rows.values_list("id", "content"))
            diff = line_diff.compare(contents.get(before), contents.get(version_id))
            yield key, find_hunks(diff)
            wanted_hash, version_id = write.after, write.versions[1]
            continue
        if write.is_rollback and (older := _first_after(index, leading)):
            index = older
            continue
        if write.is_rollback and (later := _first_after(index, numbers_by_before.get(wanted_hash, []))):
            index, version_id, until = later + 1, writes[later].versions[0], writes[later].created_at
            result.first_at = until
            continue
        yield write.id, write.hunks
        wanted_hash, version_id, until, result.first_at = (
            write.before,
            write.versions[0],
            write.created_at,
            write.created_at,
        )
        index += 1


def _first_after(at, places):
    """Return the first of these places after one; 0 when there is none."""
    return next(iter(places[bisect_left(places, at + 1) :][:1]), 0)


class _Hashes:
    """The hashes of versions by id, mostly taken from the ids themselves."""

    def __init__(self, db):
        self.rows, self.known = FileSnapshot.objects.using(db), {None: None}

    def get(self, version_id):
        if version_id not in self.known:
            content_hash = parse_snapshot_hash(version_id) or self.rows.values_list("content_hash", flat=True).get(
                id=version_id
            )
            self.known[version_id] = content_hash[:32]
        return self.known[version_id]


def assign_writes(line_count: int, writes: Iterable[tuple[str, Sequence[Hunk]]]) -> list[str | None]:
    """Return the write that added each line of a file; None: none of these.

    `writes` are (id, hunks), the newest first; each leads from the state before it to the state after it. They are
    applied again to lines without an owner: a line that none of them added was there before the first write.
    """
    known_writes = list(writes)
    added_count = sum(hunk[3] - hunk[2] - hunk[1] + hunk[0] for _name, hunks in known_writes for hunk in hunks)
    lines: list[str | None] = [None] * (line_count - added_count)
    for write_id, hunks in reversed(known_writes):
        if not hunks:
            continue
        # Only the lines from the first to the last change are copied: most writes append a line to a long file.
        changed, at = list[str | None](), hunks[0][0]
        for old_start, old_end, new_start, new_end in hunks:
            changed += [*lines[at:old_start], *[write_id] * (new_end - new_start)]
            at = old_end
        lines[hunks[0][0] : at] = changed
    return lines


def find_taken_back_ids(db: str, rollback_ids: Collection[str]) -> dict[str, list[str]]:
    """Return the ids of the writes that each rollback took back, by its own id.

    They were taken back as a whole, or by one change.
    """
    audit_ids = defaultdict(list)
    rows = Rollback.objects.using(db).filter(own_audit__in=rollback_ids).order_by("audit__created_at", "audit_id")
    for own_id, audit_id in rows.values_list("own_audit_id", "audit_id"):
        audit_ids[own_id].append(audit_id)
    partial_rollbacks = WriteGuardianAudit.objects.using(db).filter(id__in=set(rollback_ids) - audit_ids.keys())
    ids_by_version = dict(partial_rollbacks.exclude(after_snapshot=None).values_list("after_snapshot_id", "id"))
    intents = RollbackIntent.objects.using(db).filter(after_snapshot__in=ids_by_version)
    for version_id, audits in intents.values_list("after_snapshot_id", "audits_json"):
        audit_ids[ids_by_version[version_id]] += decode(audits, list)
    return dict(audit_ids)


def match_lines(
    texts: Sequence[str], places: Sequence[int], before: Sequence[str], hunks: Sequence[Hunk]
) -> Iterator[tuple[int, int]]:
    """Yield the lines `places` of `texts` that a write had changed or removed.

    Each is (place, the line's place before the write). Places are positions from 0.
    """
    removed_lines = defaultdict[str, deque[int]](deque)
    for old_start, old_end, _new_start, _new_end in hunks:
        for number in range(old_start, min(old_end, len(before))):
            removed_lines[before[number]].append(number)
    for place in places:
        if old_places := removed_lines.get(texts[place]):
            yield place, old_places.popleft()
