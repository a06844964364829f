"""Collect one agent of a home: its session index, transcripts and workspace files."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents import holdings
from agents.homes import NotReadable, describe_gone
from agents.layout.home_agents import check_memory_folder, follow_reported_workspace
from agents.models import CollectorSource, SkippedSource
from agents.skipped_sources import Kind as Skip
from agents.skipped_sources import Reason, SkippedItem, find_skipped
from agents.sources import SourceBook
from guardian import services as guardian
from guardian.collectors import workspace as workspaces
from ledger import index_rows, prompt_workspaces
from ledger.collectors.jsonl import Line
from ledger.models import Session
from ledger.transcripts import removal, transcript_store
from openclaw_web.clock import now_ms

from ..inventory import index_entries
from ..inventory.file_outcomes import FileOutcomes
from ..inventory.indexes import find_index_path, read_index
from ..inventory.shared_folders import filter_own_index, find_other_owners
from ..inventory.transcripts import Candidates, Identity, TranscriptFile, find_candidates, restore_file_state
from . import agent_database, consent, extras, holding_checks
from . import removals as collect_removed
from .transcripts import Transcripts, modified_ms

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE
# A session, what one of its sources added to it, and what notes that this source was read.
Read = tuple[str, transcript_store.StoreResult, Callable[[], None]]


@dataclass(slots=True)
class Plan:
    """What has to be read of an agent's transcripts, known without opening any."""

    candidates: Candidates
    accounts: FileOutcomes
    rows: list[SkippedSource] = field(default_factory=list)  # what was skipped last time
    to_read: list[TranscriptFile] = field(default_factory=list)
    renamed: list[TranscriptFile] = field(default_factory=list)
    unchanged: int = 0
    bytes_to_read: int = 0
    imported: list[TranscriptFile] = field(default_factory=list)
    short: set[str] = field(default_factory=set)  # sessions that are made again from all their sources
    mended: frozenset[str] = frozenset()  # sessions that were made again
    unsettled: list[Callable[[], None]] = field(default_factory=list)
    live: set[str] = field(default_factory=set)  # sessions of which a file is there that OpenClaw writes to
    database: agent_database.DatabasePlan = field(default_factory=lambda: agent_database.DatabasePlan(None))

    def note(self, book: SourceBook, agent: Any, read: list[Read]) -> None:
        """Note that sources were read: now, or once their session was made again from all its sources."""
        settled = [each for each in read if not each[1].is_unsettled]
        for session_id, stored, save in read:
            if stored.is_unsettled:
                self.short.add(session_id)
                self.unsettled.append(save)
        with transaction.atomic(), book.saving_together():
            holdings.note_holdings(agent.agent_id, [(name, stored.held, stored.added) for name, stored, _ in settled])
            for _name, _stored, save in settled:
                save()

    def settle(self) -> None:
        """Note what waited for sessions to be made again; after that."""
        for save in self.unsettled:
            save()
        self.unsettled.clear()


def plan_agent(collection, found) -> Plan:
    """Compare the files of an agent with what was read before."""
    agent = collection.agents[found.home_name]
    candidates = find_candidates(collection, found, collection.home.notes)
    made = Plan(candidates, FileOutcomes(collection.home.root))
    made.database = agent_database.plan_database(collection, found.database)
    made.rows = find_skipped(collection.home.root, agent.agent_id)
    made.bytes_to_read = made.database.bytes_to_read
    made.accounts.add(candidates.skipped)
    known_rows = {row.path: row for row in made.rows if row.kind == Skip.FILE}
    for file in candidates.transcripts:
        row = restore_file_state(collection, file, known_rows)
        if file.is_certain and file.state == LIVE:
            made.live.add(file.session_id)
        if row is not None and row.reason == Reason.NOT_TRANSCRIPT:
            made.accounts.skip(file.path, row.reason, file.stat)
        elif file.is_imported:
            made.imported.append(file)
        elif file.state != LIVE and not collection.include_deleted and (file.hint.live_name or row or file.is_known):
            made.renamed.append(file)
        else:
            _plan_file(collection, made, file)
    return made


