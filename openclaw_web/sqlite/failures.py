"""Recognizes failures by the messages of SQLite, and describes damaged databases.

No other module matches these messages.
"""

import sqlite3
from pathlib import Path

from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

# SQLite's messages about a file whose header or pages are not those of a database.
DAMAGE = ("file is not a database", "malformed", "file is encrypted", "unsupported file format")
# About a file that is not there, or belongs to another user; also when a process has too many open files.
DENIED = ("unable to open", "readonly database")
# Parts of the messages of a check of all pages.
OF_PAGES = ("*** in database", "malformed", "btree", "Tree ", "Page ", "Freelist", "missing from index", "wrong #")
OLD_HOME = gettext_lazy(
    "The databases are not up to date. Run openclaw-web serve, which creates a backup and updates them."
)
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


def describe_unusable(exc: BaseException, home: Path) -> str:
    """Describe a damaged or closed database of the home, with the way out.

    Empty for any other failure.
    """
    if is_damage(exc):
        return f"{describe_damage(exc, home)} {describe_way_out(home)}"
    # Such a process may not open or write the file of a database.
    if not (is_of_database(exc) and any(words in str(exc) for words in DENIED)):
        return ""
    sentence = _(
        "A database of %(home)s cannot be used: %(why)s. Check that all files there belong to the user who runs this "
        "command."
    ) % {"home": home, "why": translate_message(str(exc))}
    if "unable to open" in str(exc):
        sentence += " " + _("If they do, this process has too many open files: ulimit -n 1024")
    return sentence
