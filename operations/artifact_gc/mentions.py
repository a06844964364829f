"""Finds artifacts that are mentioned in texts: of agents, samples, scheduled jobs and exports.

People paste handles into prompts, agents write them into files and replies, samples and exports are copies of both.
"""

import mmap
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, models
from django.db.models import Max, Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from artifacts import handles
from artifacts.models import Artifact
from artifacts.store import blobs, garbage, layout
from openclaw_web.disk import packing
from openclaw_web.sqlite import inspection
from openclaw_web.sqlite.fields import RowId, SpeechBytes

# Apps whose tables are searched, every text of them; of the global apps only these tables.
AGENT_LABELS = ("ledger", "gate", "guardian", "artifacts", "episodes")
EVIDENCE_LABELS = ("guardian", "episodes")
# Without the messages that the gate saw, which are the conversation itself, and without replays, which compare gates.
EVIDENCE_TABLES = ("memory_gate_decisions",)
GLOBAL_LABELS = ("datasets",)
GLOBAL_TABLES = ("cron_jobs", "cron_run_logs", "subagent_runs", "task_runs", "flow_runs")
NO_TEXTS = frozenset({"sample_signatures", "benchmarks", "turn_signals", "signal_positions"})  # their bytes are numbers
NOT_PACKED = frozenset({"raw"})  # bytes of a version, which has a text column too
# Tables whose rows change after they were stored.
CHANGED_IN_PLACE = frozenset(
    {
        *("cron_jobs", "subagent_runs", "task_runs", "flow_runs", "sample_drafts", "sample_exchanges"),
        *("memory_gate_decisions", "gate_calls", "gate_replay_decisions"),
        *("write_guardian_audit", "rollback_intents", "behavior_corrections", "episode_heads", "episode_captures"),
    }
)
STEP = 20_000  # rows of one query: a long one would keep the WAL from being reset
HANDLE = re.compile(rf"{handles.PREFIX}([0-9a-f]{{64}})")  # no word boundary: in JSON it may follow on \n
HANDLE_BYTES = re.compile(HANDLE.pattern.encode())
LONGEST = handles.LENGTH


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its text columns; `packed` are columns of compressed bytes."""

    model: type[models.Model]
    columns: tuple[str, ...]
    packed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the table in its file."""
        return self.model._meta.db_table

    def rows(self, db: str, start: int, stop: int) -> QuerySet[Any, Any]:
        """Rows in a range that may mention a handle.

        SQLite searches texts; packed columns are searched after reading.
        """
        hits = Q()
        for name in self.packed:
            hits |= Q(**{f"{name}__isnull": False})
        for name in self.columns:
            hits |= Q(GreaterThan(StrIndex(name, Value(handles.PREFIX)), 0))
        rows = self.model._base_manager.using(db).alias(arrival=RowId())  # no table has a column of this name
        rows = rows.filter(arrival__gt=start, arrival__lte=stop)
        return rows.filter(hits).values_list(*self.columns, *self.packed)


@dataclass(slots=True)
class Mentions:
    """Knows which handles are mentioned. The first call reads everything, later calls what is new.

    Copies are read after their originals, so that a mention that moves meanwhile is noticed.
    """

    tell: Callable[[str], None] | None = None  # called with each agent that is searched
    _candidates: frozenset[str] | None = None
    _mentioned: set[str] = field(default_factory=set)
    _marks: dict[tuple[str, str], int] = field(default_factory=dict)
    _files: dict[str, tuple[int, int]] = field(default_factory=dict)

    def find_mentioned(self, handles_to_check: list[str]) -> list[str]:
        """Those of these handles that some text mentions.

        Later calls consider only handles of the first call. Raises Refused when an agent's file or a record in it
        cannot be read.
        """
        if self._candidates is None:
            self._candidates = frozenset(handle[-64:] for handle in handles_to_check)
        self._add_mentions(_read_new_mentions(self))
        return [handle for handle in handles_to_check if handle[-64:] in self._mentioned]

    def _add_mentions(self, texts: Iterable[Iterable[str]]):
        fresh = {sha256 for mentioned in texts for sha256 in self._candidates.intersection(mentioned)} - self._mentioned
        while fresh:  # contents that are kept keep the artifacts that they mention
            self._mentioned |= fresh
            inside = (mentioned for sha256 in fresh for mentioned in find_in_content(sha256))
            fresh = self._candidates.intersection(inside) - self._mentioned


