"""Whose conversations may be read. With somebody opted out, what cannot be told apart is not read."""

import os
from collections.abc import Callable
from dataclasses import replace

from django.utils.translation import gettext as _

from agents.homes import NotReadable, open_regular
from ledger.collectors import session_index
from ledger.collectors.senders import is_of
from ledger.collectors.session_index import IndexEntry
from ledger.models import Session
from ledger.transcripts import origins

MAX_INDEX_BYTES = 64 * 1024 * 1024


def has_opted_out(entry: IndexEntry, opted_out: frozenset[str]) -> bool:
    """A direct conversation is its person's: with them opted out, none of it is kept."""
    return entry.origin == "direct" and is_of({entry.target, *origins.people_in(entry.metadata)}, opted_out)


def reader(collection, found, agent, report, in_database: list[IndexEntry]) -> Callable[[str], bool]:
    """A function that says of a session whether its transcript may be read; `in_database` is its database's index.

    With nobody opted out: yes. Else only when the index of now, or what the index said earlier, names the session
    and it is not a direct conversation with somebody who opted out.
    """
    if not collection.opted_out:
        return lambda session_id: True
    named_now = [*in_database, *entries(collection, found, report, in_database)]
    withheld = {entry.session_id for entry in named_now if has_opted_out(entry, collection.opted_out)}
    named = {entry.session_id for entry in named_now} | _named_before(agent, collection.opted_out)

    def may_read(session_id):
        report.unnamed_sessions += session_id not in named
        return session_id in named and session_id not in withheld

    return may_read


def kept(collection, agent, report, entries: list[IndexEntry]) -> list[IndexEntry]:
    """The entries of a session index that may be stored."""
    wanted = [entry for entry in entries if not has_opted_out(entry, collection.opted_out)]
    report.opted_out_sessions += len(entries) - len(wanted)
    ignored = collection.ignored.get(agent.agent_id, frozenset())
    kept_entries = [entry for entry in wanted if entry.session_id not in ignored]
    return [untitled(entry) for entry in kept_entries] if collection.opted_out else kept_entries


def untitled(entry):
    """A shared session without a title that OpenClaw may have made of the first message, whoever sent that."""
    if entry.origin in origins.ALONE:
        return entry
    own = (f"{entry.channel}:", f"{entry.origin}:")
    metadata = {
        name: value
        for name, value in entry.metadata.items()
        if name not in session_index.MADE_OF_WORDS or str(value).startswith(own)
    }
    return replace(entry, label=session_index.title_in(metadata), metadata=metadata)


def without_ignored(collection, agent, report, may_read: Callable[[str], bool]) -> Callable[[str], bool]:
    """`may_read` without the sessions that `doctor --undo` took out: they stay out."""
    ignored = collection.ignored.get(agent.agent_id, frozenset())
    if not ignored:
        return may_read
    met: set[str] = set()

    def may_read_now(session_id):
        if session_id in ignored:
            met.add(session_id)
            report.ignored_sessions = len(met)
            return False
        return may_read(session_id)

    return may_read_now


def entries(collection, found, report, in_database) -> list[IndexEntry]:
    """What sessions.json says now; nothing, with a note, when it cannot be read."""
    path = found.index
    if path is None or (in_database and not os.path.lexists(path)):
        return []
    try:
        with open_regular(collection.home.root, path) as file:
            return list(session_index.read(file.read(MAX_INDEX_BYTES)))
    except (NotReadable, ValueError):
        report.notes.append(
            _("Somebody opted out and sessions.json is not readable: new conversations are imported only once it is.")
        )
        return []


def _named_before(agent, opted_out):
    rows = Session.objects.using(agent.db).filter(session_key__isnull=False)
    known = rows.only("id", "session_key", "origin", "conversation_target", "metadata")
    return {session.id for session in known.iterator() if not origins.is_with(session, opted_out)}
