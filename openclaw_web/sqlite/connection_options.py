"""How our files are opened: what Django is told of each, and what a connection says to SQLite first."""

from pathlib import Path
from typing import Any

# auto_vacuum only takes effect while a file is still empty: it must come before WAL.
FIRST = (
    "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
    "PRAGMA journal_size_limit=67108864"
)
# A -wal that may grow by megabytes before its content moves to the file would find no room on a full disk.
SHORT_LOG = "; PRAGMA wal_autocheckpoint=32"


def build_database_settings(
    path: Path, *, timeout: int = 5, kept_seconds: int = 0, is_short: bool = False
) -> dict[str, Any]:
    """Settings of one file.

    `timeout` is how many seconds a writer waits for another one, `kept_seconds` how long a thread keeps the file open;
    `is_short` says that the disk is nearly full.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": kept_seconds,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": timeout,
            "init_command": FIRST + (SHORT_LOG if is_short else ""),
        },
    }


def with_page_size(options: dict[str, Any], page_bytes: int) -> dict[str, Any]:
    """The options of a file that is not there yet, and is to have pages of this size."""
    return options | {"init_command": f"PRAGMA page_size={page_bytes}; {options['init_command']}"}


def disable_sync(options: dict[str, Any]) -> None:
    """Write without waiting for the disk: somebody has everything synced at once before it counts."""
    options["init_command"] += "; PRAGMA synchronous=OFF"
