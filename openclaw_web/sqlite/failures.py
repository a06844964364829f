"""Recognizes failures by the messages of SQLite, and describes damaged databases.

No other module matches these messages.
"""

import sqlite3
from pathlib import Path

from django.db import DatabaseError
from django.utils.translation import gettext as _

# SQLite's messages about a file whose header or pages are not those of a database.
DAMAGE = ("file is not a database", "malformed", "file is encrypted", "unsupported file format")
# Parts of the messages of a check of all pages.
OF_PAGES = ("*** in database", "malformed", "btree", "Tree ", "Page ", "Freelist", "missing from index", "wrong #")
BACKUPS = "openclaw-web-*.tar.zst"  # the name holds the time


def is_of_database(exc: BaseException) -> bool:
    """Whether a failure is one of a database, of ours or of another program."""
    return isinstance(exc, DatabaseError | sqlite3.Error)


def is_locked(exc: BaseException) -> bool:
    """Whether another writer held the database for too long."""
    return "locked" in str(exc)


def is_old(exc: BaseException) -> bool:
    """Whether a table or a column is missing."""
    return "no such" in str(exc)


def is_interrupted(exc: BaseException) -> bool:
    """Whether a query was stopped before its end."""
    return "interrupted" in str(exc)


def is_full(exc: BaseException) -> bool:
    """Whether no space was left on the disk."""
    return "disk is full" in str(exc)


def is_of_disk(exc: BaseException) -> bool:
    """Whether the disk failed to read or write.

    SQLite also reports this when there is no space for the files beside a database.
    """
    return "disk I/O error" in str(exc)


def is_damage(exc: BaseException) -> bool:
    """Whether a failure says that a file is damaged."""
    return is_of_database(exc) and any(words in str(exc) for words in DAMAGE)


def translate_message(text: str) -> str:
    """Translate a message of SQLite.

    An unknown message is quoted, so that people can look it up.
    """
    known = (
        ("not a database", _("the file is not a SQLite database, or its beginning is damaged")),
        ("unable to open", _("the file cannot be opened")),
        ("locked", _("the file is locked by another program")),
        ("disk I/O", _("the disk could not read or write the data")),
        ("full", _("the disk is full")),
        ("readonly", _("the file is not writable")),
        ("constraint failed", _("a row conflicts with existing data")),
    )
    if any(part in text for part in OF_PAGES):
        return _("pages of the file are damaged")
    matches = (words for part, words in known if part in text)
    return next(matches, _("SQLite says: %(text)s") % {"text": text[:200]})


def describe_way_out(home: Path) -> str:
    """The remedy for a damaged global database: the command that restores the newest backup."""
    newest = max((home / "backups").glob(BACKUPS), default=None)
    if newest is None:
        return _(
            "There is no backup in %(folder)s. Restore a backup from the folder named in the setting "
            "backup.folder: openclaw-web backup restore FILE --replace"
        ) % {"folder": home / "backups"}
    return _("Restore the newest backup: openclaw-web backup restore %(file)s --replace") % {"file": newest}


def describe_damage(exc: BaseException, home: Path) -> str:
    """A sentence that reports a damaged database of the home."""
    words = _("A database of %(home)s is damaged: %(why)s. Run openclaw-web doctor to find out which.")
    return words % {"home": home, "why": str(exc).rstrip(".")}