def _plan_file(collection, plan, file):
    if file.is_known:
        plan.unchanged += 1
        return
    plan.to_read.append(file)
    offset = collection.book.offset(Kind.TRANSCRIPT, file.path)
    plan.bytes_to_read += file.stat.st_size - (offset if offset <= file.stat.st_size else 0)


def _follow_index(collection, found, agent, plan, source, identity):
    """Bring the plan up to indexes that were read now: a file that they name is live, whatever its name says."""
    if not _is_indexed(collection, found, source):
        return
    is_whole = found.database is None or source.was_opened
    for file in plan.candidates.transcripts:
        is_named = bool(identity().named(file.path)) or (file.is_named and not is_whole)
        if file.is_imported or is_named == file.is_named:
            continue
        file.name_current(is_named=is_named)
        collection.book.name_current(file.path, is_named=is_named)
        if file.state == LIVE and file in plan.renamed:
            plan.renamed.remove(file)
            _plan_file(collection, plan, file)
        if file.state == LIVE and file.is_certain:
            plan.live.add(file.session_id)
            transcript_store.mark_state(agent.db, file.session_id, LIVE)
        elif file.state != LIVE and file.is_known and not collection.include_deleted:
            plan.renamed.append(file)


def collect(collection, found, agent, plan, report) -> None:
    """Read what the plan says into the agent's file, and fill the report."""
    removed = removal.read_all_removed_ids(agent.db)
    _index(collection, found, agent, plan, report, removed)
    with agent_database.open_source(collection, plan, agent, report) as source:
        if source.was_opened:
            source.index()
        found = _follow_report(collection, found, agent, is_indexed=_is_indexed(collection, found, source))
        reader = consent.build_permission(collection, found, agent, report, source.entries)
        may_read = consent.exclude_ignored(collection, agent, report, reader)
        holding_checks.note_removed(agent)
        identity = _identity_once(collection, found, source)
        _follow_index(collection, found, agent, plan, source, identity)
        report.transcripts["unchanged"] += plan.unchanged
        were_removed = len(removed)
        source.short, source.mended = plan.short, plan.mended
        may_read = collect_removed.exclude_removed(removed, may_read) if removed else may_read
        if source.was_opened:
            source.archives(may_read)
        to_read = collect_removed.filter_files(collection, agent, plan, removed, report) if removed else plan.to_read
        why_left = partial(_why_left, collection, agent, removed, reader)
        files = Transcripts(collection, agent, plan, source, report, may_read, why_left, removed, identity)
        files.read(to_read)
        if source.was_opened:
            collect_removed.filter_transcripts(source, removed)
            source.transcripts(may_read)  # last: what is in the database is newer than files it was made from
        if len(removed) < were_removed:
            _index_again(collection, found, agent, plan, source, report, removed)
        if source.was_opened:
            extras.collect_database(source, may_read)
    if _has_around(collection, found, plan):
        extras.collect_files(collection, found, agent, plan, report, may_read, why_left)
    _leftovers(collection, plan, files, report)
    _mark_renamed(collection, agent, plan, source, report)
    if found.workspace:
        _workspace(collection, found.workspace, agent, report)
    _account(collection, found, agent, plan, source, reader, removed)


def _has_around(collection, found, plan):
    """Whether anything lies around the transcripts of an agent, as far as names tell."""
    folders = found.workspace and found.workspace.joinpath(*extras.BUNDLES)
    places = (folders, collection.home.root / extras.MEMORY_FOLDER / f"{found.home_name}.sqlite")
    return bool(plan.candidates.trajectories) or any(place and os.path.lexists(place) for place in places)


def _why_left(collection, agent, removed, reader, session_id):
    """The reason why the transcripts of a session are not read."""
    if session_id in collection.ignored.get(agent.agent_id, frozenset()):
        return Reason.UNDONE
    if session_id in removed:
        return Reason.REMOVED
    return Reason.OPTED_OUT if session_id in reader.withheld else Reason.UNNAMED


def _identity_once(collection, found, source):
    """A function that gives the identity of the agent's files; indexes are read for the first that asks."""
    made: list[Identity] = []

    def identity():
        if not made:
            entries = [*read_index(collection, found).entries, *source.entries]
            made.append(Identity(entries, found.sessions))
        return made[0]

    return identity


