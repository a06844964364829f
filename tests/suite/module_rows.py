"""What stands in the databases for all tests of a module: filled once, and taken back after the last of them."""

from contextlib import contextmanager

from django.db import transaction
from django.test import TestCase

from tests.conftest import ALL


class _Standing(TestCase):
    databases = frozenset(ALL)


@contextmanager
def keep_rows(django_db_blocker):
    """What the block writes to any file stands until it ends; transactions within it are parts of its own."""
    with django_db_blocker.unblock():
        atomics = _Standing._enter_atomics()
        try:
            yield
        finally:
            _Standing._rollback_atomics(atomics)


@contextmanager
def roll_back_rows():
    """What the block writes to any file is taken back."""
    marks = {alias: transaction.savepoint(using=alias) for alias in ALL}
    try:
        yield
    finally:
        for alias, mark in marks.items():
            transaction.savepoint_rollback(mark, using=alias)
