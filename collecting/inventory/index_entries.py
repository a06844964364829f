"""Explains every key of a session index that leads to no records."""

from collections.abc import Iterable
from pathlib import Path

from agents.homes import HomeAgent
from agents.models import Agent, SkippedSource
from agents.services import normalise_agent_id
from agents.skipped_sources import Kind, Reason, SkippedItem
from ledger import index_rows
from ledger.collectors.session_index import IndexEntry, get_file_name, read_entries
from ledger.models import Session, TrajectoryEvent
from openclaw_web.errors import Refused

from .file_outcomes import FileOutcomes

BATCH = 500
OWNER = "agent"


def explain_entries(
    entries: Iterable[IndexEntry],
    unusable: Iterable[str],
    *,
    home_agent: HomeAgent,
    agent: Agent,
    accounts: FileOutcomes,
    reasons: dict[str, str],
    owners: dict[str, str],
) -> list[SkippedItem]:
    """The keys without records here, with reasons; sessions of removed runs are none.

    `reasons` are those of sessions that are excluded on purpose. `owners` are agents that have the transcripts of keys
    in a folder that they share.
    """
    entries = list(entries)
    full = _find_with_records(agent, [entry.session_id for entry in entries])
    by_session, by_name = accounts.reasons_by_session() | reasons, accounts.reasons_by_name()
    named = [SkippedItem(Kind.INDEX_ENTRY, key, Reason.UNUSABLE) for key in unusable]
    for entry in entries:
        for key, file in entry.files.items():
            elsewhere = owners.get(key) or _find_other_folder(file, home_agent)
            if owner := (_find_other_owner(key, home_agent) if entry.session_id in full else elsewhere):
                named.append(SkippedItem(Kind.INDEX_ENTRY, key, Reason.OTHER_AGENT, owner, entry.session_id))
            elif entry.session_id not in full:
                reason = by_session.get(entry.session_id) or by_name.get(get_file_name(file))
                lost = Reason.REMOVED_RUN if entry.origin == "cron" else Reason.NO_RECORDS
                reason = reason or (Reason.EMPTY if _is_read(home_agent, entry, file) else lost)
                named.append(SkippedItem(Kind.INDEX_ENTRY, key, reason, get_file_name(file), entry.session_id))
    runs = [item.session_id for item in named if item.reason == Reason.REMOVED_RUN]
    for start in range(0, len(runs), BATCH):
        rows = Session.objects.using(agent.db).filter(id__in=runs[start : start + BATCH], record_count=0)
        rows.exclude(id__in=TrajectoryEvent.objects.using(agent.db).values("session_id")).delete()
    return named


def is_elsewhere(entry: IndexEntry, home_agent: HomeAgent) -> bool:
    """Whether all transcripts of an entry are in the folders of other agents."""
    return bool(entry.files) and all(_find_other_folder(file, home_agent) for file in entry.files.values())


def find_kept_entries(rows: Iterable[SkippedSource], agent: Agent) -> list[SkippedItem]:
    """Noted entries of an index that was not read now, without sessions that have records."""
    rows = [row for row in rows if row.kind == Kind.INDEX_ENTRY]
    full = _find_with_records(agent, [row.session_id for row in rows])
    return [
        SkippedItem(Kind.INDEX_ENTRY, row.path, row.reason, row.detail, row.session_id)
        for row in rows
        if row.reason == Reason.OTHER_AGENT or row.session_id not in full
    ]


def _find_with_records(agent, session_ids):
    full: set[str] = set()
    for start in range(0, len(session_ids), BATCH):
        rows = Session.objects.using(agent.db).filter(id__in=session_ids[start : start + BATCH], record_count__gt=0)
        full.update(rows.values_list("id", flat=True))
    return full


def _find_other_owner(key, home_agent):
    """The agent that a key names, when the transcript is in another agent's folder."""
    parts = key.split(":", 2)
    if len(parts) < 3 or parts[0] != OWNER:
        return ""
    return parts[1] if _normalise_id(parts[1]) != _normalise_id(home_agent.home_name) else ""


def _find_other_folder(file, home_agent):
    """The other agent whose folder contains the named transcript; empty when there is none."""
    parts = file.replace("\\", "/").split("/")
    if home_agent.folder is None or len(parts) < 4 or parts[-4] != "agents" or parts[-2] != "sessions":
        return ""
    folder, name = parts[-3], parts[-1]
    is_own = any((place / name).exists() for place in home_agent.session_folders)
    if folder == home_agent.home_name or folder in ("", ".", "..") or is_own:
        return ""
    path = home_agent.folder.parent / folder / "sessions" / name
    return folder if path.is_file() and not path.is_symlink() else ""


def _is_read(home_agent, entry, file):
    names = (get_file_name(file), f"{entry.session_id}.jsonl")
    return any(name and (folder / name).is_file() for name in names for folder in home_agent.session_folders)


def _normalise_id(name: str) -> str:
    try:
        return normalise_agent_id(name)
    except Refused:
        return name


def store_other_keys(root: Path, agents: dict[str, Agent], entries: Iterable[IndexEntry]) -> list[Agent]:
    """Give sessions the keys from indexes of other agents; returns the changed agents.

    `agents` are by their names in the home, `entries` are the entries of these indexes that were read now.
    """
    rows = SkippedSource.objects.filter(root=str(root), kind=Kind.INDEX_ENTRY, reason=Reason.OTHER_AGENT)
    full = {key: entry for entry in entries for key in entry.files}
    changed = {}
    for row in rows.order_by("path").iterator(BATCH):
        agent = agents.get(row.detail)
        if agent is None or not _is_nameless(agent, row.session_id):
            continue
        entry = full.get(row.path) or next(read_entries({row.path: {"sessionId": row.session_id}}), None)
        if entry is not None:
            index_rows.store_index(agent.db, [entry])
            changed[agent.agent_id] = agent
    return list(changed.values())


def _is_nameless(agent, session_id):
    rows = Session.objects.using(agent.db).filter(id=session_id, session_key__isnull=True, record_count__gt=0)
    return rows.exists()
