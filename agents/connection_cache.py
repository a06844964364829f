"""Keeps the agent file that a thread used last open between requests.

It is closed when another file has its place.

Opening a file for each request competes with its writers, and closing the last connection moves its log.
"""

import threading
from pathlib import Path

from django.core.signals import request_finished
from django.db import connections
from django.db.backends.signals import connection_created

MOST_OPEN = 12  # files of agents in one thread, each with its log and the log's index
_watched: dict[str, Path] = {}  # alias -> file
_used = threading.local()


def get_file_identity(file: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, which identify it; None when it is missing."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def unwatch(name: str) -> None:
    """Remember no longer which file an alias is opened to."""
    _watched.pop(name, None)


def watch(name: str, file: Path) -> None:
    """Remember which file the connections of an alias are opened to."""
    _watched[name] = file


def close_if_replaced(name: str, current: tuple[int, int]) -> None:
    """Close this thread's connection of an alias when it is to another file.

    `current` is the identity of the file that is at its place now. The connection is opened again on its next use.
    """
    _used.last = name
    if name not in connections.settings:
        return
    connection = connections[name]
    opened = getattr(connection, "opened_file", current)
    if connection.connection is not None and opened != current and not connection.in_atomic_block:
        connection.close()


def _remember_file(connection, **_signal):
    if file := _watched.get(connection.alias):
        connection.opened_file = get_file_identity(file)
        _close_oldest(connection.alias)


def _close_oldest(alias):
    """Close the file that this thread opened first when more are open than one job needs."""
    opened = _used.__dict__.setdefault("opened", {})
    opened[alias] = opened.pop(alias, None)
    for other in list(opened)[:-MOST_OPEN]:
        if other not in connections.settings or connections[other].connection is None:
            del opened[other]
        elif not connections[other].in_atomic_block:
            connections[other].close()
            del opened[other]


def _close_others(**_signal):
    """Close all files but the last used one after a request.

    With hundreds of agents and many threads, too many files would stay open.
    """
    last = getattr(_used, "last", None)
    for connection in connections.all(initialized_only=True):
        is_open = connection.connection is not None  # with hundreds of aliases, closing closed connections takes time
        if is_open and connection.alias in _watched and connection.alias != last and not connection.in_atomic_block:
            connection.close()


connection_created.connect(_remember_file, dispatch_uid="agents.connection_cache.opened")
request_finished.connect(_close_others, dispatch_uid="agents.connection_cache.close_others")
