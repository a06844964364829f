"""Rows beside transcripts that hold texts: decisions, writes, files, corrections, prompts, artifacts."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Min, Model, Q, QuerySet

from artifacts import handles
from artifacts.contents import content_types
from artifacts.models import Artifact
from artifacts.search_source import MOST_BYTES, NOT_IN_RECORDS, read_text
from gate.models import GatePrompt, GateWindow, MemoryGateDecision
from guardian.models import BehaviorCorrection, FileSnapshot, WorkspaceFile, WriteGuardianAudit
from ledger.models import ConversationTurn
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import RowId

from .documents import Document
from .models import Source

Rows = QuerySet[Any, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with texts: which rows are scanned, and how each becomes a document.

    `key` is the column that a finding names a row by.
    """

    source: Source
    model: type[Model]
    columns: tuple[str, ...]
    build: Callable[[str, list[dict[str, Any]]], Iterable[Document]]
    key: str = "id"
    where: Q | None = None
    chunk: int = 500  # rows that are read at once

    def select_rows(self, db: str) -> Rows:
        """The rows that are scanned, each with `place`, the order of its arrival."""
        rows = self.model._base_manager.using(db)
        return (rows.filter(self.where) if self.where else rows).annotate(place=RowId())

    def read(self, db: str, after: int) -> list[dict[str, Any]]:
        """The columns of the next rows after a place."""
        rows = self.select_rows(db).filter(place__gt=after).order_by("place")
        return list(rows.values("place", self.key, *self.columns)[: self.chunk])

    def read_documents(self, db: str, source_ids: Collection[str]) -> Iterable[Document]:
        """The documents of a few rows, those without a row or text left out.

        An artifact has a row for each use: all of them have one document.
        """
        rows = self.select_rows(db).filter(**{f"{self.key}__in": list(source_ids)})
        firsts = rows.order_by().values(self.key).annotate(first=Min("place")).values_list("first", flat=True)
        chosen = self.select_rows(db).filter(place__in=list(firsts)).order_by("place")
        return self.build(db, list(chosen.values("place", self.key, *self.columns)))


def _build_reported(db, rows) -> Iterator[Document]:
    """Documents of decisions and writes: their fact and reason, and what the model answered.

    A long answer is an artifact: of it, only the handle stands here.
    """
    ids = {row["turn_id"] for row in rows if row["turn_id"]}
    numbers = dict(ConversationTurn.objects.using(db).filter(id__in=ids).values_list("id", "turn_number"))
    for row in rows:
        texts = {name: row[name] for name in SAID if row.get(name)}
        size = sum(map(len, texts.values()))
        yield Document(row["id"], texts, row["session_id"], numbers.get(row["turn_id"]), size=size)


def _build_snapshots(_db, rows) -> Iterator[Document]:
    for row in rows:
        yield Document(row["id"], row["content"], size=len(row["content"]))


def _build_corrections(_db, rows) -> Iterator[Document]:
    for row in rows:
        texts = {name: row[name] for name in CORRECTED if row[name]}
        yield Document(row["id"], texts, size=sum(map(len, texts.values())))


def _build_instructions(_db, rows) -> Iterator[Document]:
    for row in rows:
        yield Document(row["id"], row["text"], size=len(row["text"]))


def _build_windows(_db, rows) -> Iterator[Document]:
    for row in rows:
        try:
            text = packing.unpack(bytes(row["body_zstd"]), sha256=row["hash"])
        except Refused:  # the doctor names damaged windows
            continue
        yield Document(row["hash"], orjson.loads(text), size=len(text))


def _build_artifacts(_db, rows) -> Iterator[Document]:
    for row in rows:
        if content_types.is_text(row["content_type"]):
            text = read_text(handles.parse(row["handle"]))
            cut = max(0, row["bytes"] - MOST_BYTES)
            yield Document(row["handle"], text, row["session_id"], cut=cut, size=len(text))


SAID = ("candidate_fact", "reason", "raw_response")
CORRECTED = ("original_candidate_fact", "corrected_candidate_fact", "correction_pattern", "rule_name")
REPORTED = ("session_id", "turn_id", "candidate_fact", "reason")
TABLES = (
    Table(Source.DECISION, MemoryGateDecision, (*REPORTED, "raw_response"), _build_reported),
    Table(Source.WRITE, WriteGuardianAudit, REPORTED, _build_reported),
    Table(Source.SNAPSHOT, FileSnapshot, ("content",), _build_snapshots, chunk=50),
    Table(Source.FILE, WorkspaceFile, ("content",), _build_snapshots, chunk=50),
    Table(Source.CORRECTION, BehaviorCorrection, CORRECTED, _build_corrections),
    Table(Source.INSTRUCTION, GatePrompt, ("text",), _build_instructions, chunk=50),
    Table(Source.PROMPT, GateWindow, ("body_zstd",), _build_windows, key="hash", chunk=200),
    Table(
        *(Source.ARTIFACT, Artifact, ("session_id", "content_type", "bytes"), _build_artifacts),
        key="handle",
        where=NOT_IN_RECORDS,
        chunk=8,
    ),
)
BY_SOURCE = {table.source.value: table for table in TABLES}
