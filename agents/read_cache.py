"""Keeps what was read from agents' files while the files stay as they are.

Lists over all agents then open only the files whose rows a page can show. Nothing is stored: another process reads
anew.
"""

import os
import time
from collections.abc import Callable, Hashable
from typing import Any

from . import databases

MOST = 20_000  # values in a process
SETTLED_NS = 2_000_000_000  # a file that changed more recently may change again without a new time of change
MOST_PAGES = 20  # pages in a process
_values: dict[tuple[str, Hashable], tuple[Any, Any]] = {}
_pages: dict[Hashable, tuple[dict[str, Any], Any]] = {}


class ReadCache:
    """The cache as one request uses it: it looks at each file once, before it reads it."""

    def __init__(self):
        self._states = {}

    def get(self, agent_id: str, key: Hashable) -> Any:
        """Return the value that is cached for an agent's file as it is; None without one."""
        state = self._get_state(agent_id)
        cached_state, value = _values.get((agent_id, key), (None, None))
        return value if state is not None and state == cached_state else None

    def put(self, agent_id: str, key: Hashable, value: Any) -> None:
        """Cache a value that was read after the file was looked at."""
        if (state := self._get_state(agent_id)) is not None:
            if len(_values) >= MOST:
                _values.clear()
            _values[agent_id, key] = state, value

    def get_or_read(self, agent_id: str, key: Hashable, read: Callable[[], Any]) -> Any:
        """Return the cached value, or read and cache it."""
        value = self.get(agent_id, key)
        if value is None:
            value = read()
            if value is not None and not getattr(value, "is_more", False):  # what ended early is read again
                self.put(agent_id, key, value)
        return value

    def get_page(self, key: Hashable, agent_ids: list[str]) -> tuple[Any, set[str]]:
        """Return a cached page, and which of these agents have files that are as they were then."""
        states, page = _pages.get(key, ({}, None))
        looked = {name: self._get_state(name) for name in agent_ids}
        return page, {name for name, state in looked.items() if state is not None and state == states.get(name)}

    def put_page(self, key: Hashable, page: Any) -> None:
        """Cache a page of rows of all agents whose files this request looked at."""
        if key not in _pages and len(_pages) >= MOST_PAGES:
            _pages.clear()
        _pages[key] = self._states, page

    def _get_state(self, agent_id):
        if agent_id not in self._states:
            self._states[agent_id] = _read_state(agent_id)
        return self._states[agent_id]


def _read_state(agent_id):
    """Return what changes with every write to an agent's file: inode, sizes and times of the file and of its log.

    None: it may change again without a difference, or is missing.
    """
    file = str(databases.get_path(agent_id))
    state = []
    for path in (file, f"{file}-wal"):
        try:
            stat = os.stat(path)  # noqa: PTH116 - of every agent, for one page
        except OSError:
            stat = None
        if stat is None or not stat.st_size:  # whoever only reads makes an empty log
            state.append(None)
            continue
        if time.time_ns() - stat.st_mtime_ns < SETTLED_NS:
            return None
        state.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(state) if databases.is_on_disk(agent_id) and state[0] else None
