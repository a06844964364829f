"""Collect one agent of a home: its session index, transcripts and workspace files."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from django.db import transaction
from django.utils.translation import gettext as _

from agents import holdings
from agents.homes import NotReadable, gone, look, names_in, open_regular
from agents.layout.home_agents import check_memory, follow_report
from agents.models import CollectorSource
from agents.sources import HEAD
from guardian import services as guardian
from guardian.collectors import workspace as workspaces
from ledger import prompt_workspaces
from ledger.collectors import jsonl, session_index
from ledger.collectors.jsonl import Line
from ledger.collectors.records import moment_ms
from ledger.models import Session
from ledger.transcripts import counting, removing, storing
from openclaw_web.clock import now_ms

from . import agent_database, around, consent, counts, packed
from . import outputs as collect_outputs
from . import removed as collect_removed
from .guard import guarding

Kind = CollectorSource.Kind
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TRANSCRIPT = re.compile(
    rf"(?P<id>{UUID})(?:-topic-\w+)?\.jsonl(?:\.(?P<state>deleted|reset|bak)\.[^/]+)?", re.IGNORECASE
)
# What OpenClaw moved its transcripts to when it made databases of them: <key>.<session>.jsonl.imported-<moment>
IMPORTED = re.compile(rf"(?:.+\.)?(?P<id>{UUID})(?:-topic-\w+)?\.jsonl\.(?P<state>imported)-\d+", re.IGNORECASE)
IMPORT_ARCHIVE = "session-sqlite-import-archive"
MAX_INDEX_BYTES = 64 * 1024 * 1024
GROUP_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript by its name: whose session it is and in which state."""

    path: Path
    session_id: str
    state: str
    stat: os.stat_result


@dataclass(slots=True)
class Plan:
    """What has to be read of an agent's transcripts, known without opening any."""

    to_read: list[TranscriptFile] = field(default_factory=list)
    renamed: list[TranscriptFile] = field(default_factory=list)
    unchanged: int = 0
    bytes_to_read: int = 0
    imported: list[TranscriptFile] = field(default_factory=list)
    uncounted: set[str] = field(default_factory=set)  # sessions to be read from their start, and counted then
    short: set[str] = field(default_factory=set)  # sessions that lost records: they are made again
    mended: frozenset[str] = frozenset()  # sessions that were made again
    database: agent_database.Plan = field(default_factory=lambda: agent_database.Plan(None))


def plan(collection, found) -> Plan:
    """Compare the transcripts of an agent with what was read before."""
    uncounted = counting.uncounted(collection.agents[found.home_name].db)
    made = Plan(database=agent_database.plan(collection, found.database, uncounted), uncounted=uncounted)
    made.bytes_to_read = made.database.bytes_to_read
    notes = collection.home.notes
    made.imported = imported(found, notes)
    for file in transcripts(found.sessions, notes):
        if file.state != Session.State.LIVE and not collection.include_deleted:
            made.renamed.append(file)
        elif file.session_id not in uncounted and collection.book.is_known(Kind.TRANSCRIPT, file.path, file.stat):
            made.unchanged += 1
        else:
            made.to_read.append(file)
            offset = 0 if file.session_id in uncounted else collection.book.offset(Kind.TRANSCRIPT, file.path)
            made.bytes_to_read += file.stat.st_size - (offset if offset <= file.stat.st_size else 0)
    return made


def imported(found, notes: list[str]) -> list[TranscriptFile]:
    """Transcripts that were moved away after the database had them; `notes` as for `transcripts`."""
    archive = found.folder / IMPORT_ARCHIVE if found.folder else None
    files = [*transcripts(archive, notes, IMPORTED), *transcripts(found.sessions, notes, IMPORTED)]
    return [replace(file, state=Session.State.BACKUP) for file in files]


def collect(collection, found, agent, plan, report) -> None:
    """Read what the plan says into the agent's file, and fill the report."""
    _index(collection, found, agent, report)
    report.transcripts["unchanged"] += plan.unchanged
    with agent_database.source_of(collection, plan.database, agent, report) as source:
        source.index()
        found = _follow_report(collection, found, agent)
        may_read = consent.reader(collection, found, agent, report, source.entries)
        may_read = consent.without_ignored(collection, agent, report, may_read)
        counts.note_removed(agent)
        removed = removing.ids(agent.db)
        were_removed = len(removed)
        source.from_start, source.short, source.mended = plan.uncounted, plan.short, plan.mended
        may_read = collect_removed.without(removed, may_read)
        source.archives(may_read)
        to_read = collect_removed.files(collection, agent, plan.to_read, removed, report)
        _files(collection, agent, plan, to_read, source, may_read, report)
        collect_removed.transcripts(source, removed)
        source.transcripts(may_read)  # last: what is in the database is newer than files it was made from
        if len(removed) < were_removed:
            _index_again(collection, found, agent, source, report)
        around.database(source, may_read)
    around.files(collection, found, agent, report, may_read)
    _leftovers(collection, agent, plan, source.known, may_read, report)
    counts.count_again(agent, plan.uncounted & (source.were_read | {file.session_id for file in to_read}))
    live = {file.session_id for file in plan.to_read if file.state == Session.State.LIVE} | source.live
    for file in plan.renamed:
        if file.path.name in source.names:  # noted when the database said so
            continue
        report.transcripts[f"skipped_{file.state}"] += 1
        if file.session_id not in live and look(_live_twin(file.path)) is None:
            storing.mark_state(agent.db, file.session_id, file.state)
    if found.workspace:
        _workspace(collection, found.workspace, agent, report)


