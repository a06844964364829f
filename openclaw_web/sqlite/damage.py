"""A database of ours that SQLite cannot read: what to say of it, told from the words of SQLite."""

import sqlite3
from pathlib import Path

from django.db import DatabaseError
from django.utils.translation import gettext as _

# SQLite's words for a file whose header, or whose pages, are not those of a database.
DAMAGE = ("file is not a database", "malformed", "file is encrypted", "unsupported file format")
BACKUPS = "openclaw-web-*.tar.zst"  # the moment is in the name


def is_damage(exc: BaseException) -> bool:
    """Whether a failure says that a file is damaged."""
    return isinstance(exc, DatabaseError | sqlite3.DatabaseError) and any(words in str(exc) for words in DAMAGE)


def way_out(home: Path) -> str:
    """What to do when the global database is damaged: the command that puts the newest backup in the home back."""
    newest = max((home / "backups").glob(BACKUPS), default=None)
    if newest is None:
        return _(
            "There is no backup in %(folder)s. Put one back from where the setting backup.folder said: "
            "openclaw-web backup restore FILE --replace"
        ) % {"folder": home / "backups"}
    return _("Put the newest backup back: openclaw-web backup restore %(file)s --replace") % {"file": newest}


def sentence(exc: BaseException, home: Path) -> str:
    """A sentence for whoever met a damaged database of the home."""
    words = _("A database of %(home)s is damaged: %(why)s. openclaw-web doctor says which.")
    return words % {"home": home, "why": str(exc).rstrip(".")}
