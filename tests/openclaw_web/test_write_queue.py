"""The write queue of the global file."""

import threading

import pytest
from django.db import OperationalError, connection, transaction

from openclaw_web.disk import locks
from openclaw_web.sqlite import write_queue
from people.audit import log as audit
from people.models.bookkeeping import AuditEntry

pytestmark = pytest.mark.django_db


def test_it_is_a_transaction():
    with pytest.raises(ZeroDivisionError), write_queue.global_transaction():
        audit.record("root", "read")
        raise ZeroDivisionError
    with write_queue.global_transaction():
        audit.record("root", "opened")
    assert [entry.action for entry in AuditEntry.objects.all()] == ["opened"]


def test_processes_come_one_after_the_other():
    inside, most = [], []

    def write():
        with locks.lock("turn.lock"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=write) for _ in range(30)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert most == [1] * 30


def test_who_stands_in_the_queue_for_too_long_is_told_so(monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.05)
    with write_queue._turn, pytest.raises(OperationalError, match="locked"), write_queue.global_transaction():
        raise AssertionError("it was not our turn")
    with write_queue.global_transaction():
        assert transaction.get_connection().in_atomic_block
