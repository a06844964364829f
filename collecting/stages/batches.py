"""Stores sources of many sessions in one transaction, to wait for the disk only once."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents.models import Agent
from agents.sources import SourceBook
from ledger.collectors.database import DamagedDatabase
from ledger.models import Session
from ledger.outputs import output_stash
from ledger.outputs.output_stash import UNWRITABLE, Outputs
from ledger.transcripts.transcript_store import StoreResult
from openclaw_web.sqlite import statements

from .guard import UNFORESEEN

MOST_SESSIONS = 64
# Bytes read in one transaction: other writers to the agent's file wait for a third of a second.
MOST_BYTES = 2 * 1024 * 1024

Before = dict[str, Session | None]  # the sessions before the batch, by id


@dataclass(frozen=True, slots=True)
class PendingSource:
    """One source of a session, with the functions that read it, note it and count it.

    `store` reads the source, `save` notes the position, `done` counts the added records. A session with several sources
    `is_alone`: which of them comes last is known after all others are stored. `guarding` contains failures, as
    `guard.contain_failures` does.
    """

    session_id: str
    size: int
    is_alone: bool
    store: Callable[[Before | None], StoreResult]
    save: Callable[[StoreResult], None]
    done: Callable[[StoreResult], None]
    guarding: Callable[[], AbstractContextManager[Any]]


@contextmanager
def open_outputs(collection: Any, agent: Any, report: Any) -> Iterator[Outputs]:
    """Open the output store for the block; a store that is not writable is noted once."""
    with output_stash.open_outputs(agent.db, is_on=collection.stashes_outputs) as outputs:
        yield outputs
    if outputs.problem:
        advice = _(
            "Large outputs are kept in their records; “openclaw-web collect --again” moves them to artifacts later."
        )
        report.notes.append(f"{outputs.problem} {advice}")
        collection.stashes_outputs = False  # the store would fail in the same way for the next sources


@contextmanager
def open_batch(book: SourceBook, agent: Agent, plan: Any) -> Iterator["Batch"]:
    """Collect sources to store together; they are stored at the end of the block.

    That happens also when a database turns out to be damaged.
    """
    batch = Batch(book, agent, plan)
    try:
        yield batch
    except DamagedDatabase:
        batch.flush()
        raise
    batch.flush()


@dataclass(slots=True)
class Batch:
    """Sources that are stored next, all or none; only stored ones are noted."""

    book: SourceBook
    agent: Agent
    plan: Any  # the plan of the agent, which notes read sources
    _waiting: list[PendingSource] = field(default_factory=list)
    _size: int = 0

    def flush_session(self, session_id: str) -> None:
        """Store the waiting sources if this session is among them.

        The reading of its other sources depends on that.
        """
        if any(session_id == source.session_id for source in self._waiting):
            self.flush()

    def add(self, source: PendingSource) -> None:
        """Add a source to the batch; `flush` stores it at the latest."""
        if source.is_alone or source.size >= MOST_BYTES:
            self.flush()
            self._store_alone(source)
            return
        self._waiting.append(source)
        self._size += source.size
        if len(self._waiting) >= MOST_SESSIONS or self._size >= MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store the waiting sources; after a failure each of them separately."""
        sources, self._waiting, self._size = self._waiting, [], 0
        if not sources:
            return
        try:
            stored = self._store_together(sources)
        except (*UNFORESEEN, *UNWRITABLE, DamagedDatabase):
            for source in sources:
                self._store_alone(source)
        else:
            self._note(list(zip(sources, stored, strict=True)))

    def _store_together(self, sources):
        db = self.agent.db
        with transaction.atomic(using=db, durable=True):
            known = Session.objects.using(db).in_bulk([source.session_id for source in sources])
            before = {source.session_id: known.get(source.session_id) for source in sources}
            with nullcontext() if known else statements.gather_rows(db):
                return [source.store(before) for source in sources]

    def _store_alone(self, source):
        with source.guarding():
            self._note([(source, source.store(None))])

    def _note(self, stored):
        read = [(source.session_id, each, partial(source.save, each)) for source, each in stored]
        self.plan.note(self.book, self.agent, read)
        for source, each in stored:
            source.done(each)
