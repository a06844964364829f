"""The index of words of one database file: a file beside it, which can be deleted and is built again.

FTS5 has the entries of each text and nothing else: no texts, no places of words, no lengths. Entries are never removed:
a text that was replaced leaves `docs`, and who asks does not meet it. What is met is compared with the text itself.

Ids grow with the time of a text: those of a day follow one another, so that the newest are
found without sorting, and each entry takes one or two bytes.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson

from ..disk import publication
from .files import file_uri, raise_as_django

VERSION = 2  # of the tables and of what stands in them: others are built again
FIRST_DAY, SPAN_BITS = 18_262, 16  # days since 1970; a day has room for 2**16 texts
DAY_SECONDS = 86_400
SLACK_SECONDS = 8 * DAY_SECONDS  # of a full day the rest has ids of the days after it
BUSY_SECONDS = 5
CACHE_KIB = 32_768  # a transaction is written at its end, so that nobody waits for it before

BIGGEST = 2**62  # id
LATEST = 253_402_300_799  # seconds: the last moment that a query may name
PART_MARK = "\ue001"  # begins the entry of the part that a text belongs to
MOST_KEYS = 20_000
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE parts (id INTEGER PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, position TEXT NOT NULL,
    UNIQUE (source, name));
CREATE TABLE docs (id INTEGER PRIMARY KEY, part INTEGER NOT NULL, at INTEGER NOT NULL, key NOT NULL);
CREATE TABLE changed (id INTEGER PRIMARY KEY, source TEXT NOT NULL, key NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(entries, content='', detail=none, columnsize=0, tokenize='ascii');
"""
FIND = """
SELECT docs.id, docs.at, parts.source, parts.name, docs.key
FROM words CROSS JOIN docs ON docs.id = words.rowid CROSS JOIN parts ON parts.id = docs.part
WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? ORDER BY words.rowid DESC LIMIT ?
"""
FIND_OF_SOURCE = FIND.replace("ORDER BY", "AND parts.source = ? ORDER BY")
FIND_IN_DAY = FIND.replace("ORDER BY words.rowid", "AND (docs.at, docs.id) < (?, ?) ORDER BY docs.at DESC, docs.id")


class Candidate(NamedTuple):
    """A text that may have the words; `at` is in seconds."""

    id: int
    at: int
    source: str
    part: str
    key: int | str


Start = tuple[int, tuple[int, int] | None]  # the ids below one, or those of its day after a moment and an id


class Entries(NamedTuple):
    """The entries of one text; `at` is in milliseconds."""

    key: int | str
    at: int
    text: str


class Step(NamedTuple):
    """Texts that one transaction adds to a part of a source.

    `before` is the position that was read, "" for a new part: the step is left out where it is another one by now.
    With `is_anew` all that the part has becomes stale, with `again` the texts with these keys, whose changes were read
    up to `changed_until`.
    """

    source: str
    part: str
    before: str
    after: str
    texts: Sequence[Entries]
    is_anew: bool = False
    again: Sequence[int | str] = ()
    changed_until: int = 0


