"""Collect the transcript files of an agent: each is opened once, told whose it is, and stored."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from agents.homes import NotReadable, find_refusal_reason, open_regular
from agents.models import CollectorSource
from agents.skipped_sources import Reason
from agents.sources import HEAD, ReadPosition, Tail
from ledger.collectors import jsonl
from ledger.collectors.records import parse_moment_ms
from ledger.collectors.zstd_input import read_packed_lines
from ledger.models import Session
from ledger.outputs.output_stash import ROLES, Outputs
from ledger.transcripts import transcript_store
from openclaw_web.clock import now_ms

from ..inventory.file_heads import read_head
from ..inventory.transcripts import Identity, TranscriptFile, identify_transcript
from . import holding_checks
from .batches import PendingSource, open_batch, open_outputs
from .guard import contain_failures

Kind = CollectorSource.Kind
GROUP_BYTES = 32 * 1024 * 1024
GROUP_FILES = 64  # open at the same time
FEW_BYTES, ESCAPE = 64 * 1024, b"\\u00"  # of a letter of ASCII: it may be one of a role
MANY_FILES = 100  # from here on one query for all sessions takes less than one for each


@dataclass(slots=True)
class OpenedTranscript:
    """A transcript that is to be stored; `head` are its first bytes, `reading` says from where it is read."""

    file: TranscriptFile
    lines: BinaryIO
    stat: os.stat_result
    head: bytes
    reading: ReadPosition
    tail: Tail = field(default_factory=Tail)  # what was read last
    name: str = ""  # in the book
    told: int = 0  # bytes of it that whoever watches knows of

    @property
    def is_closed(self) -> bool:
        """Whether nobody appends to it."""
        return self.file.state != Session.State.LIVE or self.file.is_packed


@dataclass(slots=True)
class Transcripts:
    """The transcript files of one agent on their way into its store."""

    collection: Any
    agent: Any
    plan: Any
    source: Any  # the agent's database
    report: Any
    may_read: Callable[[str], bool]
    why_left: Callable[[str], str]
    removed: set[str]
    identity: Callable[[], Identity]
    stored: set[str] | None = None  # sessions that were here before; None: each is asked for
    db: str = field(init=False)

    def __post_init__(self):
        self.db = self.agent.db

    def read(self, files: list[TranscriptFile]) -> None:
        """Store these files, some at a time: what they hold becomes durable together."""
        if len(files) > MANY_FILES:
            self.stored = holding_checks.find_stored_sessions(self.agent)
        for group in _groups(files):
            with ExitStack() as stack:
                opened = [one for file in group if (one := self._open(file, stack))]
                if any(map(_may_hold_output, opened)):
                    outputs = stack.enter_context(open_outputs(self.collection, self.agent, self.report))
                    self._write_ahead(opened, outputs)
                else:
                    outputs = Outputs()
                with open_batch(self.collection.book, self.agent, self.plan) as batch:
                    for one in opened:
                        batch.settle(one.file.session_id)
                        batch.add(self._source(one, outputs))

    def _leave(self, file, reason, detail="", stat=None):
        """Note why a file is not read; what was planned for it counts as done."""
        self.collection.add_bytes(file.stat.st_size)
        self._skip(file, reason, detail, stat)

    def _skip(self, file, reason, detail="", stat=None):
        about = {"detail": detail, "session_id": file.session_id}
        self.plan.accounts.skip(file.path, reason, stat or file.stat, **about)

    def _open(self, file, stack) -> OpenedTranscript | None:
        """Open a file and see whose transcript it is; None, with the reason noted, for one that is not stored."""
        if file.path.name in self.source.names:  # the database holds the same
            self._is_read(file)
            return None
        if self._is_known_to_be_left(file):
            return None
        if refusal := find_refusal_reason(self.collection.home.root, file.path, file.stat):
            self._not_readable(file, refusal)
            return None
        try:
            lines = stack.enter_context(open_regular(self.collection.home.root, file.path))
        except NotReadable as exc:
            self._not_readable(file, str(exc))
            return None
        with contain_failures(self.report, file.path.name) as failed:
            return self._look(file, lines)
        self._leave(file, Reason.FAILED, failed[0])
        return None

    def _is_known_to_be_left(self, file):
        """Whether the file need not be opened to see that it is left out."""
        session_id = self.identity().named(file.path) if self.collection.opted_out else ""
        session_id = session_id or (file.session_id if file.is_certain or self.collection.opted_out else "")
        if not session_id or self.may_read(session_id):
            return False
        file.session_id = session_id
        self._leave(file, self.why_left(session_id))
        return True

    def _not_readable(self, file, reason):
        self.report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": file.path.name, "reason": reason})
        self._leave(file, Reason.UNREADABLE, reason)

    def _look(self, file, lines) -> OpenedTranscript | None:
        book, stat = self.collection.book, os.fstat(lines.fileno())
        reading = book.reading(Kind.TRANSCRIPT, file.path, lines)
        guess = file.session_id
        if not reading.goes_on:
            head = read_head(lines, is_packed=file.is_packed)
            if not identify_transcript(file, head, self.identity(), book.name(file.path)):
                self._leave(file, Reason.NOT_TRANSCRIPT, stat=stat)
                return None
        if not self._is_wanted(file, guess, stat):
            return None
        lines.seek(0)
        return OpenedTranscript(file, lines, stat, lines.read(HEAD), reading)

    def _is_wanted(self, file, guess, stat):
        """Whether the session of a file whose beginning was looked at is stored; else the reason is noted."""
        session_id = file.session_id
        if session_id in self.removed:
            self.report.transcripts["removed"] += 1
            self._is_read(file)
        elif (session_id != guess or not file.is_certain) and not self.may_read(session_id):
            self._leave(file, self.why_left(session_id), stat=stat)
        elif file.is_imported and session_id in self.source.known:
            self.report.transcripts["skipped_imported"] += 1
            self._leave(file, Reason.IMPORTED, stat=stat)
        elif file.state != Session.State.LIVE and not self.collection.include_deleted:
            self.report.transcripts[f"skipped_{file.state}"] += 1
            self._leave(file, file.state, stat=stat)
        elif (self.stored is None or session_id in self.stored) and holding_checks.is_missing_records(
            self.agent, session_id, self.plan.mended
        ):
            self.plan.short.add(session_id)
            self.collection.add_bytes(file.stat.st_size)
            self.plan.accounts.read(file.path)
        else:
            return True
        return False

    def _write_ahead(self, opened, outputs):
        """Write the outputs of new transcripts; with somebody opted out it is not known yet which of them are kept."""
        if self.collection.opted_out:
            return
        for one in opened:
            if not one.file.is_packed and self.collection.book.offset(Kind.TRANSCRIPT, one.file.path) == 0:
                one.lines.seek(0)
                outputs.write_ahead(iter(partial(one.lines.readline, jsonl.MAX_LINE), b""))

    def _source(self, one, outputs):
        file, book = one.file, self.collection.book
        one.name = book.name(file.path)
        has_others = book.has_others(self.agent.agent_id, file.session_id, one.name)
        return PendingSource(
            session_id=file.session_id,
            size=max(0, one.stat.st_size - one.reading.offset),
            is_alone=has_others or file.is_packed,
            store=partial(self._store, one, outputs, has_others),
            save=lambda _stored: self._save(one),
            done=partial(self._count, one),
            guarding=partial(self._guarding, one),
        )

    @contextmanager
    def _guarding(self, one):
        with contain_failures(self.report, one.file.path.name) as failed:
            yield
        if failed:
            self._skip(one.file, Reason.FAILED, failed[0])

    def _store(self, one, outputs, has_others, batch):
        """Read a transcript into its session. In a batch the bytes are told when it is stored, else as they come."""
        file, reading = one.file, one.reading
        one.tail, one.told = replace(reading.tail), reading.offset
        if file.is_packed:  # whole: nobody appends to it
            one.lines.seek(0)
            lines, hear = read_packed_lines(one.lines), None
        else:
            lines = jsonl.read_lines(one.lines, reading.offset, is_closed=one.is_closed, take=one.tail.take)
            hear = partial(self._hear, one) if batch is None else None
        about = self._about(one, has_others, batch)
        return transcript_store.store_transcript(self.db, about, lines, outputs=outputs, on_bytes=hear)

    def _hear(self, one, offset):
        self.collection.add_bytes(offset - one.told)
        one.told = offset

    def _count(self, one, stored):
        file = one.file
        is_unfinished = not one.is_closed and one.tail.end < one.stat.st_size
        count(self.report, "new" if file.is_packed else one.reading.why, stored, unfinished=is_unfinished)
        self.plan.accounts.read(file.path)
        if not file.is_packed and stored.end:
            self._hear(one, stored.end)

    def _save(self, one):
        file = one.file
        if file.is_packed:
            self._is_read(file)
            return
        about = {"agent_id": self.agent.agent_id, "session_id": file.session_id}
        read = {"head": one.head, "tail": one.tail}
        self.collection.book.save_appended(Kind.TRANSCRIPT, file.path, one.stat, **about, **read)
        self.collection.book.name_current(file.path, is_named=file.is_named)

    def _about(self, one, has_others, batch):
        file, modified = one.file, modified_ms(one.stat.st_mtime_ns)
        is_live = file.session_id in self.plan.live or file.session_id in self.source.live
        return transcript_store.Transcript(
            file.session_id,
            one.name,
            modified,
            Session.State.LIVE if is_live else file.state,
            self.collection.opted_out,
            goes_on=one.reading.goes_on and not file.is_packed,
            has_others=has_others,
            batch=batch,
        )

    def _is_read(self, file):
        self.collection.add_bytes(file.stat.st_size)
        size, about = file.stat.st_size, {"agent_id": self.agent.agent_id, "session_id": file.session_id}
        self.collection.book.save(Kind.TRANSCRIPT, file.path, file.stat, offset=size, **about)
        self.collection.book.name_current(file.path, is_named=file.is_named)
        self.plan.accounts.read(file.path)


def _may_hold_output(one):
    """Whether a tool's result may be among what is new of a file: only then the artifact store is entered."""
    size = one.stat.st_size - one.reading.offset
    if one.file.is_packed or size > FEW_BYTES:
        return True
    one.lines.seek(one.reading.offset)
    new = one.lines.read(FEW_BYTES)
    return ESCAPE in new or any(role in new for role in ROLES)


def modified_ms(mtime_ns: int) -> int:
    """A file's time, or now when it lies where no calendar of ours goes."""
    return parse_moment_ms(mtime_ns // 1_000_000) or now_ms()


def count(report: Any, why: str, stored: transcript_store.StoreResult, *, unfinished: bool) -> None:
    """Count in what a transcript added."""
    report.transcripts[why] += 1
    report.records += stored.kinds
    report.rejected += stored.rejected
    report.withheld += stored.withheld
    report.unknown_envelopes += stored.unknown_envelopes
    report.repeated += stored.repeated
    report.unfinished += unfinished


def _groups(files: list[TranscriptFile]) -> Iterator[list[TranscriptFile]]:
    """Transcripts whose outputs become durable together: syncing for each alone would take longer than the rest."""
    group: list[TranscriptFile] = []
    size = 0
    for file in files:
        group.append(file)
        size += file.stat.st_size
        if size >= GROUP_BYTES or len(group) == GROUP_FILES:
            yield group
            group, size = [], 0
    if group:
        yield group
