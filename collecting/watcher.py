"""Runs `collect --watch`: imports once, then whenever a source file changes."""

import logging
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, OperationalError, connections
from django.utils.translation import gettext as _
from watchfiles import watch as changes_in

from agents.claims import find_root, follow_reported_workspaces, resolve_names
from agents.database_copies import WAL, Copies
from agents.homes import AGENT_DATABASE, NEVER_FOLDERS, NEVER_NAMES, STATE_DATABASE, NoHome, UnreadableHome
from agents.layout.home_agents import read_home
from jobs.progress import Progress
from openclaw_web import amounts
from openclaw_web.errors import Refused
from problems import check_pass

from . import collect, episode_import, watcher_state

log = logging.getLogger(__name__)
LEDGER = episode_import.PLACE[-1]
DATABASES = tuple(f"/{name}{end}" for name in (AGENT_DATABASE, STATE_DATABASE, LEDGER) for end in ("", WAL))
SUFFIXES = (".jsonl", ".md", "sessions.json", "jobs.json", "runs.json", "openclaw.json", *DATABASES)
QUIET_MS = 400
LOOK_AGAIN_SECONDS = 30
END_SECONDS = 5
MANY_RECORDS = 100
WAIT_SECONDS = 2  # pause between checks for a home that does not exist yet


def watch(params: dict, *, say: Callable[[str], object], waits: bool = False) -> None:
    """Import until SIGTERM or Ctrl-C. Raises NoHome when there is nothing to watch.

    With `waits` a missing home is reported once, and watching begins when OpenClaw has an agent. An import that fails
    because a database is busy is repeated with the next change, at the latest after 30 s; so are changes on a file
    system that reports none.
    """
    with watcher_state.hold_lock(is_expected=waits):
        _run_watcher(params, say, waits)


def _run_watcher(params, say, waits):
    source = find_root(params.get("source") or settings.STATE_DIR)
    stop, changed = threading.Event(), threading.Event()

    def end(*_signal):
        stop.set()
        changed.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    folders = _wait_for_folders(source, stop, say) if waits else _find_folders(source)
    # Listening starts before the first collect, so that nothing that happens during it is missed.
    listener = threading.Thread(target=_listen, args=(folders, stop, changed), name="file changes", daemon=True)
    listener.start()
    if not stop.is_set():
        say(_("Watching %(source)s. Stop with Ctrl-C.") % {"source": source})
    with Copies(is_kept=True) as copies:
        last_refusal, count = "", 0
        while not stop.is_set():
            changed.clear()
            previous_count = count
            last_refusal, count = _collect_once(params, copies, say, last_refusal, source)
            watcher_state.note_alive()
            if waits and previous_count > MANY_RECORDS:  # their memory would stay: `serve` starts a watcher without it
                end()
            elif not (waits and count > MANY_RECORDS):  # otherwise this one also does what follows from new records
                changed.wait(LOOK_AGAIN_SECONDS)
    listener.join(END_SECONDS)  # it waits in compiled code, which the end of the interpreter may abort


def _wait_for_folders(source, stop, say):
    """Wait for folders to watch; none when it is stopped before."""
    absent = _("No OpenClaw agents at %(source)s yet. The import starts automatically with the first agent.")
    last_sentence = ""
    while not stop.is_set():
        try:
            return _find_folders(source)
        except NoHome as exc:
            sentence = str(exc.sentence) if isinstance(exc, UnreadableHome) else absent % {"source": source}
            if sentence != last_sentence:
                _note_refusal(source, str(exc.sentence))
                say(sentence)
                last_sentence = sentence
            stop.wait(WAIT_SECONDS)
    return []


def _listen(folders, stop, changed):
    try:
        for _changes in changes_in(
            *folders,
            watch_filter=lambda _change, path: _is_relevant(folders, path),
            stop_event=stop,
            debounce=QUIET_MS,
            ignore_permission_denied=True,
        ):
            changed.set()
    except FileNotFoundError as exc:  # a folder was renamed at this moment: the next periodic check finds the changes
        log.warning("Changes are looked for every %s seconds: %s", LOOK_AGAIN_SECONDS, exc)


def _is_relevant(folders, path):
    """Whether an import would read this file. Folders above the watched ones do not matter."""
    file = Path(path)
    inside = next((file.relative_to(folder).parts for folder in folders if file.is_relative_to(folder)), ())
    if file.name in NEVER_NAMES or NEVER_FOLDERS.intersection(inside):
        return False
    return path.endswith(SUFFIXES) or ".jsonl." in file.name


def _find_folders(source):
    """The home and the folders elsewhere that it names."""
    home = read_home(source)
    follow_reported_workspaces(home, resolve_names(home))
    folders: set[Path] = set()
    for agent in home.agents:
        places = (*agent.workspaces, agent.agent_dir, *agent.session_folders)
        folders |= {folder for folder in places if folder and not folder.is_relative_to(source)}
    return [source, *sorted(folders)]


def _collect_once(params, copies, say, last_refusal, source):
    """Import once; returns the sentence of a refusal, if there is one, and the number of new records.

    A refusal like `last_refusal` is not printed again.
    """
    try:
        result = collect.run(params, Progress(), copies)
    except OperationalError as exc:
        log.warning("This collect did not finish and is tried again: %s", exc)
    except Refused as exc:
        _note_refusal(source, str(exc.sentence))
        if str(exc.sentence) != last_refusal:
            say(str(exc.sentence))
        return str(exc.sentence), 0
    else:
        if result["records"] or result["rejected"]:
            records = amounts.format_amount("new records", result["records"])
            say(_("%(records)s, %(rejected)s rejected") % {"records": records, "rejected": f"{result['rejected']:,}"})
            check_pass.check_all()
        return "", result["records"]
    finally:
        connections.close_all()
    return "", 0


def _note_refusal(source, sentence):
    """Report a refusal as a problem.

    A store that is not writable is a problem of its own.
    """
    try:
        watcher_state.note_refusal(source, sentence)
    except (DatabaseError, UnicodeError) as exc:
        log.warning("The refused import of %s was not noted: %s", source, exc)
