"""Tells the indexes of texts that changed after they were stored."""

from collections.abc import Collection

from django.db import DatabaseError, OperationalError, transaction

from agents import databases
from openclaw_web.sqlite import word_index

from .fill import DRAFT, FILE, STALE

SOURCES = {"decision", "write"}  # of those that are told


def note(db: str, source: str, ids: Collection[str]) -> None:
    """Have these rows of an agent read again, once the transaction that changes them is complete."""
    if source in SOURCES:
        transaction.on_commit(lambda: _tell(db, lambda index: index.note_changed(source, ids)), using=db)


def forget_sessions(db: str, session_ids: Collection[str]) -> None:
    """Have the records of these sessions read from the first one again, because they were replaced."""
    _tell(db, lambda index: index.forget("record", session_ids))


def _tell(db, act):
    """Tell the index and the one that is being built; one that cannot be told is built anew."""
    for name in (FILE, DRAFT):
        file = databases.get_path(db.removeprefix("agent_")).with_name(name)
        try:
            with word_index.open_index(file) as index:
                if index:
                    act(index)
        except OperationalError:  # another process writes to it
            file.with_name(STALE).touch(mode=0o600)
        except DatabaseError:  # damaged
            word_index.remove_index(file)
