"""Writers of one file take turns: short transactions of many people, each after the one that asked before it."""

import threading
from contextlib import ExitStack, contextmanager

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction

from ..disk import locks

_turn = threading.Lock()
_turns: dict[str, threading.Lock] = {}  # of agents' files


@contextmanager
def global_transaction():
    """A durable transaction on the global file. Inside it only what is short: everybody who labels waits for it.

    SQLite lets those who wait try again after longer and longer pauses, whoever came first: with many threads some
    wait for seconds. Here the threads of a process queue, and the first of each queue waits for the other processes.
    Raises OperationalError for whoever stands in the queue for longer than a connection waits for a writer.
    """
    with _first_of(_turn, DEFAULT_DB_ALIAS), locks.lock("turn.lock"), transaction.atomic(durable=True):
        yield


@contextmanager
def agent_transaction(db):
    """The same for an agent's file; for whoever is inside a transaction already, a part of that."""
    if connections[db].in_atomic_block:
        with transaction.atomic(using=db):
            yield
        return
    turn = _turns.setdefault(db, threading.Lock())
    with _first_of(turn, db), locks.lock(f"turn-{db}.lock"), transaction.atomic(using=db):
        yield


@contextmanager
def both_transactions(db):
    """A durable transaction on the global file and one on an agent's, which is committed first."""
    with ExitStack() as stack, agent_transaction(db):  # first, as whoever else needs both
        stack.enter_context(global_transaction())
        yield


@contextmanager
def _first_of(turn, db):
    if not turn.acquire(timeout=connections[db].settings_dict["OPTIONS"].get("timeout", 5)):
        raise OperationalError("database is locked")
    try:
        yield
    finally:
        turn.release()
