"""Imports extras of an agent: run steps, bundles, the memory index and other contents."""

import os
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _

from agents.homes import NEVER_FOLDERS, NEVER_NAMES, NotReadable, is_folder, list_names, open_regular, stat_regular
from agents.models import CollectorSource
from agents.skipped_sources import Reason
from agents.sources import HEAD, DatabasePart
from ledger.collectors import database_extras, jsonl, trajectories
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.database_tables import MEMORY
from ledger.collectors.records import parse_moment_ms
from ledger.collectors.session_index import SESSION_ID
from ledger.transcripts import extras_store as store

from ..inventory.file_names import TRAJECTORY
from . import source_databases
from .guard import contain_failures
from .source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
BUNDLES = (".openclaw", "trajectory-exports")
MANIFEST, EVENTS = "manifest.json", "events.jsonl"  # of a bundle
MEMORY_FOLDER = "memory"  # the folder of a home with the memory index of older versions
MAX_MANIFEST, MAX_PART = 4 * 1024 * 1024, 64 * 1024 * 1024
PARTS = {"system-prompt.txt": store.SYSTEM_PROMPT, "tools.json": store.TOOL_SCHEMAS}
MAX_BUNDLES = 1_000


def collect_database(source: Any, may_read: Any) -> None:
    """Read the extras in an agent's open database."""
    with source.reading() as opened:
        if opened is None:
            return
        name = source.collection.book.name(source.path)
        for session_id, last in database_extras.read_last_step_seqs(opened).items():
            part = source.collection.book.part(f"{name}~{session_id}")
            start = part.end if part else 0
            if last >= start and may_read(session_id):
                with source.guarding(f"trajectory_runtime_events {session_id}"):
                    steps = database_extras.read_session_steps(opened, session_id, start)
                    store_steps(source.collection, source.report, source.agent.db, steps)
                    done = DatabasePart(last + 1, 0, "")
                    source.collection.book.save_part(f"{name}~{session_id}", done, agent_id=source.agent.agent_id)
        if opened.has("memory_index_sources"):
            with source.guarding("memory_index_sources"):
                rows = database_extras.read_indexed_files(opened)
                source.report.indexed_files += store.store_indexed_files(source.agent.db, name, rows)
        if any(opened.has(table) for table in store.ARTIFACT_KINDS):
            secrets = NEVER_NAMES | NEVER_FOLDERS
            with source.guarding("vfs_entries"):
                files = database_extras.read_database_files(opened)
                root = source.collection.contents
                count = store.store_database_files(source.agent.db, files, is_secret=secrets, root=root)
                source.report.contents += count


def collect_files(
    collection: Any, home_agent: Any, agent: Any, plan: Any, report: Any, may_read: Any, why_left: Any
) -> None:
    """Read trajectories beside transcripts, exported bundles, and the memory index of older versions."""
    sessions = {file.path: file.session_id for file in plan.candidates.transcripts}
    for path in plan.candidates.trajectories:
        # By the transcript that a trajectory belongs to.
        session_id = sessions.get(path.with_name(f"{get_session_id(path)}.jsonl")) or get_session_id(path)
        if not may_read(session_id):
            plan.accounts.skip(path, why_left(session_id), stat_regular(path), session_id=session_id)
            continue
        with contain_failures(report, path.name):
            _read_trajectory(collection, path, agent, plan, report)
    for folder in find_bundles(home_agent.workspace, report.notes):
        with contain_failures(report, folder.name):
            _read_bundle(collection, home_agent.workspace, folder, agent, report, may_read)
    memory = collection.home.root / MEMORY_FOLDER / f"{home_agent.home_name}.sqlite"
    if stat_regular(memory) and not source_databases.is_known(collection, memory):
        _read_memory_index(collection, memory, agent, report)


def store_steps(collection: Any, report: Any, db: str, steps: Any) -> None:
    """Store steps in a file, and count them in the report."""
    count, cut = store.store_steps(db, steps, root=collection.contents)
    report.steps += count
    report.cut_prompts += cut


def find_trajectories(sessions: Path | None, notes: list[str]) -> list[Path]:
    """Trajectories beside transcripts; `notes` as for `homes.list_names`."""
    paths = (sessions / name for name in list_names(sessions, notes) if TRAJECTORY.fullmatch(name))
    return [path for path in paths if stat_regular(path)]


def get_session_id(path: Path) -> str:
    """The session in the name of a trajectory."""
    match = TRAJECTORY.fullmatch(path.name)
    return match["id"] if match else ""


