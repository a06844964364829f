"""Queues the writers of a file: short transactions, first come, first served."""

import threading
from contextlib import ExitStack, contextmanager

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction

from ..disk import locks

_turn = threading.Lock()
_turns: dict[str, threading.Lock] = {}  # by the alias of an agent's file


@contextmanager
def global_transaction():
    """A durable transaction on the global file, after all writers before it.

    The block must be short, because everybody who labels waits for it.

    SQLite lets waiting writers retry after longer and longer pauses, in no order: with many threads some wait for
    seconds. Here the threads of a process queue, and the first of each queue waits for the other processes. Raises
    OperationalError when the wait in the queue is longer than the timeout of the connection.
    """
    with _wait_in_queue(_turn, DEFAULT_DB_ALIAS), locks.lock("turn.lock"), transaction.atomic(durable=True):
        yield


@contextmanager
def agent_transaction(db):
    """The same for an agent's file or, by its alias, the global one; within a transaction, a savepoint of it."""
    if connections[db].in_atomic_block:
        with transaction.atomic(using=db):
            yield
        return
    if db == DEFAULT_DB_ALIAS:
        with global_transaction():
            yield
        return
    turn = _turns.setdefault(db, threading.Lock())
    with _wait_in_queue(turn, db), locks.lock(f"turn-{db}.lock"), transaction.atomic(using=db):
        yield


@contextmanager
def both_transactions(db):
    """A durable transaction on the global file and one on an agent's.

    The agent's transaction is committed first.
    """
    with (
        ExitStack() as stack,
        agent_transaction(db),
    ):  # the agent's file first, as everywhere: another order could deadlock
        stack.enter_context(global_transaction())
        yield


@contextmanager
def _wait_in_queue(turn, db):
    if not turn.acquire(timeout=connections[db].settings_dict["OPTIONS"].get("timeout", 5)):
        raise OperationalError("database is locked")
    try:
        yield
    finally:
        turn.release()