def _leftovers(collection, plan, files, report):
    """What was imported into the database is in the store by way of it; only what it has lost since is read."""
    to_read = []
    for file in plan.imported:
        if not collection.include_deleted or file.session_id in files.source.known:
            report.transcripts["skipped_imported"] += 1
            plan.accounts.skip(file.path, Reason.IMPORTED, file.stat, session_id=file.session_id)
        elif file.is_known:
            report.transcripts["unchanged"] += 1
        else:
            to_read.append(file)
    files.read(to_read)


def _mark_renamed(collection, agent, plan, source, report):
    """Say of sessions whose only files were renamed that they were reset or deleted."""
    live = {file.session_id for file in plan.candidates.transcripts if file.state == LIVE} | source.live
    for file in plan.renamed:
        if not file.is_known:
            plan.accounts.skip(file.path, file.state, file.stat, session_id=file.session_id)
        if file.path.name in source.names:  # noted when the database said so
            continue
        report.transcripts[f"skipped_{file.state}"] += 1
        if file.session_id and file.session_id not in live:
            transcript_store.mark_state(agent.db, file.session_id, file.state)


def read_remaining(collection, found, agent, mended, report) -> Plan:
    """Read the sources of sessions that were just made again from where they were read to: nothing is lost by it."""
    rest, made = type(report)(), plan_agent(collection, found)
    made.mended = frozenset(mended)
    collect(collection, found, agent, made, rest)
    made.settle()
    report.records += rest.records
    report.rejected += rest.rejected
    report.withheld += rest.withheld
    report.notes += [note for note in rest.notes if note not in report.notes]
    return made


def _account(collection, found, agent, plan, source, reader, removed):
    """Account for every file and every key of an index: each is read, or named with its reason."""
    accounts, path = plan.accounts, find_index_path(found)
    index = collection.indexes.get(path) if path else None
    index = filter_own_index(collection, found, index) if index else None
    if index is not None and index.problem:
        accounts.skip(path, Reason.FAILED, path.lstat() if path.exists() else None, detail=index.problem)
    elif path is not None:
        accounts.read(path)
    if found.database is not None and (plan.database.is_unchanged or source.was_opened):
        accounts.read(found.database)
    elif found.database is not None:
        accounts.skip(found.database, Reason.FAILED, source.stats and source.stats[0], detail=source.problem)
    accounts.close(plan.candidates.listing, collection.book)
    reasons = source.left | dict.fromkeys(reader.withheld, Reason.OPTED_OUT) | dict.fromkeys(removed, Reason.REMOVED)
    reasons |= dict.fromkeys(collection.ignored.get(agent.agent_id, ()), Reason.UNDONE)
    entries = [*(index.entries if index else ()), *source.index_entries]
    unusable = [*(index.unusable if index else ()), *source.unusable]
    if entries or unusable:
        about = {"found": found, "agent": agent, "accounts": accounts, "reasons": reasons}
        about["owners"] = find_other_owners(collection, found, entries)
        accounts.entries = {each.path: each for each in index_entries.explain_entries(entries, unusable, **about)}
    accounts.keys = {key for entry in entries for key in entry.files} | set(unusable)
    is_read = (path is None or index is not None) and (found.database is None or source.was_opened)
    accounts.is_complete = is_read


def merge_outcomes(agent: Any, plans: list[Plan], report: Any, odd: list[SkippedItem]) -> None:
    """Bring together what became of the files and entries of all parts of an agent; `odd` are unread places of it."""
    accounts = FileOutcomes(plans[0].accounts.root, is_complete=True)
    for each in plans:
        accounts.merge(each.accounts)
    accounts.add(odd)
    if not accounts.is_complete:
        kept = index_entries.find_kept_entries(plans[0].rows, agent)
        accounts.entries |= {each.path: each for each in kept if each.path not in accounts.keys}
    report.files, report.skipped = accounts.as_json(), accounts.list_skipped()