def read_on(collection, found, agent, mended, report) -> None:
    """Read the sources of sessions that were just made again from where they were read to: nothing is lost by it."""
    rest, made = type(report)(), plan(collection, found)
    made.mended = frozenset(mended)
    collect(collection, found, agent, made, rest)
    report.records += rest.records
    report.rejected += rest.rejected
    report.withheld += rest.withheld
    report.notes += [note for note in rest.notes if note not in report.notes]


def _files(collection, agent, plan, files, source, may_read, report):
    for group in _groups(files):
        with collect_outputs.taking(collection, agent, report) as outputs:
            _write_ahead(collection, [file for file in group if file.path.name not in source.names], outputs)
            for file in group:
                if file.path.name in source.names:  # the database holds the same
                    _is_read(collection, agent, file)
                elif not may_read(file.session_id):
                    collection.add_bytes(file.stat.st_size)
                elif counts.is_short(agent, file.session_id, plan.mended):
                    plan.short.add(file.session_id)
                    collection.add_bytes(file.stat.st_size)
                else:
                    read = partial(_transcript, outputs=outputs, from_start=file.session_id in plan.uncounted)
                    _guarded(read, collection, agent, file, report)


def _leftovers(collection, agent, plan, known, may_read, report):
    """What was imported into the database is in the store by way of it; only what it has lost since is read."""
    for file in plan.imported:
        if file.session_id in known or not collection.include_deleted:
            report.transcripts["skipped_imported"] += 1
        elif collection.book.is_known(Kind.TRANSCRIPT, file.path, file.stat):
            report.transcripts["unchanged"] += 1
        elif may_read(file.session_id) and counts.is_short(agent, file.session_id, plan.mended):
            plan.short.add(file.session_id)
        elif may_read(file.session_id):
            _guarded(_transcript, collection, agent, file, report)


def _guarded(read, collection, agent, file, report):
    """What a file that fails had stored is rolled back and tried again."""
    with guarding(report, file.path.name):
        read(collection, agent, file, report)


def _groups(files):
    """Transcripts whose outputs become durable together: syncing for each alone would take longer than the rest."""
    group, size = [], 0
    for file in files:
        group.append(file)
        size += file.stat.st_size
        if size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _write_ahead(collection, files, outputs):
    """Write the outputs of new transcripts; with somebody opted out it is not known yet which of them are kept."""
    if collection.opted_out:
        return
    for file in files:
        if file.path.suffix != packed.SUFFIX and collection.book.offset(Kind.TRANSCRIPT, file.path) == 0:
            with suppress(NotReadable), open_regular(collection.home.root, file.path) as opened:
                outputs.write_ahead(iter(partial(opened.readline, jsonl.MAX_LINE), b""))


def _live_twin(path):
    """The name a reset or deleted transcript had while it was written to."""
    return path.with_name(path.name.partition(".jsonl")[0] + ".jsonl")


def transcripts(folder: Path | None, notes: list[str], pattern=TRANSCRIPT) -> list[TranscriptFile]:
    """The transcripts of a folder, oldest first, so that a session's newest file has the last word.

    One that is renamed or removed meanwhile is passed over, with a sentence in `notes`.
    """
    files = []
    for name in names_in(folder, notes):
        if match := pattern.fullmatch(name):
            state = (match["state"] or Session.State.LIVE).lower()
            if stat := look(folder / name):
                files.append(TranscriptFile(folder / name, match["id"], state, stat))
            elif not os.path.lexists(folder / name):
                notes.append(gone(name))
    return sorted(files, key=lambda file: (file.stat.st_mtime_ns, file.path.name))


def _transcript(collection, agent, file, report, *, outputs=None, from_start=False):
    if file.path.suffix == packed.SUFFIX:
        _packed_transcript(collection, agent, file, report, outputs)
        return
    try:
        opened = open_regular(collection.home.root, file.path)
    except NotReadable as exc:
        report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": file.path.name, "reason": exc})
        return
    with opened:
        if from_start:
            collection.book.forget_part(collection.book.name(file.path))
        reading = collection.book.reading(Kind.TRANSCRIPT, file.path, opened)
        stat = os.fstat(opened.fileno())
        opened.seek(0)
        head = opened.read(HEAD)
        done = reading.offset

        def hear(offset):
            nonlocal done
            collection.add_bytes(offset - done)
            done = offset

        is_closed = file.state != Session.State.LIVE
        stored = storing.store_transcript(
            agent.db,
            _about(collection, file, stat, goes_on=reading.goes_on),
            jsonl.read_lines(opened, reading.offset, is_closed=is_closed, take=reading.tail.take),
            outputs=outputs,
            on_bytes=hear,
        )
    _count(report, reading.why, stored, unfinished=reading.tail.end < stat.st_size and not is_closed)
    with transaction.atomic():
        holdings.note(agent.agent_id, file.session_id, stored.held, added=stored.added)
        collection.book.save_appended(
            Kind.TRANSCRIPT, file.path, stat, agent_id=agent.agent_id, head=head, tail=reading.tail
        )


