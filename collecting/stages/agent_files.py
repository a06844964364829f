"""Imports one agent of a home: session index, transcripts and workspace files."""

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
from agents.problems.workspaces import note_difference
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
from ..inventory.transcripts import Candidates, Identity, TranscriptFile, find_candidates, restore_file_states
from . import agent_database, consent, extras, holding_checks
from . import removals as collect_removed
from .transcripts import Transcripts, modified_ms

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE
# A session, the result of storing one of its sources, and the function that notes the source as read.
Read = tuple[str, transcript_store.StoreResult, Callable[[], None]]


@dataclass(slots=True)
class Plan:
    """The transcripts of an agent that have to be read, found without opening any."""

    candidates: Candidates
    accounts: FileOutcomes
    rows: list[SkippedSource] = field(default_factory=list)  # sources that the last import skipped
    to_read: list[TranscriptFile] = field(default_factory=list)
    renamed: list[TranscriptFile] = field(default_factory=list)
    unchanged: int = 0
    bytes_to_read: int = 0
    imported: list[TranscriptFile] = field(default_factory=list)
    short: set[str] = field(default_factory=set)  # sessions that are rebuilt from all their sources
    mended: frozenset[str] = frozenset()  # sessions that were rebuilt
    unsettled: list[Callable[[], None]] = field(default_factory=list)
    live: set[str] = field(default_factory=set)  # sessions with a file that OpenClaw writes
    database: agent_database.DatabasePlan = field(default_factory=lambda: agent_database.DatabasePlan(None))

    def note(self, book: SourceBook, agent: Any, read: list[Read]) -> None:
        """Note that sources were read.

        Sources of sessions that have to be rebuilt are noted after the rebuild.
        """
        settled = [each for each in read if not each[1].is_unsettled]
        for session_id, stored, save in read:
            if stored.is_unsettled:
                self.short.add(session_id)
                self.unsettled.append(save)
        with transaction.atomic(), book.save_together():
            holdings.note_holdings(agent.agent_id, [(name, stored.held, stored.added) for name, stored, _ in settled])
            for _name, _stored, save in settled:
                save()

    def settle(self) -> None:
        """Note the sources that waited for the rebuild of their sessions."""
        for save in self.unsettled:
            save()
        self.unsettled.clear()


def plan_agent(collection, home_agent, listing=None) -> Plan:
    """Compare the files of an agent with earlier imports."""
    agent = collection.agents[home_agent.home_name]
    candidates = find_candidates(collection, home_agent, listing)
    agent_plan = Plan(candidates, FileOutcomes(collection.home.root))
    agent_plan.database = agent_database.plan_database(collection, home_agent.database)
    agent_plan.rows = find_skipped(collection.home.root, agent.agent_id)
    agent_plan.bytes_to_read = agent_plan.database.bytes_to_read
    agent_plan.accounts.add(candidates.skipped)
    known_rows = {row.path: row for row in agent_plan.rows if row.kind == Skip.FILE}
    rows = restore_file_states(collection, candidates.transcripts, known_rows)
    for file, row in zip(candidates.transcripts, rows, strict=True):
        if file.is_certain and file.state == LIVE:
            agent_plan.live.add(file.session_id)
        if row is not None and row.reason == Reason.NOT_TRANSCRIPT:
            agent_plan.accounts.skip(file.path, row.reason, file.stat)
        elif file.is_imported:
            agent_plan.imported.append(file)
        elif file.state != LIVE and not collection.include_deleted and (file.hint.is_matched or row or file.is_known):
            agent_plan.renamed.append(file)
        else:
            _plan_file(collection, agent_plan, file)
    return agent_plan


def _plan_file(collection, plan, file):
    if file.is_known:
        plan.unchanged += 1
        return
    plan.to_read.append(file)
    offset = collection.book.offset(Kind.TRANSCRIPT, file.path)
    plan.bytes_to_read += file.stat.st_size - (offset if offset <= file.stat.st_size else 0)