def find_tables(labels: Iterable[str], names: Iterable[str] = ()) -> list[Table]:
    """The tables with texts of these apps, and with these names."""
    with_texts = []
    for model in apps.get_models():
        meta = model._meta
        if meta.db_table in NO_TEXTS:
            continue
        if meta.managed and not meta.proxy and (meta.app_label in labels or meta.db_table in names):
            texts = [column.name for column in meta.concrete_fields if isinstance(column, models.TextField)]
            bytes_ = [column.name for column in meta.concrete_fields if isinstance(column, SpeechBytes)]
            packed = [name for name in bytes_ if name not in NOT_PACKED]
            with_texts.append(Table(model, tuple(name for name in texts if name != "handle"), tuple(packed)))
    return [table for table in with_texts if table.columns or table.packed]


def find_in_evidence(db: str) -> set[str]:
    """Hashes that evidence, samples and scheduled jobs mention, but not transcripts."""
    mentions, hashes = Mentions(), set[str]()
    for table in find_tables(EVIDENCE_LABELS, EVIDENCE_TABLES):
        hashes.update(*_read_row_mentions(mentions, db, table))
    for table in find_tables(GLOBAL_LABELS, GLOBAL_TABLES):
        hashes.update(*_read_row_mentions(mentions, DEFAULT_DB_ALIAS, table))
    return hashes


def find_in_content(sha256: str) -> Iterator[str]:
    """The hashes that a stored content mentions; none when it cannot be read."""
    tail = b""
    for chunk in blobs.read_unchecked(layout.get_root(), sha256):
        tail += chunk
        yield from (match[1].decode() for match in HANDLE_BYTES.finditer(tail))
        tail = tail[-LONGEST + 1 :]


def _read_new_mentions(mentions):
    """Mentions in everything that was not read before: originals first, then copies."""
    own = find_tables(AGENT_LABELS)
    for db in garbage.list_agent_aliases():
        if mentions.tell:
            mentions.tell(db.removeprefix("agent_"))
        with garbage.open_temporarily(db):
            for table in (table for table in own if not inspection.is_removed(db, table.model)):
                before = mentions._marks.get((db, table.name), 0)
                yield from _read_row_mentions(mentions, db, table)
                if table.name == Artifact._meta.db_table:
                    yield from _read_content_mentions(db, before)
    for table in find_tables(GLOBAL_LABELS, GLOBAL_TABLES):
        yield from _read_row_mentions(mentions, DEFAULT_DB_ALIAS, table)
    for folder, _folders, names in os.walk(Path(settings.HOME_DIR) / "exports"):
        for name in sorted(names):
            path = Path(folder, name)
            with suppress(FileNotFoundError):  # a finished export was renamed, and is read under its new name
                status = path.lstat()
                mark = (status.st_size, status.st_mtime_ns)
                is_new = mentions._files.get(str(path)) != mark
                if stat.S_ISREG(status.st_mode) and status.st_size >= LONGEST and is_new:
                    mentions._files[str(path)] = mark
                    yield list(_find_in_file(path))


def _read_row_mentions(mentions, db, table):
    """Mentions in the rows of a table that were not read before."""
    first = 0 if table.name in CHANGED_IN_PLACE else mentions._marks.get((db, table.name), 0)
    last = table.model._base_manager.using(db).aggregate(last=Max(RowId()))["last"] or 0
    for start in range(first, last, STEP):
        for row in table.rows(db, start, start + STEP).iterator():
            yield from map(_find_in_value, row)
    mentions._marks[db, table.name] = max(last, first)


def _find_in_value(value):
    if isinstance(value, bytes):
        return [match.decode() for match in HANDLE_BYTES.findall(packing.unpack(value))]
    return HANDLE.findall(value) if value else []


def _read_content_mentions(db, before):
    """Mentions in contents of an agent's new rows: a stashed output is part of its record."""
    rows = Artifact.objects.using(db).alias(arrival=RowId()).filter(arrival__gt=before)
    for handle in rows.filter(bytes__gte=LONGEST).values_list("handle", flat=True).distinct().iterator(5_000):
        yield find_in_content(handle[-64:])


def _find_in_file(path):
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        for match in HANDLE_BYTES.finditer(view):
            yield match[1].decode()