def find_bundles(workspace: Path | None, notes: list[str]) -> list[Path]:
    """The folders of exported bundles in a workspace; none behind a link."""
    if workspace is None:
        return []
    folder = workspace.joinpath(*BUNDLES)
    if not is_folder(folder) or folder.resolve() != workspace.resolve().joinpath(*BUNDLES):
        return []
    bundles = (folder / name for name in list_names(folder, notes))
    return [bundle for bundle in bundles if is_folder(bundle)][:MAX_BUNDLES]


def _read_trajectory(collection, path: Path, agent, plan, report):
    stat = stat_regular(path)
    if stat and collection.book.is_known(Kind.TRANSCRIPT, path, stat):
        return
    try:
        opened = open_regular(collection.home.root, path)
    except NotReadable as exc:
        report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": path.name, "reason": exc})
        plan.accounts.skip(path, Reason.UNREADABLE, stat, detail=str(exc))
        return
    with opened:
        stat = os.fstat(opened.fileno())
        reading = collection.book.find_position(Kind.TRANSCRIPT, path, opened)
        opened.seek(0)
        head = opened.read(HEAD)
        lines = jsonl.read_lines(opened, reading.offset, take=reading.tail.take)
        store_steps(collection, report, agent.db, trajectories.read_steps(lines))
    collection.book.save_appended(Kind.TRANSCRIPT, path, stat, agent_id=agent.agent_id, head=head, tail=reading.tail)
    plan.accounts.note_read(path)


def _read_bundle(collection, workspace, folder: Path, agent, report, may_read):
    """Store the prompt and the tools of a bundle; its other parts are stored already.

    They are those of the session's last run before the bundle was created.
    """
    manifest = folder / MANIFEST
    stat = stat_regular(manifest)
    if stat is None or collection.book.is_known(Kind.TRANSCRIPT, manifest, stat):
        return
    try:
        with open_regular(workspace, manifest) as file:
            manifest_data = jsonl.load_object(file.read(MAX_MANIFEST))
        session_id = _find_session_id(manifest_data)
        at, meta = parse_moment_ms(manifest_data.get("generatedAt")), {"bundle": folder.name[:500]}
        if not session_id or not may_read(session_id):
            return
        if step := _find_last_compiled(workspace, folder / EVENTS):
            at, meta = step.created_at or at, {**meta, "run": step.run_id}
        for name, kind in PARTS.items():
            if stat_regular(folder / name):
                with open_regular(workspace, folder / name) as file:
                    content = file.read(MAX_PART)
                store.store_prompt(agent.db, session_id, kind, content, meta, at)
                report.contents += 1
    except (NotReadable, ValueError, orjson.JSONDecodeError) as exc:
        report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": folder.name, "reason": exc})
        return
    collection.book.save(Kind.TRANSCRIPT, manifest, stat, agent_id=agent.agent_id, offset=stat.st_size)


def _find_last_compiled(workspace, path):
    """The last step of a bundle with a model prompt; its files belong to it."""
    last = None
    if stat_regular(path):
        with open_regular(workspace, path) as file:
            for step in trajectories.read_steps(jsonl.read_lines(file)):
                last = step if step.type == trajectories.COMPILED else last
    return last


def _find_session_id(manifest):
    for holder in (manifest, manifest.get("session"), manifest.get("source")):
        for name in ("sessionId", "traceId"):
            value = holder.get(name) if isinstance(holder, dict) else None
            if isinstance(value, str) and SESSION_ID.fullmatch(value):
                return value
    return ""


def _read_memory_index(collection, path: Path, agent, report):
    stats, size = source_databases.read_stats(path), source_databases.get_copy_size(path)
    try:
        store_memory_index(collection, path, agent, report)
    except (UnreadableDatabase, DamagedDatabase) as exc:
        words = {"file": path.name, "reason": source_databases.describe_failure(exc)}
        report.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    collection.add_bytes(size)
    source_databases.note_read(collection, path, stats, agent.agent_id)


def store_memory_index(collection: Any, path: Path, agent: Any, report: Any) -> None:
    """Store the list of a memory index. Raises UnreadableDatabase and DamagedDatabase."""
    with source_databases.open_copy(collection, path, MEMORY) as opened:
        rows = database_extras.read_indexed_files(opened)
        report.indexed_files += store.store_indexed_files(agent.db, collection.book.name(path), rows)
