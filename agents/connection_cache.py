"""Agents' files that a thread keeps open from one request to the next: the last one it used, while it is the same file.

Opening a file for each request competes with whoever writes to it, and closing the last connection moves its log.
"""

import threading
from pathlib import Path

from django.core.signals import request_finished
from django.db import connections
from django.db.backends.signals import connection_created

_watched: dict[str, Path] = {}  # alias -> file
_used = threading.local()


def get_file_identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another one that is put in its place; None when there is none."""
    try:
        about = file.stat()
    except FileNotFoundError:
        return None
    return about.st_dev, about.st_ino


def unwatch(name: str) -> None:
    """Forget an alias that is taken away."""
    _watched.pop(name, None)


def watch(name: str, file: Path) -> None:
    """Know from now on which file the connections of this alias are opened to."""
    _watched[name] = file


def close_if_replaced(name: str, found: tuple[int, int]) -> None:
    """Close what this thread has open of an alias when it is another file than `found`; it is opened anew when used."""
    _used.last = name
    if name not in connections.settings:
        return
    connection = connections[name]
    opened = getattr(connection, "opened_file", found)
    if connection.connection is not None and opened != found and not connection.in_atomic_block:
        connection.close()


def _opened(connection, **_told):
    if file := _watched.get(connection.alias):
        connection.opened_file = get_file_identity(file)


def _close_others(**_told):
    """After a request: with hundreds of agents and many threads the files would be too many to keep."""
    last = getattr(_used, "last", None)
    for connection in connections.all(initialized_only=True):
        is_open = connection.connection is not None  # closing what is closed takes time where there are hundreds
        if is_open and connection.alias in _watched and connection.alias != last and not connection.in_atomic_block:
            connection.close()


connection_created.connect(_opened, dispatch_uid="agents.connection_cache.opened")
request_finished.connect(_close_others, dispatch_uid="agents.connection_cache.close_others")
