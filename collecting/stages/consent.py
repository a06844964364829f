"""Decides which conversations may be read. With opt-outs, unidentified conversations are not read."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.collectors import session_index
from ledger.collectors.senders import is_opted_out
from ledger.collectors.session_index import IndexEntry
from ledger.models import Session
from ledger.transcripts import origins

from ..inventory.indexes import find_index_path, read_index
from ..inventory.shared_folders import filter_own_index


def has_opted_out(entry: IndexEntry, opted_out: frozenset[str]) -> bool:
    """Whether an entry is a direct conversation with a person who opted out."""
    return entry.origin == "direct" and is_opted_out({entry.target, *origins.find_people(entry.metadata)}, opted_out)


@dataclass(slots=True)
class ReadPermission:
    """Decides whether a session's transcript may be read; without `named`, every one may."""

    report: Any
    named: set[str] | None = None
    withheld: set[str] = field(default_factory=set)  # direct conversations with people who opted out

    def __call__(self, session_id: str) -> bool:
        if self.named is None:
            return True
        self.report.unnamed_sessions += session_id not in self.named
        return session_id in self.named and session_id not in self.withheld


def build_permission(collection, home_agent, agent, report, in_database: list[IndexEntry]) -> ReadPermission:
    """Build the permission to read transcripts; `in_database` is the index of the agent's database.

    Without opt-outs every transcript may be read. Otherwise the current index or an earlier one has to name the
    session, and it must not be a direct conversation with somebody who opted out.
    """
    if not collection.opted_out:
        return ReadPermission(report)
    current = [*in_database, *read_entries(collection, home_agent, report, in_database)]
    withheld = {entry.session_id for entry in current if has_opted_out(entry, collection.opted_out)}
    named = {entry.session_id for entry in current} | find_named(agent, collection.opted_out)
    return ReadPermission(report, named, withheld)


def filter_entries(collection, agent, report, entries: list[IndexEntry]) -> list[IndexEntry]:
    """The entries of a session index that may be stored."""
    allowed = [entry for entry in entries if not has_opted_out(entry, collection.opted_out)]
    report.opted_out_sessions += len(entries) - len(allowed)
    ignored = collection.ignored.get(agent.agent_id, frozenset())
    storable = [entry for entry in allowed if entry.session_id not in ignored]
    return [remove_title(entry) for entry in storable] if collection.opted_out else storable


def remove_title(entry):
    """Remove titles of a shared session that OpenClaw may have made of a message."""
    if entry.origin in origins.ONE_PERSON_ORIGINS:
        return entry
    metadata = {
        name: value
        for name, value in entry.metadata.items()
        if name not in session_index.MODEL_TEXT_FIELDS or is_own_title(entry, value)
    }
    return replace(entry, label=session_index.find_title(metadata), metadata=metadata)


def is_own_title(entry: IndexEntry, value: Any) -> bool:
    """Whether a title of a session is made of the name of its place, not of anybody's words."""
    return str(value).startswith((f"{entry.channel}:", f"{entry.origin}:"))


def exclude_ignored(collection, agent, report, may_read: Callable[[str], bool]) -> Callable[[str], bool]:
    """Wrap `may_read` to exclude sessions that `doctor --undo` removed."""
    ignored = collection.ignored.get(agent.agent_id, frozenset())
    if not ignored:
        return may_read
    excluded: set[str] = set()

    def may_read_now(session_id):
        if session_id in ignored:
            excluded.add(session_id)
            report.ignored_sessions = len(excluded)
            return False
        return may_read(session_id)

    return may_read_now


def read_entries(collection, home_agent, report, in_database) -> list[IndexEntry]:
    """The entries of the current sessions.json; none, with a note, when it is unreadable."""
    path = find_index_path(home_agent)
    if home_agent.index is None or (in_database and path is None):
        return []
    index = filter_own_index(collection, home_agent, read_index(collection, home_agent))
    if collection.opted_out and (path is None or index.problem):
        report.notes.append(
            _("Somebody opted out and sessions.json is not readable: new conversations are imported only once it is.")
        )
    return index.entries


def find_named(agent: Agent, opted_out: frozenset[str]) -> set[str]:
    """The sessions of a store that some index named, without those with people who opted out."""
    rows = Session.objects.using(agent.db).filter(session_key__isnull=False)
    known = rows.only("id", "session_key", "origin", "conversation_target", "metadata")
    return {session.id for session in known.iterator() if not origins.is_direct_with(session, opted_out)}
