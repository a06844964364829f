"""Reads logs of the Reflection plugin from the last position on, in batches of decisions."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from agents.homes import NotReadable, list_names, open_regular, stat_regular
from agents.models import CollectorSource
from agents.sources import HEAD, Tail
from gate.collectors import guardian_log, plugin_log, reader_state
from gate.collectors.batches import split_batches
from gate.collectors.fact_pairs import FactPairs
from gate.collectors.source_decisions import Rejection, SourceDecision
from ledger.collectors.jsonl import Line
from openclaw_web import clock

from . import logs
from .log_owners import LogOwners

Kind = CollectorSource.Kind
BEGIN, END = "reflection-", ".log"
STILL_MS = 10_000
AT_ONCE = 200  # maximum of decisions in memory


@dataclass(slots=True)
class LogProgress:
    """The state of reading logs: the reader, unpaired facts by workspace, and the files."""

    reader: plugin_log.LogReader = field(default_factory=plugin_log.LogReader)
    pairs: dict[str, FactPairs] = field(default_factory=dict)
    last: Path | None = None  # the last file, where the next import continues
    is_open: bool = False  # the file was being written: its last decisions wait for another line
    has_left_out: bool = False  # decisions without an agent here
    read: list["FileState"] = field(default_factory=list)

    def pairs_of(self, workspace: Path | None) -> FactPairs:
        """The unpaired facts of a workspace, or of decisions without a workspace."""
        return self.pairs.setdefault(str(workspace or ""), FactPairs())


@dataclass(slots=True)
class FileState:
    """A file when it was read, up to the end of `tail`."""

    kind: str
    file: Path
    stat: os.stat_result
    head: bytes
    tail: Tail


def list_files(collection: Any, folder: Path) -> list[Path]:
    """The logs of a folder in the order of their days."""
    names = list_names(folder, collection.home.notes)
    return [folder / name for name in names if name.startswith(BEGIN) and name.endswith(END)]


def resume(
    collection: Any, owners: LogOwners, folder: Path, files: list[Path], written: list[Path]
) -> LogProgress | None:
    """Load the state of the last import; None to read logs from the start.

    While somebody has opted out no state is stored, because it contains text, and decisions that wait for a turn are
    read again. Decisions that were left out are read again when there are new sessions or agents.
    """
    state = _load_state(collection, owners, folder)
    if collection.is_again or collection.opted_out or _may_have_owners(collection, state):
        return None
    last = folder / state.get("file", "")
    if last not in files or not all(
        is_known(collection, Kind.REFLECTION_LOG, file) for file in files[: files.index(last)]
    ):
        return None
    read = [(Kind.REFLECTION_LOG, last), *((Kind.GUARDIAN_LOG, file) for file in written)]
    if not all(_is_continued(collection, kind, file) for kind, file in read):
        return None
    reader = reader_state.load(state["reader"])
    pairs = {workspace: FactPairs(pair_state) for workspace, pair_state in state["pairs"].items()}
    return reader and LogProgress(reader, pairs, last, state["is_open"], state["has_left_out"])


def must_look_again(collection: Any, owners: LogOwners, folder: Path) -> bool:
    """Whether all logs are to be read from the start, even without new lines."""
    return collection.is_again or _may_have_owners(collection, _load_state(collection, owners, folder))


def _load_state(collection, owners, folder):
    data = collection.book.load_reader_state(Kind.REFLECTION_LOG, folder, _format_mode(owners))
    return orjson.loads(data) if data else {}


def _may_have_owners(collection, state):
    """Whether decisions that were left out may have owners now, because of new sessions."""
    has_new = any(report.transcripts["new"] for report in collection.reports.values())
    return has_new and bool(state.get("has_left_out"))


def save_progress(collection: Any, owners: LogOwners, folder: Path, progress: LogProgress) -> None:
    """Store how far the logs were read, in one transaction."""
    if collection.only is not None:  # decisions of other agents were left out
        return
    book, is_kept = collection.book, not collection.opted_out
    is_open = is_being_written(progress)
    with transaction.atomic():
        for file_state in progress.read:
            if is_kept:
                book.save_appended(
                    file_state.kind,
                    file_state.file,
                    file_state.stat,
                    agent_id="",
                    head=file_state.head,
                    tail=file_state.tail,
                )
            elif not (is_open and file_state.kind == Kind.REFLECTION_LOG):
                book.save(
                    file_state.kind, file_state.file, file_state.stat, agent_id="", offset=file_state.stat.st_size
                )
        state = {
            "file": progress.last and progress.last.name,
            "is_open": is_open,
            "has_left_out": progress.has_left_out or bool(owners.left_out),
            "reader": reader_state.dump(progress.reader),
            "pairs": {workspace: pairs.state() for workspace, pairs in progress.pairs.items()},
        }
        data = orjson.dumps(state) if is_kept and progress.last else None
        book.save_reader_state(Kind.REFLECTION_LOG, folder, _format_mode(owners), data)


def _format_mode(owners):
    """The mode of reading: with other agents or workspaces, decisions may have other owners."""
    parts = [reader_state.VERSION, sorted(owners.agents), owners.by_workspace, owners.has_other_homes]
    return f"plugin's logs {orjson.dumps(parts, option=orjson.OPT_SORT_KEYS).decode()}"


def read_decisions(
    collection: Any, progress: LogProgress, files: list[Path], on_problem: Any
) -> Iterator[list[SourceDecision]]:
    """Yield the decisions of logs in batches; `on_problem` gets files and unusable lines.

    The last decision of a log that is being written waits: the next line may name its owner.
    """
    yield from split_batches(_read_files(collection, progress, files, on_problem), _measure_text, AT_ONCE)


def _read_files(collection, progress, files, on_problem):
    for file in files:
        is_next = file == progress.last
        if not is_next:
            progress.reader.begin_file()
        yield from _read_file(collection, progress, file, on_problem, is_next=is_next)
        progress.last = file
    if not is_being_written(progress):
        yield from (decision for decision in progress.reader.finish() if isinstance(decision, SourceDecision))


def _read_file(collection, progress, file, on_problem, *, is_next):
    """Yield the decisions of a log; with `is_next`, only the new ones."""
    reader = progress.reader
    try:
        with open_regular(file.parent, file) as handle:
            state = _open_state(collection, Kind.REFLECTION_LOG, file, handle, goes_on=is_next)
            while line := handle.readline(logs.MAX_LINE_BYTES):
                if not line.endswith(b"\n") and len(line) < logs.MAX_LINE_BYTES:
                    break  # still being written
                start = state.tail.end
                state.tail.take(line)
                for item in _feed_reader(reader, line):
                    if isinstance(item, Rejection):
                        on_problem(file, Line(start, start + len(line), line[:4096], None, item.reason, item.detail))
                    else:
                        yield item
    except NotReadable as exc:
        _note_unread(collection, file, exc)
        return
    progress.read.append(state)


def read_facts(collection: Any, progress: LogProgress, file: Path, *, goes_on: bool) -> Iterator[tuple[str, str, str]]:
    """Yield agent, decision and fact of each pair from write_guardian's log in a workspace."""
    try:
        with open_regular(file.parents[1], file) as handle:
            state = _open_state(collection, Kind.GUARDIAN_LOG, file, handle, goes_on=goes_on)
            lines = _read_lines(handle, state.tail)
            written = (item for item in guardian_log.read(lines) if not isinstance(item, Rejection))
            yield from progress.pairs_of(file.parents[1]).pairs(written)
    except NotReadable as exc:
        _note_unread(collection, file, exc)
        return
    progress.read.append(state)


