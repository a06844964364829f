"""Writers of the global file take turns: short transactions of many people, each after the one that asked before it."""

import threading
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

from ..disk import locks

_turn = threading.Lock()


@contextmanager
def in_turn():
    """A durable transaction on the global file. Inside it only what is short: everybody who labels waits for it.

    SQLite lets those who wait try again after longer and longer pauses, whoever came first: with many threads some
    wait for seconds. Here the threads of a process queue, and the first of each queue waits for the other processes.
    Raises OperationalError for whoever stands in the queue for longer than a connection waits for a writer.
    """
    if not _turn.acquire(timeout=connection.settings_dict["OPTIONS"].get("timeout", 5)):
        raise OperationalError("database is locked")
    try:
        with locks.lock("turn.lock"), transaction.atomic(durable=True):
            yield
    finally:
        _turn.release()