def _follow_index(collection, home_agent, agent, plan, source, identity):
    """Update the plan from indexes that were read now: files that they name are live."""
    if not _is_indexed(collection, home_agent, source):
        return
    is_whole = home_agent.database is None or source.was_opened
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


def collect(collection, home_agent, agent, plan, report) -> None:
    """Read the planned sources into the agent's file, and fill the report."""
    is_first = agent.workspace_reported_at is None
    removed = removal.read_all_removed_ids(agent.db)
    _store_index(collection, home_agent, agent, plan, report, removed)
    was_listed = report.sessions_indexed > 0  # by a session index; the windows of a database are no list
    with agent_database.open_source(collection, plan, agent, report) as source:
        if source.was_opened:
            source.read_index()
        is_indexed = _is_indexed(collection, home_agent, source)
        home_agent = _follow_report(collection, home_agent, agent, is_indexed=is_indexed)
        reader = consent.build_permission(collection, home_agent, agent, report, source.entries)
        may_read = consent.exclude_ignored(collection, agent, report, reader)
        holding_checks.note_removed(agent)
        identity = _build_identity_getter(collection, home_agent, source)
        _follow_index(collection, home_agent, agent, plan, source, identity)
        report.transcripts["unchanged"] += plan.unchanged
        removed_count = len(removed)
        source.short, source.mended = plan.short, plan.mended
        may_read = collect_removed.exclude_removed(removed, may_read) if removed else may_read
        if source.was_opened:
            source.read_archives(may_read)
        to_read = collect_removed.filter_files(collection, agent, plan, removed, report) if removed else plan.to_read
        why_left = partial(_find_skip_reason, collection, agent, removed, reader)
        files = Transcripts(collection, agent, plan, source, report, may_read, why_left, removed, identity)
        files.read(to_read)
        if source.was_opened:
            collect_removed.filter_transcripts(source, removed)
            source.read_transcripts(may_read)  # last: the database is newer than the files that it was made from
        if len(removed) < removed_count:
            _store_index_again(collection, home_agent, agent, plan, source, report, removed)
        if source.was_opened:
            extras.collect_database(source, may_read)
    if _has_extras(collection, home_agent, plan):
        extras.collect_files(collection, home_agent, agent, plan, report, may_read, why_left)
    _read_leftovers(collection, plan, files, report)
    _mark_renamed(collection, agent, plan, source, report)
    _store_workspace_files(collection, home_agent.workspaces, agent, report)
    is_unlisted = is_indexed and not (was_listed or report.opted_out_sessions or source.has_nodes)
    if is_first and is_unlisted and report.records:
        sentence = _(
            "OpenClaw's list of the sessions of %(agent)s is empty, although there are records: they were imported "
            "with as much of their keys and titles as other tables have. Some upgrades of OpenClaw leave the list "
            "empty (openclaw#130141)."
        )
        report.notes.append(sentence % {"agent": home_agent.home_name})
    _set_outcomes(collection, home_agent, agent, plan, source, reader, removed)


def _has_extras(collection, home_agent, plan):
    """Whether an agent has trajectories, bundles or a memory index, by names."""
    folders = home_agent.workspace and home_agent.workspace.joinpath(*extras.BUNDLES)
    places = (folders, collection.home.root / extras.MEMORY_FOLDER / f"{home_agent.home_name}.sqlite")
    return bool(plan.candidates.trajectories) or any(place and os.path.lexists(place) for place in places)


def _find_skip_reason(collection, agent, removed, reader, session_id):
    """The reason why the transcripts of a session are not read."""
    if session_id in collection.ignored.get(agent.agent_id, frozenset()):
        return Reason.UNDONE
    if session_id in removed:
        return Reason.REMOVED
    return Reason.OPTED_OUT if session_id in reader.withheld else Reason.UNNAMED


def _build_identity_getter(collection, home_agent, source):
    """A function that returns the identity of the agent's files; it reads the indexes once."""
    identities: list[Identity] = []

    def identity():
        if not identities:
            entries = [*read_index(collection, home_agent).entries, *source.entries]
            identities.append(Identity(entries, home_agent.sessions))
        return identities[0]

    return identity