def _about(collection, file, stat, *, goes_on=False):
    modified, name = modified_ms(stat.st_mtime_ns), collection.book.name(file.path)
    return storing.Transcript(file.session_id, name, modified, file.state, collection.opted_out, goes_on=goes_on)


def _packed_transcript(collection, agent, file, report, outputs):
    """A packed transcript is whole: nobody appends to it."""
    about = _about(collection, file, file.stat)
    stored = packed.store_packed(collection, agent, file.path, about, report, outputs)
    if stored is not None:
        _count(report, "new", stored, unfinished=False)
        with transaction.atomic():
            holdings.note(agent.agent_id, file.session_id, stored.held, added=stored.added)
            _is_read(collection, agent, file)


def _is_read(collection, agent, file):
    collection.add_bytes(file.stat.st_size)
    size = file.stat.st_size
    collection.book.save(Kind.TRANSCRIPT, file.path, file.stat, agent_id=agent.agent_id, offset=size)


def modified_ms(mtime_ns):
    """A file's time, or now when it lies where no calendar of ours goes."""
    return moment_ms(mtime_ns // 1_000_000) or now_ms()


def _count(report, why, stored, *, unfinished):
    report.transcripts[why] += 1
    report.records += stored.kinds
    report.rejected += stored.rejected
    report.withheld += stored.withheld
    report.unknown_envelopes += stored.unknown_envelopes
    report.repeated += stored.repeated
    report.unfinished += unfinished


def _index_again(collection, found, agent, source, report):
    """A removed session went on and is back: what the indexes say of it was passed over until now."""
    counted = report.sessions_indexed, report.opted_out_sessions
    _index(collection, found, agent, report, also_known=True)
    source.index()
    report.sessions_indexed, report.opted_out_sessions = counted


def _index(collection, found, agent, report, *, also_known=False):
    """Bring sessions up to sessions.json when that has changed; without the people who opted out."""
    path = found.index
    if path is None or not os.path.lexists(path):
        return
    try:
        stat = path.lstat()
    except OSError:
        report.notes.append(gone(path.name))
        return
    is_looked_at = agent.workspace_reported_at is not None and not also_known
    if is_looked_at and collection.book.is_known(Kind.SESSION_INDEX, path, stat, agent_id=agent.agent_id):
        return
    try:
        with open_regular(collection.home.root, path) as file:
            entries = list(session_index.read(file.read(MAX_INDEX_BYTES)))
    except (NotReadable, ValueError) as exc:
        storing.reject(agent.db, collection.book.name(path), [Line(0, stat.st_size, b"", None, "bad_index", str(exc))])
        report.rejected["bad_index"] += 1
        return
    prompt_workspaces.note(agent, found.home_name, entries)
    kept = consent.kept(collection, agent, report, entries)
    report.sessions_indexed += storing.store_index(agent.db, kept)
    # With somebody opted out it is read every time: the setting may have changed since.
    if not collection.opted_out:
        collection.book.save(Kind.SESSION_INDEX, path, stat, agent_id=agent.agent_id, offset=stat.st_size)


def _follow_report(collection, found, agent):
    """The agent with the workspace of its newest report, now that its indexes were read."""
    if found not in collection.home.agents:  # where it was before; its present place is read after that
        return found
    prompt_workspaces.note_none(agent)
    followed = follow_report(collection.home, found, agent.reported_workspace)
    check_memory(collection.home, followed)
    workspace = str(followed.workspace.resolve()) if followed.workspace else ""
    if agent.workspace != workspace:
        if followed.workspace and collection.book.has_other_files(followed.workspace, agent.agent_id):
            collection.moved.add(agent.agent_id)
        agent.workspace = workspace
        agent.save(update_fields=["workspace"])
    collection.home.agents[collection.home.agents.index(found)] = followed
    return followed


def _workspace(collection, folder, agent, report):
    for entry in workspaces.entries(folder, report.notes):
        try:
            stat = entry.path.lstat()
        except OSError:
            report.notes.append(gone(entry.name))
            continue
        if collection.book.is_known(Kind.WORKSPACE_FILE, entry.path, stat, agent_id=agent.agent_id):
            continue
        try:
            data = workspaces.content(folder, entry)
        except NotReadable as exc:
            report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": entry.name, "reason": exc})
            continue
        # What a file holds in another workspace comes after what it held in the one before, whenever it was written.
        moment = now_ms() if agent.agent_id in collection.moved else modified_ms(entry.mtime_ns)
        kept = guardian.keep_version(agent.db, entry.name, data, modified_ms=moment)
        report.file_versions += kept
        collection.book.save(Kind.WORKSPACE_FILE, entry.path, stat, agent_id=agent.agent_id, offset=len(data))
