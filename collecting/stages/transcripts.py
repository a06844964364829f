"""Imports the transcript files of an agent: each is opened once, identified and stored."""

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
FEW_BYTES, ESCAPE = 64 * 1024, b"\\u00"  # the escape of an ASCII letter, which may belong to a role
MANY_FILES = 100  # above this number, one query for all sessions takes less time than one for each


@dataclass(slots=True)
class OpenedTranscript:
    """An open transcript to store; `head` are its first bytes, `reading` has the start."""

    file: TranscriptFile
    lines: BinaryIO
    stat: os.stat_result
    head: bytes
    reading: ReadPosition
    tail: Tail = field(default_factory=Tail)  # the end of the part that was read
    name: str = ""  # in the book
    reported_bytes: int = 0  # bytes that were reported as progress

    @property
    def is_closed(self) -> bool:
        """Whether OpenClaw no longer appends to the file."""
        return self.file.state != Session.State.LIVE or self.file.is_packed


@dataclass(slots=True)
class Transcripts:
    """The transcript files of one agent during their import."""

    collection: Any
    agent: Any
    plan: Any
    source: Any  # the agent's database
    report: Any
    may_read: Callable[[str], bool]
    why_left: Callable[[str], str]
    removed: set[str]
    identity: Callable[[], Identity]
    stored: set[str] | None = None  # sessions that were stored before; None: each is looked up
    db: str = field(init=False)

    def __post_init__(self):
        self.db = self.agent.db

    def read(self, files: list[TranscriptFile]) -> None:
        """Store these files in groups whose outputs are synced together."""
        if len(files) > MANY_FILES:
            self.stored = holding_checks.find_stored_sessions(self.agent)
        for group in _group_files(files):
            with ExitStack() as stack:
                opened = [transcript for file in group if (transcript := self._open_transcript(file, stack))]
                if any(map(_may_hold_output, opened)):
                    outputs = stack.enter_context(open_outputs(self.collection, self.agent, self.report))
                    self._write_ahead(opened, outputs)
                else:
                    outputs = Outputs()
                with open_batch(self.collection.book, self.agent, self.plan) as batch:
                    for transcript in opened:
                        batch.flush_session(transcript.file.session_id)
                        batch.add(self._build_source(transcript, outputs))

    def _leave_out(self, file, reason, detail="", stat=None):
        """Note why a file is not read; its planned bytes count as read."""
        self.collection.add_bytes(file.stat.st_size)
        self._note_skipped(file, reason, detail, stat)

    def _note_skipped(self, file, reason, detail="", stat=None):
        details = {"detail": detail, "session_id": file.session_id}
        self.plan.accounts.skip(file.path, reason, stat or file.stat, **details)

    def _open_transcript(self, file, stack) -> OpenedTranscript | None:
        """Open and identify a file; None, with a noted reason, when it is not stored."""
        if file.path.name in self.source.names:  # the database has the same records
            self._note_read(file)
            return None
        if self._is_excluded_unopened(file):
            return None
        if refusal := find_refusal_reason(self.collection.home.root, file.path, file.stat):
            self._note_unreadable(file, refusal)
            return None
        try:
            lines = stack.enter_context(open_regular(self.collection.home.root, file.path))
        except NotReadable as exc:
            self._note_unreadable(file, str(exc))
            return None
        with contain_failures(self.report, file.path.name) as failed:
            book, stat = self.collection.book, os.fstat(lines.fileno())
            reading = book.find_position(Kind.TRANSCRIPT, file.path, lines)
            planned_id = file.session_id
            if not reading.goes_on:
                head = read_head(lines, is_packed=file.is_packed)
                if not identify_transcript(file, head, self.identity(), book.name(file.path)):
                    self._leave_out(file, Reason.NOT_TRANSCRIPT, stat=stat)
                    return None
            if not self._is_to_store(file, planned_id, stat):
                return None
            lines.seek(0)
            return OpenedTranscript(file, lines, stat, lines.read(HEAD), reading)
        self._leave_out(file, Reason.FAILED, failed[0])
        return None

    def _is_excluded_unopened(self, file):
        """Whether the file is excluded without opening it."""
        session_id = self.identity().named(file.path) if self.collection.opted_out else ""
        session_id = session_id or (file.session_id if file.is_certain or self.collection.opted_out else "")
        if not session_id or self.may_read(session_id):
            return False
        file.session_id = session_id
        self._leave_out(file, self.why_left(session_id))
        return True

    def _note_unreadable(self, file, reason):
        self.report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": file.path.name, "reason": reason})
        self._leave_out(file, Reason.UNREADABLE, reason)

    def _is_to_store(self, file, planned_id, stat):
        """Whether the session of an identified file is stored; otherwise the reason is noted."""
        session_id = file.session_id
        if session_id in self.removed:
            self.report.transcripts["removed"] += 1
            self._note_read(file)
        elif (session_id != planned_id or not file.is_certain) and not self.may_read(session_id):
            self._leave_out(file, self.why_left(session_id), stat=stat)
        elif file.is_imported and session_id in self.source.known:
            self.report.transcripts["skipped_imported"] += 1
            self._leave_out(file, Reason.IMPORTED, stat=stat)
        elif file.state != Session.State.LIVE and not self.collection.include_deleted:
            self.report.transcripts[f"skipped_{file.state}"] += 1
            self._leave_out(file, file.state, stat=stat)
        elif (self.stored is None or session_id in self.stored) and holding_checks.is_missing_records(
            self.agent, session_id, self.plan.mended
        ):
            self.plan.short.add(session_id)
            self.collection.add_bytes(file.stat.st_size)
            self.plan.accounts.note_read(file.path)
        else:
            return True
        return False

    def _write_ahead(self, opened, outputs):
        """Write the outputs of new transcripts before their records.

        With somebody opted out, it is not known yet which of them are stored.
        """
        if self.collection.opted_out:
            return
        for transcript in opened:
            if (
                not transcript.file.is_packed
                and self.collection.book.offset(Kind.TRANSCRIPT, transcript.file.path) == 0
            ):
                transcript.lines.seek(0)
                outputs.write_ahead(iter(partial(transcript.lines.readline, jsonl.MAX_LINE), b""))

    def _build_source(self, transcript, outputs):
        file, book = transcript.file, self.collection.book
        transcript.name = book.name(file.path)
        has_others = book.has_others(self.agent.agent_id, file.session_id, transcript.name)
        return PendingSource(
            session_id=file.session_id,
            size=max(0, transcript.stat.st_size - transcript.reading.offset),
            is_alone=has_others or file.is_packed,
            store=partial(self._store_transcript, transcript, outputs, has_others),
            save=lambda _stored: self._save_position(transcript),
            done=partial(self._count_transcript, transcript),
            guarding=partial(self._contain_failure, transcript),
        )

    @contextmanager
    def _contain_failure(self, transcript):
        with contain_failures(self.report, transcript.file.path.name) as failed:
            yield
        if failed:
            self._note_skipped(transcript.file, Reason.FAILED, failed[0])

    def _store_transcript(self, transcript, outputs, has_others, batch):
        """Read a transcript into its session.

        In a batch its bytes are reported when it is stored, otherwise while it is read.
        """
        file, reading = transcript.file, transcript.reading
        transcript.tail, transcript.reported_bytes = replace(reading.tail), reading.offset
        if file.is_packed:  # packed files are complete
            transcript.lines.seek(0)
            lines, on_bytes = read_packed_lines(transcript.lines), None
        else:
            lines = jsonl.read_lines(
                transcript.lines, reading.offset, is_closed=transcript.is_closed, take=transcript.tail.take
            )
            on_bytes = partial(self._report_bytes, transcript) if batch is None else None
        target = self._build_target(transcript, has_others, batch)
        return transcript_store.store_transcript(self.db, target, lines, outputs=outputs, on_bytes=on_bytes)

    def _report_bytes(self, transcript, offset):
        self.collection.add_bytes(offset - transcript.reported_bytes)
        transcript.reported_bytes = offset

    def _count_transcript(self, transcript, stored):
        file = transcript.file
        is_unfinished = not transcript.is_closed and transcript.tail.end < transcript.stat.st_size
        count(self.report, "new" if file.is_packed else transcript.reading.why, stored, unfinished=is_unfinished)
        self.plan.accounts.note_read(file.path)
        if not file.is_packed and stored.end:
            self._report_bytes(transcript, stored.end)

    def _save_position(self, transcript):
        file = transcript.file
        if file.is_packed:
            self._note_read(file)
            return
        owner = {"agent_id": self.agent.agent_id, "session_id": file.session_id}
        read = {"head": transcript.head, "tail": transcript.tail}
        self.collection.book.save_appended(Kind.TRANSCRIPT, file.path, transcript.stat, **owner, **read)
        self.collection.book.name_current(file.path, is_named=file.is_named)

    def _build_target(self, transcript, has_others, batch):
        file, modified = transcript.file, modified_ms(transcript.stat.st_mtime_ns)
        is_live = file.session_id in self.plan.live or file.session_id in self.source.live
        return transcript_store.Transcript(
            file.session_id,
            transcript.name,
            modified,
            Session.State.LIVE if is_live else file.state,
            self.collection.opted_out,
            goes_on=transcript.reading.goes_on and not file.is_packed,
            has_others=has_others,
            batch=batch,
        )

    def _note_read(self, file):
        self.collection.add_bytes(file.stat.st_size)
        size, owner = file.stat.st_size, {"agent_id": self.agent.agent_id, "session_id": file.session_id}
        self.collection.book.save(Kind.TRANSCRIPT, file.path, file.stat, offset=size, **owner)
        self.collection.book.name_current(file.path, is_named=file.is_named)
        self.plan.accounts.note_read(file.path)


def _may_hold_output(transcript):
    """Whether the new part of a file may have tool output, which needs the store."""
    size = transcript.stat.st_size - transcript.reading.offset
    if transcript.file.is_packed or size > FEW_BYTES:
        return True
    transcript.lines.seek(transcript.reading.offset)
    new = transcript.lines.read(FEW_BYTES)
    return ESCAPE in new or any(role in new for role in ROLES)


def modified_ms(mtime_ns: int) -> int:
    """A file's time in milliseconds, or now when it is out of range."""
    return parse_moment_ms(mtime_ns // 1_000_000) or now_ms()


def count(report: Any, why: str, stored: transcript_store.StoreResult, *, unfinished: bool) -> None:
    """Add the counts of a stored transcript to the report."""
    report.transcripts[why] += 1
    report.records += stored.kinds
    report.rejected += stored.rejected
    report.withheld += stored.withheld
    report.unknown_envelopes += stored.unknown_envelopes
    report.repeated += stored.repeated
    report.unfinished += unfinished


def _group_files(files: list[TranscriptFile]) -> Iterator[list[TranscriptFile]]:
    """Group transcripts whose outputs are synced together.

    Syncing each alone would take longer than everything else.
    """
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