def _read_leftovers(collection, plan, files, report):
    """Read files that OpenClaw imported into its database, for sessions that the database lost."""
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
    """Mark sessions whose only files were renamed as reset or deleted."""
    live = {file.session_id for file in plan.candidates.transcripts if file.state == LIVE} | source.live
    for file in plan.renamed:
        if not file.is_known:
            plan.accounts.skip(file.path, file.state, file.stat, session_id=file.session_id)
        if file.path.name in source.names:  # noted when the database was read
            continue
        report.transcripts[f"skipped_{file.state}"] += 1
        if file.session_id and file.session_id not in live:
            transcript_store.mark_state(agent.db, file.session_id, file.state)


def read_remaining(collection, home_agent, agent, mended, report) -> Plan:
    """Continue reading the sources of rebuilt sessions."""
    rest_report, agent_plan = type(report)(), plan_agent(collection, home_agent)
    agent_plan.mended = frozenset(mended)
    collect(collection, home_agent, agent, agent_plan, rest_report)
    agent_plan.settle()
    report.records += rest_report.records
    report.rejected += rest_report.rejected
    report.withheld += rest_report.withheld
    report.notes += [note for note in rest_report.notes if note not in report.notes]
    return agent_plan


def _set_outcomes(collection, home_agent, agent, plan, source, reader, removed):
    """Set the outcome of every file and index key: read, or skipped with a reason."""
    accounts, path = plan.accounts, find_index_path(home_agent)
    index = collection.indexes.get(path) if path else None
    index = filter_own_index(collection, home_agent, index) if index else None
    if index is not None and index.problem:
        accounts.skip(path, Reason.FAILED, path.lstat() if path.exists() else None, detail=index.problem)
    elif path is not None:
        accounts.note_read(path)
    if home_agent.database is not None and (plan.database.is_unchanged or source.was_opened):
        accounts.note_read(home_agent.database)
    elif home_agent.database is not None:
        accounts.skip(home_agent.database, Reason.FAILED, source.stats and source.stats[0], detail=source.problem)
    accounts.close(plan.candidates.listing, collection.book)
    reasons = (
        source.skipped_archives
        | dict.fromkeys(reader.withheld, Reason.OPTED_OUT)
        | dict.fromkeys(removed, Reason.REMOVED)
    )
    reasons |= dict.fromkeys(collection.ignored.get(agent.agent_id, ()), Reason.UNDONE)
    entries = [*(index.entries if index else ()), *source.index_entries]
    unusable = [*(index.unusable if index else ()), *source.unusable]
    if entries or unusable:
        options = {"home_agent": home_agent, "agent": agent, "accounts": accounts, "reasons": reasons}
        options["owners"] = find_other_owners(collection, home_agent, entries)
        accounts.entries = {each.path: each for each in index_entries.explain_entries(entries, unusable, **options)}
    accounts.keys = {key for entry in entries for key in entry.files} | set(unusable)
    is_read = (path is None or index is not None) and (home_agent.database is None or source.was_opened)
    accounts.is_complete = is_read


def merge_outcomes(agent: Any, plans: list[Plan], report: Any, odd: list[SkippedItem]) -> None:
    """Combine the outcomes of all parts of an agent; `odd` are its unread places."""
    accounts = FileOutcomes(plans[0].accounts.root, is_complete=True)
    for each in plans:
        accounts.merge(each.accounts)
    accounts.add(odd)
    if not accounts.is_complete:
        noted_entries = index_entries.find_kept_entries(plans[0].rows, agent)
        accounts.entries |= {each.path: each for each in noted_entries if each.path not in accounts.keys}
    report.files, report.skipped = accounts.as_json(), accounts.list_skipped()


def _store_index_again(collection, home_agent, agent, plan, source, report, removed):
    """Store index entries of removed sessions that have new records and are back."""
    earlier_counts = report.sessions_indexed, report.opted_out_sessions
    _store_index(collection, home_agent, agent, plan, report, removed, also_known=True)
    source.read_index()
    report.sessions_indexed, report.opted_out_sessions = earlier_counts


