"""`collect --watch`: collect once, then again whenever a file we read has changed."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import OperationalError, connections
from django.utils.translation import gettext as _
from watchfiles import watch as changes_in

from agents.homes import NEVER_FOLDERS, NEVER_NAMES, read_home
from openclaw_web.errors import Refused

from . import collect
from .progress import Progress

log = logging.getLogger(__name__)
SUFFIXES = (".jsonl", ".md", "sessions.json", "jobs.json", "runs.json", "openclaw.json")
QUIET_MS = 400
LOOK_AGAIN_MS = 30_000


def watch(params: dict, *, say: Callable[[str], object]) -> None:
    """Collect until SIGTERM or Ctrl-C. Raises Refused when there is nothing to watch.

    A collect that fails because a database is busy is tried again with the next change, at the latest after 30 s.
    """
    source = Path(params.get("source") or settings.STATE_DIR).expanduser().absolute()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    say(_("Watching %(source)s. Stop with Ctrl-C.") % {"source": source})
    _collect(params, say)
    for _changed in _changes(_folders(source), stop):
        _collect(params, say)


def _changes(folders, stop) -> Iterator[object]:
    """One item for each burst of changes, and one every half minute for a file system that reports none."""
    while not stop.is_set():
        yield from changes_in(
            *folders,
            watch_filter=_matters,
            stop_event=stop,
            debounce=QUIET_MS,
            rust_timeout=LOOK_AGAIN_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )


def _matters(_change, path: str) -> bool:
    file = Path(path)
    if file.name in NEVER_NAMES or NEVER_FOLDERS.intersection(file.parts):
        return False
    return path.endswith(SUFFIXES) or ".jsonl." in file.name


def _folders(source):
    """The home and the workspaces it names elsewhere."""
    workspaces = {agent.workspace for agent in read_home(source).agents if agent.workspace}
    return [source, *sorted(folder for folder in workspaces if not folder.is_relative_to(source))]


def _collect(params, say):
    try:
        result = collect.run(params, Progress())
    except OperationalError as exc:
        log.warning("This collect did not finish and is tried again: %s", exc)
    except Refused as exc:
        say(str(exc.sentence))
    else:
        if result["records"] or result["rejected"]:
            say(_("%(records)s new records, %(rejected)s rejected") % result)
    finally:
        connections.close_all()
