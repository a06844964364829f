"""Whether OpenClaw looks alive: nothing of its home is moved or removed while it does."""

import os
import time
from pathlib import Path

import orjson
from django.utils.translation import gettext as _

from agents.homes import NotReadable, open_regular

from .sources import Source

RECENT_SECONDS = 300
MAX_LOCK_BYTES = 64 * 1024
LOCKS = ("agents/*/sessions/*.lock", "*.lock", "state/*.lock")


def signs_of_life(root: Path, sources: list[Source]) -> list[str]:
    """Why somebody seems to work in the home: locks of living processes, and files written to just now."""
    signs = []
    for path in sorted(path for pattern in LOCKS for path in root.glob(pattern)):
        pid = _pid_of(root, path)
        if pid and _is_alive(pid):
            words = {"file": path.relative_to(root).as_posix(), "pid": pid}
            signs.append(_("%(file)s is held by process %(pid)s, which is alive") % words)
    limit = time.time() - RECENT_SECONDS
    written = [source.name for source in sources if _changed_at(source) > limit]
    if written:
        words = {"file": written[0], "count": len(written), "minutes": RECENT_SECONDS // 60}
        signs.append(_("%(count)s files were written to in the last %(minutes)s minutes, as %(file)s") % words)
    return signs


def _changed_at(source):
    times = []
    for path in (source.file, source.file.with_name(source.file.name + "-wal")):
        try:
            times.append(path.lstat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def _pid_of(root, path):
    try:
        with open_regular(root, path) as file:
            found = orjson.loads(file.read(MAX_LOCK_BYTES))
    except (NotReadable, orjson.JSONDecodeError):
        return None
    pid = found.get("pid") if isinstance(found, dict) else None
    return pid if isinstance(pid, int) and 0 < pid < 2**31 else None


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, but there
        return True
    return True
