"""Where artifacts are mentioned: in any text of an agent's file, of the samples, of scheduled jobs and of exports.

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
from openclaw_web.sqlite.fields import RowId

# Apps whose tables are looked through, all of them and every text; of the global ones only these tables.
AGENT_LABELS = ("ledger", "gate", "guardian", "artifacts")
EVIDENCE_LABELS = ("guardian",)
# Not what the gate was shown, which is the conversation itself, and not what was decided again to compare gates.
EVIDENCE_TABLES = ("memory_gate_decisions",)
GLOBAL_LABELS = ("datasets",)
GLOBAL_TABLES = ("cron_jobs", "cron_run_logs", "subagent_runs", "task_runs", "flow_runs")
NO_TEXTS = frozenset({"sample_signatures"})  # whose bytes are numbers
NOT_PACKED = frozenset({"raw"})  # bytes of a version, whose text is beside them
# News are not only in new rows.
CHANGED_IN_PLACE = frozenset(
    {
        *("cron_jobs", "subagent_runs", "task_runs", "flow_runs", "sample_drafts"),
        *("memory_gate_decisions", "gate_calls", "gate_replay_decisions"),
        *("write_guardian_audit", "rollback_intents", "behavior_corrections"),
    }
)
STEP = 20_000  # rows of one query: a long one would keep the WAL from being reset
HANDLE = re.compile(rf"{handles.PREFIX}([0-9a-f]{{64}})")  # no word boundary: in JSON it may follow on \n
HANDLE_BYTES = re.compile(HANDLE.pattern.encode())
LONGEST = handles.LENGTH


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its columns that hold texts; `packed` are those of compressed bytes."""

    model: type[models.Model]
    columns: tuple[str, ...]
    packed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in its file."""
        return self.model._meta.db_table

    def rows(self, db: str, start: int, stop: int) -> QuerySet[Any, Any]:
        """Those of its rows in a range that may mention a handle: texts are searched by SQLite, packed ones by us."""
        hits = Q()
        for name in self.packed:
            hits |= Q(**{f"{name}__isnull": False})
        for name in self.columns:
            hits |= Q(GreaterThan(StrIndex(name, Value(handles.PREFIX)), 0))
        rows = self.model._base_manager.using(db).alias(place=RowId()).filter(place__gt=start, place__lte=stop)
        return rows.filter(hits).values_list(*self.columns, *self.packed)


@dataclass(slots=True)
class Mentions:
    """Which of some handles are mentioned. The first question reads everything, each later one what came since.

    What was copied is read after what it was copied from, so that a mention that moves meanwhile is met.
    """

    tell: Callable[[str], None] | None = None  # called with each agent that is looked through
    _wanted: frozenset[str] | None = None
    _found: set[str] = field(default_factory=set)
    _marks: dict[tuple[str, str], int] = field(default_factory=dict)
    _files: dict[str, tuple[int, int]] = field(default_factory=dict)

    def find_mentioned(self, asked: list[str]) -> list[str]:
        """Those of these handles that something mentions; of later questions, those that were in the first.

        Raises Refused when an agent's file cannot be read, or a record in it.
        """
        if self._wanted is None:
            self._wanted = frozenset(handle[-64:] for handle in asked)
        self._look(_new_ones(self))
        return [handle for handle in asked if handle[-64:] in self._found]

    def _look(self, texts: Iterable[Iterable[str]]):
        fresh = {sha256 for mentioned in texts for sha256 in self._wanted.intersection(mentioned)} - self._found
        while fresh:  # what is kept keeps what it mentions itself
            self._found |= fresh
            inside = (mentioned for sha256 in fresh for mentioned in find_in_content(sha256))
            fresh = self._wanted.intersection(inside) - self._found


def find_tables(labels: Iterable[str], names: Iterable[str] = ()) -> list[Table]:
    """The tables of these apps, and those with these names, that hold texts."""
    found = []
    for model in apps.get_models():
        about = model._meta
        if about.db_table in NO_TEXTS:
            continue
        if about.managed and not about.proxy and (about.app_label in labels or about.db_table in names):
            texts = [column.name for column in about.concrete_fields if isinstance(column, models.TextField)]
            bytes_ = [column.name for column in about.concrete_fields if isinstance(column, models.BinaryField)]
            packed = [name for name in bytes_ if name not in NOT_PACKED]
            found.append(Table(model, tuple(name for name in texts if name != "handle"), tuple(packed)))
    return [table for table in found if table.columns or table.packed]


def find_in_evidence(db: str) -> set[str]:
    """The hashes that evidence in an agent's file mentions, and samples and scheduled work: not transcripts."""
    mentions, found = Mentions(), set[str]()
    for table in find_tables(EVIDENCE_LABELS, EVIDENCE_TABLES):
        found.update(*_rows(mentions, db, table))
    for table in find_tables(GLOBAL_LABELS, GLOBAL_TABLES):
        found.update(*_rows(mentions, DEFAULT_DB_ALIAS, table))
    return found


