"""Why the machine did not do something, in words: what SQLite and the system say is for programs."""

import errno
import sqlite3

from django.db import DatabaseError
from django.utils.translation import gettext as _

# What a check of all pages begins its complaints with, or has in them.
OF_PAGES = ("*** in database", "malformed", "btree", "Tree ", "Page ", "Freelist", "missing from index", "wrong #")


def of(exc: BaseException) -> str:
    """The end of a sentence about an error of SQLite, of a file, or one that has a sentence of its own."""
    if isinstance(exc, sqlite3.Error | DatabaseError):
        return of_sqlite(str(exc))
    if isinstance(exc, OSError):
        return of_system(exc)
    return str(exc) or type(exc).__name__


def of_system(exc: OSError) -> str:
    """Why a file was not opened or written: `there is no such file`; what is not known here as the system says it."""
    known = {
        errno.ENOENT: _("there is no such file or folder"),
        errno.EACCES: _("this user may not open or write it"),
        errno.EPERM: _("this user may not do that"),
        errno.EISDIR: _("it is a folder"),
        errno.ENOTDIR: _("a part of the way to it is no folder"),
        errno.ENOSPC: _("the disk is full"),
        errno.EDQUOT: _("the disk quota is used up"),
        errno.EROFS: _("the disk is read-only"),
        errno.EIO: _("the disk did not read or write it"),
        errno.ELOOP: _("it is a link"),
    }
    text = exc.strerror or type(exc).__name__
    return known.get(exc.errno or 0, text[:1].lower() + text[1:])


def of_sqlite(text: str) -> str:
    """What SQLite says of a database; what is not known here stays as it is, so that it can be looked up."""
    known = (
        ("not a database", _("it is no SQLite database, or its beginning is damaged")),
        ("unable to open", _("it cannot be opened")),
        ("locked", _("another program holds it")),
        ("disk I/O", _("the disk did not read or write it")),
        ("full", _("the disk is full")),
        ("readonly", _("it cannot be written")),
        ("constraint failed", _("a row contradicts what is there")),
    )
    if any(part in text for part in OF_PAGES):
        return _("its pages are damaged")
    said = (words for part, words in known if part in text)
    return next(said, _("SQLite says: %(text)s") % {"text": text[:200]})
