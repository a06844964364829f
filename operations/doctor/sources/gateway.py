"""Signs that OpenClaw is running: its files are not moved or removed meanwhile."""

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.homes import NotReadable, open_regular
from openclaw_web import clock

from .home_sources import Source

RECENT_SECONDS = 300
MAX_LOCK_BYTES = 64 * 1024
LOCKS = ("agents/*/sessions/*.lock", "*.lock", "state/*.lock", "tmp/openclaw*/*.lock")
# Before 2026.8 a gateway kept its own lock outside of its home, one for each configuration file.
TEMPORARY = "openclaw*/gateway.*.lock"
DIGITS = re.compile(rb"\s*(\d{1,10})\s*")


def find_signs_of_life(root: Path, sources: list[Source]) -> list[str]:
    """Sentences about signs that the home is in use: locks of running processes, and recent writes."""
    signs = []
    for name, content in _find_locks(root):
        pid = content.get("pid")
        if type(pid) is int and 0 < pid < 2**31 and _is_alive(pid):
            words = {"file": name, "pid": pid}
            signs.append(_("the running process %(pid)s has locked %(file)s") % words)
    written = [source.name for source in sources if clock.is_recent(_find_change_time(source), RECENT_SECONDS * 1000)]
    if written:
        words = {"file": written[0], "count": len(written), "minutes": RECENT_SECONDS // 60}
        sentence = ngettext(
            "%(file)s was written to in the last %(minutes)s minutes",
            "%(count)s files were written to in the last %(minutes)s minutes, for example %(file)s",
            len(written),
        )
        signs.append(sentence % words)
    return signs


def _find_locks(root) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every lock of a home: its name for people, and its content."""
    for path in sorted(path for pattern in LOCKS for path in root.glob(pattern)):
        yield path.relative_to(root).as_posix(), _read_lock(path)
    for path in sorted(Path(tempfile.gettempdir()).glob(TEMPORARY)):
        content = _read_lock(path)
        if _is_in_home(root, content.get("configPath")):
            yield str(path), content


def _is_in_home(root, configuration):
    """Whether the configuration file that a lock names is in the home."""
    if not isinstance(configuration, str) or "\0" in configuration:
        return False
    try:
        return Path(configuration).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a loop of links, a name that is too long
        return False


def _read_lock(path):
    """The content of a lock: JSON with `pid`, or only the number of a process."""
    try:
        with open_regular(path.parent, path, may_be_linked=True) as file:  # also below tmp, where no other file is read
            data = file.read(MAX_LOCK_BYTES)
    except NotReadable:
        return {}
    if match := DIGITS.fullmatch(data):
        return {"pid": int(match[1])}
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _find_change_time(source):
    """The time of the last write in milliseconds; times in the future do not count."""
    times = []
    for path in (source.file, source.file.with_name(source.file.name + "-wal")):
        try:
            times.append(path.lstat().st_mtime_ns // 1_000_000)
        except OSError:
            continue
    return max((moment for moment in times if not clock.is_future(moment)), default=0)


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process exists and belongs to another user
        return True
    return True