class WordIndex:
    """An open index file, within the block of `open_index`."""

    def __init__(self, database: sqlite3.Connection):
        self._database = database

    def read_facts(self) -> dict[str, str]:
        """Read what was noted with `note`, as texts."""
        return dict(self._run("SELECT name, value FROM facts"))

    def note(self, **facts: str) -> None:
        rows = list(facts.items())
        self._run_many("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

    def read_positions(self, source: str, parts: Sequence[str]) -> dict[str, str]:
        """Read how far these parts of a source are indexed; others have no entry."""
        sql = "SELECT name, position FROM parts WHERE source = ? AND name IN (SELECT value FROM json_each(?))"
        return dict(self._run(sql, [source, orjson.dumps(parts).decode()]))

    def iterate_parts(self, source: str) -> Iterator[tuple[str, str]]:
        """Iterate over all parts of a source with their positions, by name."""
        yield from self._run("SELECT name, position FROM parts WHERE source = ? ORDER BY name", [source])

    def count(self) -> tuple[int, int]:
        """Count the texts, and those that were added and are stale."""
        ((count,),) = self._run("SELECT count(*) FROM docs")
        return count, max(0, int(self.read_facts().get("added", 0)) - count)

    def read_changed(self, source: str) -> tuple[list[int | str], int]:
        """Read the keys of texts of a source that changed since they were indexed, and the last of these changes."""
        rows = self._run("SELECT key, max(id) FROM changed WHERE source = ? GROUP BY key LIMIT 1000", [source])
        return [key for key, _last in rows], max((last for _key, last in rows), default=0)

    def has_changed(self) -> bool:
        """Whether texts changed since they were indexed."""
        return bool(self._run("SELECT 1 FROM changed LIMIT 1"))

    def note_changed(self, source: str, keys: Iterable[int | str]) -> None:
        self._run_many("INSERT INTO changed (source, key) VALUES (?, ?)", [(source, key) for key in keys])

    def forget(self, source: str, parts: Iterable[str]) -> None:
        """Have these parts indexed from the first text again."""
        rows = [(source, part) for part in parts]
        self._run_many("UPDATE parts SET position = '' WHERE source = ? AND name = ?", rows)

    def add(self, steps: Iterable[Step]) -> None:
        """Add what these steps have, in one transaction."""
        self._run(f"PRAGMA cache_size=-{CACHE_KIB}")
        with self._transaction():
            texts = [(part, text) for step in steps for part in self._move(step) for text in step.texts]
            moments = [min(max(0, text.at // 1000), LATEST) for _part, text in texts]
            ids = self._choose_ids(moments)
            rows = sorted(zip(ids, moments, texts, strict=True))  # an id below the one before it costs a segment
            self._run_many(
                "INSERT INTO docs VALUES (?, ?, ?, ?)",
                [(number, part, at, text.key) for number, at, (part, text) in rows],
            )
            self._run_many(
                "INSERT INTO words (rowid, entries) VALUES (?, ?)",
                [(number, f"{text.text} {PART_MARK}{part}") for number, _at, (part, text) in rows],
            )
            self.note(added=str(int(self.read_facts().get("added", 0)) + len(rows)))

    def _move(self, step):
        """Move the position of a part; yield its number unless somebody else moved it."""
        place = [step.source, step.part]
        rows = self._run("SELECT id, position FROM parts WHERE source = ? AND name = ?", place)
        if (rows[0][1] if rows else "") != step.before:
            return
        rows = rows or self._run("INSERT INTO parts (source, name, position) VALUES (?, ?, '') RETURNING id", place)
        part = rows[0][0]
        if step.is_anew:
            self._run("DELETE FROM docs WHERE part = ?", [part])
        elif step.again:
            keys, among = orjson.dumps(step.again).decode(), "key IN (SELECT value FROM json_each(?))"
            self._run(f"DELETE FROM docs WHERE part = ? AND {among}", [part, keys])  # noqa: S608
            values = [step.source, step.changed_until, keys]
            self._run(f"DELETE FROM changed WHERE source = ? AND id <= ? AND {among}", values)  # noqa: S608
        self._run("UPDATE parts SET position = ? WHERE id = ?", [step.after, part])
        yield part

    def _choose_ids(self, moments):
        """Choose the next free id of the day of each moment; a full day goes on in the next one."""
        following: dict[int, int] = {}
        ids = []
        for moment in moments:
            day = _get_first_id(moment) >> SPAN_BITS
            while True:
                end = (day + 1) << SPAN_BITS
                if day not in following:
                    sql = "SELECT max(id) FROM docs WHERE id >= ? AND id < ?"
                    last = self._run(sql, [day << SPAN_BITS, end])[0][0]
                    following[day] = (day << SPAN_BITS) if last is None else last + 1
                if following[day] < end:
                    break
                day += 1
            ids.append(following[day])
            following[day] += 1
        return ids

    def find(self, match: str, start: Start, since: int, at_once: int) -> tuple[list[Candidate], Start | None]:
        """Return some texts with these entries, the newest first, and where the next ones start; None: nowhere.

        `match` is an expression of FTS5, `start` what the last call returned, or `start_at`. `since` is a moment in
        seconds.
        """
        low, rows = _get_first_id(since), []
        below, place = start
        if not place:
            rows = self._read(FIND, match, low, below - 1, at_once)
            if len(rows) < at_once:
                return sorted(rows, key=_get_order, reverse=True), None
            day = rows[-1].id >> SPAN_BITS  # it may have more, and newer ones
            rows = sorted((row for row in rows if row.id >> SPAN_BITS > day), key=_get_order, reverse=True)
            below, place = (day + 1) << SPAN_BITS, (BIGGEST, 0)
        first = (below - 1) >> SPAN_BITS << SPAN_BITS
        of_day = self._read(FIND_IN_DAY, match, max(low, first), below - 1, *place, at_once)
        return rows + of_day, (below, of_day[-1][1::-1]) if len(of_day) == at_once else (first, None)

    def find_keys(self, match: str, source: str, part: str | None = None) -> list[tuple[str, int | str]]:
        """Return the parts and keys of the newest texts of a source with these entries, MOST_KEYS at most."""
        if part is not None:
            ids = self._run("SELECT id FROM parts WHERE source = ? AND name = ?", [source, part])
            match = join_all([f"({match})", quote(f"{PART_MARK}{ids[0][0] if ids else 0}")])
        rows = self._read(FIND_OF_SOURCE, match, 1, BIGGEST, source, MOST_KEYS)
        return [(row.part, row.key) for row in rows]

    def _read(self, sql, *values):
        return [Candidate(*row) for row in self._run(sql, values)]

    def _run(self, sql, values=()):
        with raise_as_django:
            return self._database.execute(sql, values).fetchall()

    def _run_many(self, sql, rows):
        with raise_as_django:
            self._database.executemany(sql, rows)

    def compact(self) -> None:
        """Merge everything into one segment, and give back the space that is left."""
        self._run("INSERT INTO words (words) VALUES ('optimize')")
        with raise_as_django:
            self._database.executescript("PRAGMA incremental_vacuum")

    def count_rows(self, source: str) -> int:
        """Count the rows that were read of a source: the second number of each position."""
        sql = "SELECT total(CAST(substr(position, instr(position, ' ') + 1) AS INTEGER)) FROM parts WHERE source = ?"
        return int(self._run(sql, [source])[0][0])

    def find_faults(self, complete: Path) -> list[str]:
        """Compare the file with one that was just built: what is damaged or lacks in it, in words for a terminal."""
        run = self._run
        if (state := run("PRAGMA integrity_check(1)")[0][0]) != "ok":
            return [state]
        run("INSERT INTO words (words) VALUES ('integrity-check')")
        run("ATTACH ? AS complete", [file_uri(complete)])
        faults = []
        for schema in ("main", "complete"):
            run(f"CREATE VIRTUAL TABLE temp.{schema}_terms USING fts5vocab('{schema}', 'words', 'row')")
        place = "SELECT source, name, key FROM {0}.docs JOIN {0}.parts ON parts.id = docs.part"
        for noun, lacking in (("texts", place), ("words", "SELECT term FROM temp.{0}_terms")):
            missing = f"{lacking.format('complete')} EXCEPT {lacking.format('main')}"
            sql = f"SELECT count(*) FROM ({missing})"  # noqa: S608
            if count := run(sql)[0][0]:
                faults.append(f"{count} {noun}")
        return faults

    @contextmanager
    def _transaction(self):
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            with raise_as_django:
                self._database.commit()
        except BaseException:
            self._database.rollback()
            raise


def start_at(until: int) -> Start:
    """Where a search for the texts up to a moment in seconds starts."""
    return min(_get_first_id(until + SLACK_SECONDS), BIGGEST), None


def _get_order(row):
    return row.at, row.id


def _get_first_id(moment):
    return max(1, moment // DAY_SECONDS - FIRST_DAY) << SPAN_BITS


@contextmanager
def open_index(file: Path) -> Iterator[WordIndex | None]:
    """Open an index for the block; None where there is none with these tables.

    Raises django.db.Error: OperationalError for a full disk, a DatabaseError of no other kind for a damaged file.
    """
    database = None
    try:
        with raise_as_django:
            is_ours = False
            if file.exists():
                # Also who only reads opens it for writing: after a kill the first one takes back what was not finished.
                database = sqlite3.connect(file_uri(file), uri=True, timeout=BUSY_SECONDS, isolation_level=None)
                is_ours = database.execute("PRAGMA user_version").fetchone()[0] == VERSION
        yield WordIndex(database) if database and is_ours else None
    finally:
        if database:
            database.close()


def create_index(file: Path) -> None:
    """Create an empty index in place of anything that is there."""
    remove_index(file)
    with raise_as_django, closing(sqlite3.connect(file_uri(file, "rwc"), uri=True, isolation_level=None)) as database:
        database.execute("PRAGMA auto_vacuum=INCREMENTAL")
        publication.restrict(file, 0o600)
        database.executescript(f"BEGIN; {TABLES} PRAGMA user_version={VERSION}; COMMIT")


def replace_index(file: Path, draft: Path) -> None:
    """Put a complete index in place of another one, whose words are gone with it."""
    # That of a killed process belongs to the file that goes.
    file.with_name(f"{file.name}-journal").unlink(missing_ok=True)
    draft.replace(file)


def remove_index(file: Path) -> None:
    for suffix in ("", "-journal"):
        file.with_name(f"{file.name}{suffix}").unlink(missing_ok=True)


def quote(entry: str, is_prefix: bool = False) -> str:
    """An entry as a part of an expression of FTS5; `is_prefix`: everything that begins with it."""
    escaped = entry.replace('"', '""')
    return f'"{escaped}"{" *" if is_prefix else ""}'


def join_all(parts: Sequence[str]) -> str:
    """The expression of texts that have all of these."""
    return " AND ".join(parts)


def leave_out(match: str, parts: Sequence[str]) -> str:
    """The expression of texts that an expression finds, without those that have one of these."""
    return " NOT ".join([f"({match})", *parts]) if parts else match
