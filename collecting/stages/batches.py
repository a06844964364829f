"""Sources of many sessions stored in one transaction: each alone would wait for the disk twice."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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

from .guard import UNFORESEEN

MOST_SESSIONS = 32
# Of what is read in one transaction: whoever else writes to the agent's file waits for about a tenth of a second.
MOST_BYTES = 512 * 1024

Before = dict[str, Session | None]  # the sessions of a batch as they were before it, by id


@dataclass(frozen=True, slots=True)
class PendingSource:
    """One source of a session: `store` reads it, `save` notes where it was read to, `done` counts what it added.

    A session with several sources `is_alone`: which of them comes last is seen once all others are stored. `guarding`
    contains what fails, as for `guard.guarding`.
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
    """`stashing.outputs` for what is stored in the block; a store that cannot be written is noted once."""
    with output_stash.open_outputs(agent.db, is_on=collection.stashes_outputs) as outputs:
        yield outputs
    if outputs.problem:
        advice = _(
            "Large outputs are kept in their records; “openclaw-web collect --again” moves them to artifacts later."
        )
        report.notes.append(f"{outputs.problem} {advice}")
        collection.stashes_outputs = False  # the store would say the same to whoever comes next


@contextmanager
def open_batch(book: SourceBook, agent: Agent, plan: Any) -> Iterator["Batch"]:
    """Sources to store together; what was added is stored at the end, also of a database that turns out damaged."""
    batch = Batch(book, agent, plan)
    try:
        yield batch
    except DamagedDatabase:
        batch.flush()
        raise
    batch.flush()


@dataclass(slots=True)
class Batch:
    """The sources that are stored next. A killed process stored all of them or none, and noted none it had not."""

    book: SourceBook
    agent: Agent
    plan: Any  # of the agent: notes what was read
    _waiting: list[PendingSource] = field(default_factory=list)
    _size: int = 0

    def flush_session(self, session_id: str) -> None:
        """Store what waits when this session is among it: how another source of it is read follows from that."""
        if any(session_id == source.session_id for source in self._waiting):
            self.flush()

    def add(self, source: PendingSource) -> None:
        """Store a source with others, at the latest by `flush`."""
        if source.is_alone or source.size >= MOST_BYTES:
            self.flush()
            self._store_alone(source)
            return
        self._waiting.append(source)
        self._size += source.size
        if len(self._waiting) >= MOST_SESSIONS or self._size >= MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what waits; where one of them cannot be stored, each by itself."""
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
            return [source.store(before) for source in sources]

    def _store_alone(self, source):
        with source.guarding():
            self._note([(source, source.store(None))])

    def _note(self, stored):
        read = [(source.session_id, each, partial(source.save, each)) for source, each in stored]
        self.plan.note(self.book, self.agent, read)
        for source, each in stored:
            source.done(each)
