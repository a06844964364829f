"""Whether OpenClaw looks alive: nothing of its home is moved or removed while it does."""

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
    """Why somebody seems to work in the home: locks of living processes, and files written to just now."""
    signs = []
    for name, said in _locks(root):
        pid = said.get("pid")
        if type(pid) is int and 0 < pid < 2**31 and _is_alive(pid):
            words = {"file": name, "pid": pid}
            signs.append(_("the running process %(pid)s has locked %(file)s") % words)
    written = [source.name for source in sources if clock.is_recent(_changed_at(source), RECENT_SECONDS * 1000)]
    if written:
        words = {"file": written[0], "count": len(written), "minutes": RECENT_SECONDS // 60}
        sentence = ngettext(
            "%(file)s was written to in the last %(minutes)s minutes",
            "%(count)s files were written to in the last %(minutes)s minutes, for example %(file)s",
            len(written),
        )
        signs.append(sentence % words)
    return signs


def _locks(root) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every lock of a home: how to name it, and what it says."""
    for path in sorted(path for pattern in LOCKS for path in root.glob(pattern)):
        yield path.relative_to(root).as_posix(), _content(path)
    for path in sorted(Path(tempfile.gettempdir()).glob(TEMPORARY)):
        said = _content(path)
        if _is_of(root, said.get("configPath")):
            yield str(path), said


def _is_of(root, configuration):
    """Whether a gateway's configuration file, as its lock names it, lies in the home."""
    if not isinstance(configuration, str) or "\0" in configuration:
        return False
    try:
        return Path(configuration).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a loop of links, a name that is too long
        return False


def _content(path):
    """What a lock says: JSON with `pid`, or a process's number and nothing else."""
    try:
        with open_regular(path.parent, path, may_be_linked=True) as file:  # below tmp too, where nothing else is read
            data = file.read(MAX_LOCK_BYTES)
    except NotReadable:
        return {}
    if match := DIGITS.fullmatch(data):
        return {"pid": int(match[1])}
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _changed_at(source):
    """When a source was written last, in milliseconds; a time in the future tells nothing."""
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
    except PermissionError:  # somebody else's, but there
        return True
    return True