def find_in_content(sha256: str) -> Iterator[str]:
    """The hashes that a stored content mentions; none for one that cannot be read."""
    end = b""
    for chunk in blobs.read_unchecked(layout.get_root(), sha256):
        end += chunk
        yield from (match[1].decode() for match in HANDLE_BYTES.finditer(end))
        end = end[-LONGEST + 1 :]


def _new_ones(mentions):
    """What everything mentions that was not read before: sources first, copies after them."""
    own = find_tables(AGENT_LABELS)
    for db in garbage.list_agent_aliases():
        if mentions.tell:
            mentions.tell(db.removeprefix("agent_"))
        with garbage.open_temporarily(db):
            for table in own:
                before = mentions._marks.get((db, table.name), 0)
                yield from _rows(mentions, db, table)
                if table.name == Artifact._meta.db_table:
                    yield from _contents(db, before)
    for table in find_tables(GLOBAL_LABELS, GLOBAL_TABLES):
        yield from _rows(mentions, DEFAULT_DB_ALIAS, table)
    yield from _export_files(mentions)


def _rows(mentions, db, table):
    """What the rows of a table mention that are newer than those read before."""
    first = 0 if table.name in CHANGED_IN_PLACE else mentions._marks.get((db, table.name), 0)
    last = table.model._base_manager.using(db).aggregate(last=Max(RowId()))["last"] or 0
    for start in range(first, last, STEP):
        for row in table.rows(db, start, start + STEP).iterator():
            yield from map(_in_value, row)
    mentions._marks[db, table.name] = max(last, first)


def _in_value(value):
    if isinstance(value, bytes):
        return [match.decode() for match in HANDLE_BYTES.findall(packing.unpack(value))]
    return HANDLE.findall(value) if value else []


def _contents(db, before):
    """What the contents mention that the agent's newer rows refer to: a stashed output is part of its record."""
    rows = Artifact.objects.using(db).alias(place=RowId()).filter(place__gt=before)
    for handle in rows.filter(bytes__gte=LONGEST).values_list("handle", flat=True).distinct().iterator(5_000):
        yield find_in_content(handle[-64:])


def _export_files(mentions):
    for folder, _folders, names in os.walk(Path(settings.HOME_DIR) / "exports"):
        for name in sorted(names):
            path = Path(folder, name)
            with suppress(FileNotFoundError):  # an export that is ready now has another name, and is read there
                about = path.lstat()
                mark = (about.st_size, about.st_mtime_ns)
                is_new = mentions._files.get(str(path)) != mark
                if stat.S_ISREG(about.st_mode) and about.st_size >= LONGEST and is_new:
                    mentions._files[str(path)] = mark
                    yield list(_in_file(path))


def _in_file(path):
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        for match in HANDLE_BYTES.finditer(view):
            yield match[1].decode()
