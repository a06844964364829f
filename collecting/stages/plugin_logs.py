"""The logs of the Reflection plugin under collect: read on from where the last import stopped, decisions in batches."""

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
AT_ONCE = 200  # decisions that are held at once


@dataclass(slots=True)
class LogProgress:
    """How far logs were read: the reader, what waits for its other half in each workspace, and the files."""

    reader: plugin_log.LogReader = field(default_factory=plugin_log.LogReader)
    pairs: dict[str, FactPairs] = field(default_factory=dict)
    last: Path | None = None  # the last file, from which the next import goes on
    is_open: bool = False  # it was being written: its last decisions wait for a line
    has_left_out: bool = False  # decisions of nobody here
    read: list["FileState"] = field(default_factory=list)

    def pairs_of(self, workspace: Path | None) -> FactPairs:
        """Those of a workspace; of decisions without one, which no log has facts of."""
        return self.pairs.setdefault(str(workspace or ""), FactPairs())


@dataclass(slots=True)
class FileState:
    """A file as it was when it was read, up to the end of `tail`."""

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
    """Where the last import stopped; None when logs are to be read from their start.

    While somebody has opted out no state is kept: it holds words, and what is withheld for want of a turn is met again.
    Decisions that were left out are met again when there are new sessions or agents.
    """
    state = _state(collection, owners, folder)
    if collection.is_again or collection.opted_out or _may_have_owners(collection, state):
        return None
    last = folder / state.get("file", "")
    if last not in files or not all(is_known(collection, Kind.REFLECTION_LOG, file) for file in _before(files, last)):
        return None
    if not all(_goes_on(collection, kind, file) for kind, file in _logs(last, written)):
        return None
    reader = reader_state.load(state["reader"])
    pairs = {workspace: FactPairs(one) for workspace, one in state["pairs"].items()}
    return reader and LogProgress(reader, pairs, last, state["is_open"], state["has_left_out"])


def must_look_again(collection: Any, owners: LogOwners, folder: Path) -> bool:
    """Whether all logs are to be read from their start, also where nothing is new in them."""
    return collection.is_again or _may_have_owners(collection, _state(collection, owners, folder))


def _state(collection, owners, folder):
    data = collection.book.reader_state(Kind.REFLECTION_LOG, folder, _how(owners))
    return orjson.loads(data) if data else {}


def _may_have_owners(collection, state):
    """Whether decisions that were left out may be of somebody here by now: there are new sessions."""
    has_new = any(report.transcripts["new"] for report in collection.reports.values())
    return has_new and bool(state.get("has_left_out"))


def save_progress(collection: Any, owners: LogOwners, folder: Path, progress: LogProgress) -> None:
    """Remember how far logs were read, all at once."""
    if collection.only is not None:  # decisions of other agents were left out
        return
    book, is_kept = collection.book, not collection.opted_out
    is_open = is_being_written(progress)
    with transaction.atomic():
        for one in progress.read:
            if is_kept:
                book.save_appended(one.kind, one.file, one.stat, agent_id="", head=one.head, tail=one.tail)
            elif not (is_open and one.kind == Kind.REFLECTION_LOG):
                book.save(one.kind, one.file, one.stat, agent_id="", offset=one.stat.st_size)
        state = {
            "file": progress.last and progress.last.name,
            "is_open": is_open,
            "has_left_out": progress.has_left_out or bool(owners.left_out),
            "reader": reader_state.dump(progress.reader),
            "pairs": {workspace: pairs.state() for workspace, pairs in progress.pairs.items()},
        }
        data = orjson.dumps(state) if is_kept and progress.last else None
        book.save_reader_state(Kind.REFLECTION_LOG, folder, _how(owners), data)


def _how(owners):
    """How logs are read: with other agents or workspaces, decisions may be of others."""
    about = [reader_state.VERSION, sorted(owners.agents), owners.by_workspace, owners.has_other_homes]
    return f"plugin's logs {orjson.dumps(about, option=orjson.OPT_SORT_KEYS).decode()}"


def read_decisions(
    collection: Any, progress: LogProgress, files: list[Path], on_problem: Any
) -> Iterator[list[SourceDecision]]:
    """The decisions of these logs in batches; `on_problem` is called with a file and a line that cannot be used.

    What the reader has at the end of a log that is being written waits: the next line may say whose it is.
    """
    yield from split_batches(_decisions(collection, progress, files, on_problem), _weigh, AT_ONCE)


