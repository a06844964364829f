"""Connection settings of our database files, and the first statements of a connection."""

import sqlite3
from pathlib import Path
from typing import Any

FIRST = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=67108864"
# On a nearly full disk the -wal has to stay short; usually it grows by megabytes before its content moves to the file.
SHORT_LOG = "; PRAGMA wal_autocheckpoint=32"


class Connection(sqlite3.Connection):
    """A connection that creates new files with an incremental vacuum.

    `page_bytes`: the page size of a new file; 0 for SQLite's default.
    """

    def __init__(self, *arguments: Any, page_bytes: int = 0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Only an empty file takes these. On any other, auto_vacuum would wait for the write lock and write a page.
        if not self.execute("PRAGMA page_count").fetchone()[0]:
            if page_bytes:
                self.execute(f"PRAGMA page_size={page_bytes}")  # before auto_vacuum, which writes the first page
            self.execute("PRAGMA auto_vacuum=INCREMENTAL")


def build_database_settings(
    path: Path, *, timeout: int = 5, max_age_seconds: int = 0, is_short: bool = False
) -> dict[str, Any]:
    """Build the settings of one database file.

    `timeout` is how many seconds a writer waits for another one, `max_age_seconds` how long a thread keeps the file
    open. `is_short`: the disk is nearly full.
    """
    return {
        "ENGINE": "openclaw_web.sqlite.backend",
        "NAME": path,
        "CONN_MAX_AGE": max_age_seconds,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": timeout,
            "factory": Connection,
            "init_command": FIRST + (SHORT_LOG if is_short else ""),
        },
    }


def disable_sync(options: dict[str, Any]) -> None:
    """Write without waiting for the disk; the caller syncs everything at once before it counts."""
    options["init_command"] += "; PRAGMA synchronous=OFF"
