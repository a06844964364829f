"""Tunes connections: how long a writer waits, and how much it expects to write."""

import threading

from django.db import connections

from . import statements

settings_lock = threading.RLock()


def wait_for_writers(seconds):
    """Let this process wait `seconds` for another writer.

    Jobs and commands wait longer than requests.
    """
    with settings_lock:
        connections.settings = {
            name: {**entry, "OPTIONS": {**entry["OPTIONS"], "timeout": seconds}}
            for name, entry in connections.settings.items()
        }
    for connection in connections.all(initialized_only=True):
        connection.close()
        del connections[connection.alias]  # an open connection keeps the settings it was opened with


def expect_many_writes(name):
    """Let the -wal of this connection grow before its pages move to the file.

    A page that is written often then moves once.
    """
    statements.run(name, "PRAGMA wal_autocheckpoint=4096")
    statements.run(name, "PRAGMA cache_size=-24576")


def expect_little_room(name):
    """Keep the -wal of this connection short, because the disk is nearly full.

    `shorten_log` empties it.
    """
    statements.run(name, "PRAGMA wal_autocheckpoint=32")


def shorten_log(name):
    """Move the content of the -wal to the file, and shrink the -wal.

    Pages that a reader still needs remain.
    """
    statements.read_rows(name, "PRAGMA wal_checkpoint(TRUNCATE)")


def expect_few_writes(name):
    """Undo `expect_many_writes` or `expect_little_room`, and give the memory back."""
    statements.run(name, "PRAGMA wal_autocheckpoint=1000")
    statements.run(name, "PRAGMA cache_size=-2000")
    give_memory_back(name)


def give_memory_back(name):
    """Drop the page cache of this connection.

    When many files are read in turn, each would keep its own cache.
    """
    statements.run(name, "PRAGMA shrink_memory")
