"""Reads the session index file of an agent, at most once per import."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents.homes import HomeAgent, NotReadable, open_regular, stat_regular
from agents.models import SkippedSource
from agents.skipped_sources import is_unchanged
from ledger.collectors import session_index
from ledger.collectors.session_index import IndexEntry

MAX_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class IndexFile:
    """The content of a session index; `problem` ends a sentence about an unusable one."""

    entries: list[IndexEntry] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)  # keys without a session
    problem: str = ""


def find_index_path(home_agent: HomeAgent) -> Path | None:
    """The path of an agent's session index; None without one."""
    return home_agent.index if home_agent.index is not None and os.path.lexists(home_agent.index) else None


def read_index(collection: Any, home_agent: HomeAgent, row: SkippedSource | None = None) -> IndexFile:
    """The index of an agent; empty without one.

    `row` is the note about a file that could not be used before.
    """
    path = find_index_path(home_agent)
    if path is None:
        return IndexFile()
    if path not in collection.indexes:
        collection.indexes[path] = _read_file(collection, path, row)
    return collection.indexes[path]


def _read_file(collection, path, row):
    stat = stat_regular(path)
    if stat and stat.st_size > MAX_BYTES:
        return IndexFile(problem=_("the file is larger than %(size)s MB") % {"size": MAX_BYTES // 1024**2})
    if stat and row is not None and row.reason == SkippedSource.Reason.FAILED and is_unchanged(row, stat):
        return IndexFile(problem=row.detail)
    index = IndexFile()
    try:
        with open_regular(collection.home.root, path) as file:
            data = file.read(MAX_BYTES + 1)
        index.entries = list(session_index.read(data, index.unusable))
    except (NotReadable, ValueError) as exc:
        return IndexFile(problem=str(exc))
    return index