def _store_index(collection, home_agent, agent, plan, report, removed, *, also_known=False):
    """Update sessions from a changed sessions.json, without people who opted out."""
    path = find_index_path(home_agent)
    if path is None:
        return
    try:
        stat = path.lstat()
    except OSError:
        report.notes.append(describe_gone(path.name))
        return
    # The result of reading an index depends on the excluded sessions.
    how = "\n".join(sorted(removed | collection.ignored.get(agent.agent_id, frozenset())))
    about = {"agent_id": agent.agent_id, "kind": Kind.SESSION_INDEX}
    is_looked_at = agent.workspace_reported_at is not None and not also_known
    if is_looked_at and collection.book.was_read(path, stat, how, **about):
        return
    name = collection.book.name(path)
    row = next((row for row in plan.rows if (row.kind, row.path) == (Skip.FILE, name)), None)
    index = filter_own_index(collection, home_agent, read_index(collection, home_agent, row))
    if index.problem:
        transcript_store.store_rejected_lines(
            agent.db, name, [Line(0, stat.st_size, b"", None, "bad_index", index.problem)]
        )
        report.rejected["bad_index"] += 1
        return
    prompt_workspaces.store_newest(agent, home_agent.home_name, index.entries)
    own = [entry for entry in index.entries if not index_entries.is_elsewhere(entry, home_agent)]
    collection.elsewhere += [entry for entry in index.entries if index_entries.is_elsewhere(entry, home_agent)]
    storable = consent.filter_entries(collection, agent, report, own)
    report.sessions_indexed += index_rows.store_index(agent.db, storable)
    # With somebody opted out, the index is read every time: the setting may have changed since.
    if not collection.opted_out:
        collection.book.save_read(path, stat, how, agent_id=agent.agent_id, kind=Kind.SESSION_INDEX)


def _is_indexed(collection, home_agent, source):
    """Whether an index of the agent was read in this import."""
    return source.was_opened or find_index_path(home_agent) in collection.indexes


def _follow_report(collection, home_agent, agent, *, is_indexed):
    """The agent with the workspace of its newest report, if its indexes were read now."""
    if home_agent not in collection.home.agents:  # a former place of the agent; its present place is read afterwards
        return home_agent
    followed = home_agent  # reports of earlier imports were followed when the home was read
    if is_indexed or agent.workspace_reported_at is None:
        prompt_workspaces.store_none(agent)
        followed = follow_reported_workspace(collection.home, home_agent, agent.reported_workspace)
    check_memory_folder(collection.home, followed)
    note_difference(agent, followed)
    workspace = str(followed.workspace.resolve()) if followed.workspace else ""
    if agent.workspace != workspace:
        if followed.workspace and collection.book.has_other_files(followed.workspace, agent.agent_id):
            collection.moved.add(agent.agent_id)
        agent.workspace = workspace
        agent.save(update_fields=["workspace"])
    collection.home.agents[collection.home.agents.index(home_agent)] = followed
    return followed


def _store_workspace_files(collection, folders, agent, report):
    for entry in list(workspaces.find_entries(folders, report.notes)):
        try:
            stat = entry.path.lstat()
        except OSError:
            report.notes.append(describe_gone(entry.name))
            continue
        if collection.book.is_known(Kind.WORKSPACE_FILE, entry.path, stat, agent_id=agent.agent_id):
            continue
        try:
            data = workspaces.read_content(entry)
        except NotReadable as exc:
            report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": entry.name, "reason": exc})
            continue
        # Versions from a new workspace come after those from the former one, whenever they were written.
        moment = now_ms() if agent.agent_id in collection.moved else modified_ms(entry.mtime_ns)
        added = guardian.store_version(agent.db, entry.name, data, modified_ms=moment)
        report.file_versions += added
        collection.book.save(Kind.WORKSPACE_FILE, entry.path, stat, agent_id=agent.agent_id, offset=len(data))