def is_being_written(progress: LogProgress) -> bool:
    """Whether another line that names the owner of the last decision may follow soon."""
    stats = [file_state.stat for file_state in progress.read if file_state.kind == Kind.REFLECTION_LOG]
    if not stats and progress.last:
        stats = [stat for stat in [stat_regular(progress.last)] if stat]
    return any(clock.is_recent(stat.st_mtime_ns // 1_000_000, STILL_MS) for stat in stats)


def is_known(collection: Any, kind: str, file: Path) -> bool:
    """Whether a file is unchanged."""
    stat = stat_regular(file)
    return stat is None or collection.book.is_known(kind, file, stat)


def _is_continued(collection, kind, file):
    """Whether the read part of a file is unchanged: not truncated, not replaced."""
    if is_known(collection, kind, file) or (kind == Kind.REFLECTION_LOG and not collection.book.offset(kind, file)):
        return True
    try:
        with open_regular(file.parent, file) as handle:
            return collection.book.find_position(kind, file, handle).goes_on
    except NotReadable:
        return False


def _open_state(collection, kind, file, handle, *, goes_on):
    """The state of a file, with the handle at the position where reading begins."""
    stat, head = os.fstat(handle.fileno()), os.pread(handle.fileno(), HEAD, 0)
    tail = Tail()
    if goes_on and collection.book.offset(kind, file):
        reading = collection.book.find_resume_position(kind, file, handle)
        if reading is None:
            raise NotReadable(_("it was replaced while it was read"))
        tail = reading.tail
    handle.seek(tail.end)
    return FileState(kind, file, stat, head, tail)


def _read_lines(handle, tail):
    for _place, line in logs.read_lines(handle, tail.end):
        tail.take(line)
        yield line


def _feed_reader(reader, line):
    item = reader.feed(line)
    if item is not None:
        yield item
    yield from reader.ready()


def _measure_text(decision):
    return len(decision.reason) + sum(len(message.message) for message in decision.window or ())


def _note_unread(collection, file, exc):
    words = {"file": file.name, "reason": exc}
    collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