def _index_again(collection, found, agent, plan, source, report, removed):
    """A removed session went on and is back: what the indexes say of it was passed over until now."""
    counted = report.sessions_indexed, report.opted_out_sessions
    _index(collection, found, agent, plan, report, removed, also_known=True)
    source.index()
    report.sessions_indexed, report.opted_out_sessions = counted


def _index(collection, found, agent, plan, report, removed, *, also_known=False):
    """Bring sessions up to sessions.json when that has changed; without the people who opted out."""
    path = find_index_path(found)
    if path is None:
        return
    try:
        stat = path.lstat()
    except OSError:
        report.notes.append(describe_gone(path.name))
        return
    how, about = _left_out(collection, agent, removed), {"agent_id": agent.agent_id, "kind": Kind.SESSION_INDEX}
    is_looked_at = agent.workspace_reported_at is not None and not also_known
    if is_looked_at and collection.book.was_read(path, stat, how, **about):
        return
    name = collection.book.name(path)
    row = next((row for row in plan.rows if (row.kind, row.path) == (Skip.FILE, name)), None)
    index = filter_own_index(collection, found, read_index(collection, found, row))
    if index.problem:
        transcript_store.store_rejected_lines(
            agent.db, name, [Line(0, stat.st_size, b"", None, "bad_index", index.problem)]
        )
        report.rejected["bad_index"] += 1
        return
    prompt_workspaces.store_newest(agent, found.home_name, index.entries)
    own = [entry for entry in index.entries if not index_entries.is_elsewhere(entry, found)]
    collection.elsewhere += [entry for entry in index.entries if index_entries.is_elsewhere(entry, found)]
    kept = consent.filter_entries(collection, agent, report, own)
    report.sessions_indexed += index_rows.store_index(agent.db, kept)
    # With somebody opted out it is read every time: the setting may have changed since.
    if not collection.opted_out:
        collection.book.save_read(path, stat, how, agent_id=agent.agent_id, kind=Kind.SESSION_INDEX)


def _left_out(collection, agent, removed):
    """Which sessions are left out, as a text: what is said of an index follows from it as well."""
    return "\n".join(sorted(removed | collection.ignored.get(agent.agent_id, frozenset())))


def _is_indexed(collection, found, source):
    """Whether an index of the agent was read in this import."""
    return source.was_opened or find_index_path(found) in collection.indexes


def _follow_report(collection, found, agent, *, is_indexed):
    """The agent with the workspace of its newest report, when its indexes were read now."""
    if found not in collection.home.agents:  # where it was before; its present place is read after that
        return found
    followed = found  # the newest report of all imports before was followed when the home was read
    if is_indexed or agent.workspace_reported_at is None:
        prompt_workspaces.store_none(agent)
        followed = follow_reported_workspace(collection.home, found, agent.reported_workspace)
    check_memory_folder(collection.home, followed)
    workspace = str(followed.workspace.resolve()) if followed.workspace else ""
    if agent.workspace != workspace:
        if followed.workspace and collection.book.has_other_files(followed.workspace, agent.agent_id):
            collection.moved.add(agent.agent_id)
        agent.workspace = workspace
        agent.save(update_fields=["workspace"])
    collection.home.agents[collection.home.agents.index(found)] = followed
    return followed


def _workspace(collection, folder, agent, report):
    for entry in list(workspaces.find_entries(folder, report.notes)):
        try:
            stat = entry.path.lstat()
        except OSError:
            report.notes.append(describe_gone(entry.name))
            continue
        if collection.book.is_known(Kind.WORKSPACE_FILE, entry.path, stat, agent_id=agent.agent_id):
            continue
        try:
            data = workspaces.read_content(folder, entry)
        except NotReadable as exc:
            report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": entry.name, "reason": exc})
            continue
        # What a file holds in another workspace comes after what it held in the one before, whenever it was written.
        moment = now_ms() if agent.agent_id in collection.moved else modified_ms(entry.mtime_ns)
        kept = guardian.store_version(agent.db, entry.name, data, modified_ms=moment)
        report.file_versions += kept
        collection.book.save(Kind.WORKSPACE_FILE, entry.path, stat, agent_id=agent.agent_id, offset=len(data))
