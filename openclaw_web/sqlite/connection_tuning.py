"""How long a writer waits, and how much a connection expects to write."""

import threading

from django.db import connections

from . import statements

settings_lock = threading.RLock()


def wait_for_writers(seconds):
    """Let this process wait `seconds` for another writer: jobs and commands have more patience than requests."""
    with settings_lock:
        connections.settings = {
            name: {**entry, "OPTIONS": {**entry["OPTIONS"], "timeout": seconds}}
            for name, entry in connections.settings.items()
        }
    for connection in connections.all(initialized_only=True):
        connection.close()
        del connections[connection.alias]  # an open one keeps the settings it was made with


def expect_many_writes(name):
    """Let this connection write more before pages move from the -wal to the file: a hot page then moves once."""
    statements.run(name, "PRAGMA wal_autocheckpoint=4096")
    statements.run(name, "PRAGMA cache_size=-24576")


def expect_little_room(name):
    """Keep the -wal of this connection short: the disk is nearly full. `shorten_log` makes it empty."""
    statements.run(name, "PRAGMA wal_autocheckpoint=32")


def shorten_log(name):
    """Move what is in the -wal to the file and give its room back, as far as nobody reads it."""
    statements.read_rows(name, "PRAGMA wal_checkpoint(TRUNCATE)")


def expect_few_writes(name):
    """Undo `expect_many_writes` or `expect_little_room`, and give the memory back."""
    statements.run(name, "PRAGMA wal_autocheckpoint=1000")
    statements.run(name, "PRAGMA cache_size=-2000")
    give_memory_back(name)


def give_memory_back(name):
    """Forget the pages that this connection has read: of many files that are read in turn, each would keep its own."""
    statements.run(name, "PRAGMA shrink_memory")
