"""Sentences for errors of SQLite and the system."""

import errno
import sqlite3

import pytest
from django.db import OperationalError

from openclaw_web import reasons


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("file is not a database", "the file is not a SQLite database, or its beginning is damaged"),
        ("database disk image is malformed", "pages of the file are damaged"),
        ("*** in database main ***\nTree 5 page 3: btreeInitPage() returns error", "pages of the file are damaged"),
        ("row 1 missing from index x", "pages of the file are damaged"),
        ("unable to open database file", "the file cannot be opened"),
        ("database is locked", "the file is locked by another program"),
        ("database or disk is full", "the disk is full"),
        ("attempt to write a readonly database", "the file is not writable"),
        ("UNIQUE constraint failed: sessions.id", "a row conflicts with existing data"),
        ("something new", "SQLite says: something new"),
    ],
)
def test_sqlite(message, words):
    assert (
        reasons.describe_error(sqlite3.OperationalError(message))
        == reasons.describe_error(OperationalError(message))
        == words
    )


def test_files():
    denied = PermissionError(errno.EACCES, "Permission denied", "/x")
    assert reasons.describe_error(denied) == "permission to open or write is missing"
    assert reasons.describe_error(OSError(errno.ENOSPC, "No space left on device")) == "the disk is full"
    assert reasons.describe_error(OSError(errno.EXDEV, "Invalid cross-device link")) == "invalid cross-device link"
    assert reasons.describe_error(KeyError()) == "KeyError"
