"""Writers of the global file take turns: short transactions of many people, each after the one that asked before it."""

import fcntl
import os
import threading
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, connection, transaction

_turn = threading.Lock()


@contextmanager
def writing():
    """A durable transaction on the global file. Inside it only what is short: everybody who labels waits for it.

    SQLite lets those who wait try again after longer and longer pauses, whoever came first: with many threads some
    wait for seconds. Here the threads of a process queue, and the first of each queue waits for the other processes.
    Raises OperationalError for whoever stands in the queue for longer than a connection waits for a writer.
    """
    if not _turn.acquire(timeout=connection.settings_dict["OPTIONS"].get("timeout", 5)):
        raise OperationalError("database is locked")
    try:
        with _turn_of_this_process(), transaction.atomic(durable=True):
            yield
    finally:
        _turn.release()


@contextmanager
def _turn_of_this_process():
    # Opened anew each time: a descriptor that a fork inherited would share the lock with its parent.
    handle = os.open(settings.HOME_DIR / "state" / "turn.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # and so the lock is given up, as the kernel does for a process that is killed
