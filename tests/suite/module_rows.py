"""Keeps rows in the databases for all tests of a module.

They are written once and rolled back after the last test.
"""

from contextlib import contextmanager

from django.db import transaction
from django.test import TestCase

from tests.conftest import ALL


class _Standing(TestCase):
    databases = frozenset(ALL)


@contextmanager
def keep_rows(django_db_blocker):
    """Keep the rows that the block writes until it ends; inner transactions are savepoints."""
    with django_db_blocker.unblock():
        atomics = _Standing._enter_atomics()
        try:
            yield
        finally:
            _Standing._rollback_atomics(atomics)


@contextmanager
def roll_back_rows():
    """Roll back all that the block writes to any database."""
    marks = {alias: transaction.savepoint(using=alias) for alias in ALL}
    try:
        yield
    finally:
        for alias, mark in marks.items():
            transaction.savepoint_rollback(mark, using=alias)