def _decisions(collection, progress, files, on_problem):
    for file in files:
        is_next = file == progress.last
        if not is_next:
            progress.reader.begin_file()
        yield from _read(collection, progress, file, on_problem, is_next=is_next)
        progress.last = file
    if not is_being_written(progress):
        yield from (one for one in progress.reader.finish() if isinstance(one, SourceDecision))


def _read(collection, progress, file, on_problem, *, is_next):
    """The decisions of a log; with `is_next`, of what is new in it."""
    reader = progress.reader
    try:
        with open_regular(file.parent, file) as handle:
            state = _open(collection, Kind.REFLECTION_LOG, file, handle, goes_on=is_next)
            while line := handle.readline(logs.MAX_LINE_BYTES):
                if not line.endswith(b"\n") and len(line) < logs.MAX_LINE_BYTES:
                    break  # still being written
                start = state.tail.end
                state.tail.take(line)
                for one in _ready(reader, line):
                    if isinstance(one, Rejection):
                        on_problem(file, Line(start, start + len(line), line[:4096], None, one.reason, one.detail))
                    else:
                        yield one
    except NotReadable as exc:
        _note(collection, file, exc)
        return
    progress.read.append(state)


def read_facts(collection: Any, progress: LogProgress, file: Path, *, goes_on: bool) -> Iterator[tuple[str, str, str]]:
    """Agent, decision and fact of each pair that the log of write_guardian in a workspace makes."""
    try:
        with open_regular(file.parents[1], file) as handle:
            state = _open(collection, Kind.GUARDIAN_LOG, file, handle, goes_on=goes_on)
            lines = _taken(handle, state.tail)
            written = (one for one in guardian_log.read(lines) if not isinstance(one, Rejection))
            yield from progress.pairs_of(file.parents[1]).pairs(written)
    except NotReadable as exc:
        _note(collection, file, exc)
        return
    progress.read.append(state)


def is_being_written(progress: LogProgress) -> bool:
    """Whether a line may follow in a moment that says whose the last decision is."""
    stats = [one.stat for one in progress.read if one.kind == Kind.REFLECTION_LOG]
    if not stats and progress.last:
        stats = [stat for stat in [stat_regular(progress.last)] if stat]
    return any(clock.is_recent(stat.st_mtime_ns // 1_000_000, STILL_MS) for stat in stats)


def is_known(collection: Any, kind: str, file: Path) -> bool:
    """Whether nothing is new in a file."""
    stat = stat_regular(file)
    return stat is None or collection.book.is_known(kind, file, stat)


def _before(files, last):
    return files[: files.index(last)]


def _logs(last, written):
    return [(Kind.REFLECTION_LOG, last), *((Kind.GUARDIAN_LOG, file) for file in written)]


def _goes_on(collection, kind, file):
    """Whether what was read of a file is as it was: it was not cut, nor is it another one."""
    if is_known(collection, kind, file) or (kind == Kind.REFLECTION_LOG and not collection.book.offset(kind, file)):
        return True
    try:
        with open_regular(file.parent, file) as handle:
            return collection.book.reading(kind, file, handle).goes_on
    except NotReadable:
        return False


def _open(collection, kind, file, handle, *, goes_on):
    """How a file is now, with the handle where reading begins."""
    stat, head = os.fstat(handle.fileno()), os.pread(handle.fileno(), HEAD, 0)
    tail = Tail()
    if goes_on and collection.book.offset(kind, file):
        reading = collection.book.continued(kind, file, handle)
        if reading is None:
            raise NotReadable(_("it was replaced while it was read"))
        tail = reading.tail
    handle.seek(tail.end)
    return FileState(kind, file, stat, head, tail)


def _taken(handle, tail):
    for _place, line in logs.read_lines(handle, tail.end):
        tail.take(line)
        yield line


def _ready(reader, line):
    one = reader.feed(line)
    if one is not None:
        yield one
    yield from reader.ready()


def _weigh(decision):
    return len(decision.reason) + sum(len(said.message) for said in decision.window or ())


def _note(collection, file, exc):
    words = {"file": file.name, "reason": exc}
    collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
