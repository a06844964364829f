"""Turns the recorded home into a site to look at, and creates a user.

The site has imported sessions, verdicts, datasets and an export.
"""

import json
import logging
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.utils.translation import gettext as _

from agents.models import Agent
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Terminal
from openclaw_web import amounts, clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from operations.checkpoints import services as checkpoints
from operations.server import preparation
from people.accounts import services as accounts
from people.models import User

from . import judgments, reports, wrong_memory
from .recording import Recording

MARKER = "openclaw-web-demo.json"
NAME = "demo"
DAY_MS = 86_400_000


def prepare(say: Callable[[str], object], *, is_fresh: bool = False) -> str:
    """Make the demo, or complete an existing one; return a sign-in link's path.

    The link signs in once. Raises Refused, and changes nothing, when one of the two folders has files that are not the
    demo's.
    """
    source, store = settings.STATE_DIR, settings.HOME_DIR
    _check_folder(source, any(source.iterdir()) if source.is_dir() else False)
    _check_folder(store, (store / "state" / "openclaw.sqlite").exists())
    if not is_fresh and not (store / MARKER).exists():
        _check_story_is_ahead(source)
    if is_fresh:
        connections.close_all()  # connections that are open already would read a removed file
        if locks.is_held(store / "state" / locks.SERVING):
            sentence = _("OpenClaw Web is running in %(home)s. Stop the server before you remove its demo.")
            raise Refused(sentence % {"home": store})
        _remove_files(source)
        _remove_files(store, keep=("secret.key", "state"))
    recording = _write_source(source, say)
    _write_marker(store, is_complete=True)
    preparation.bring_up_to_date(say)
    _import_source(source)
    with _silence_log():
        _create_checkpoint()
        for agent in Agent.objects.filter(agent_id__in=("main", "research")):
            reports.record_reports(agent, recording)
        terminal = Terminal()
        judgments.judge(by=NAME, listener=terminal)
        terminal.close()
        wrong_memory.play_story(recording, by=NAME)
        user = User.objects.filter(username=NAME).first()
        return accounts.make_sign_in_link(user) if user else accounts.add_user(NAME, User.Role.ADMIN, by=NAME)[1]


@contextmanager
def _silence_log():
    """Log no line for each action that a person would have done."""
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _check_folder(folder, is_used):
    if is_used and not (folder / MARKER).exists():
        sentence = _("%(folder)s contains files that are not from the demo. Set %(variable)s to an empty folder.")
        variable = "OPENCLAW_STATE_DIR" if folder == settings.STATE_DIR else "OPENCLAW_WEB_HOME"
        raise Refused(sentence % {"folder": folder, "variable": variable})


def _check_story_is_ahead(source):
    """Raises Refused where the files are those of a demo after its story.

    The story happens once.
    """
    if wrong_memory.is_story_over(source):
        sentence = _(
            "%(folder)s holds an earlier demo, whose files have changed since. Run the demo with --fresh to write it "
            "again, or set OPENCLAW_STATE_DIR to another folder."
        )
        raise Refused(sentence % {"folder": source})


def _remove_files(folder, keep=()):
    """Remove the demo's files, and the marker last.

    The marker says until then that the folder is ours.
    """
    if not (folder / MARKER).exists():
        return
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name == MARKER):
        if entry.name == "state" and entry.name in keep:
            for file in entry.iterdir():
                if file.is_file() and not file.name.endswith(".lock"):
                    file.unlink()
        elif entry.name not in keep:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _write_source(source, say):
    """Write OpenClaw's home, once; one that was interrupted is written again. Returns the recording of its day."""
    marker = source / MARKER
    if marker.exists():
        state = json.loads(marker.read_text())
        if state["complete"]:
            return Recording(state["until_ms"])
        _remove_files(source)
    until_ms = clock.now_ms() // DAY_MS * DAY_MS
    source.mkdir(parents=True, exist_ok=True)
    _write_marker(source, is_complete=False)
    recording = Recording(until_ms)
    recording.write_home(source)
    _write_marker(source, is_complete=True, until_ms=until_ms)
    counts = {name: amounts.format_amount(name, recording.facts[name]) for name in ("sessions", "turns")}
    say(_("Wrote %(sessions)s with %(turns)s to %(folder)s") % (counts | {"folder": source}))
    return recording


def _write_marker(folder: Path, *, is_complete, **more):
    text = json.dumps({"complete": is_complete, **more}, ensure_ascii=False)
    (folder / MARKER).write_text(text, encoding="utf-8")


def _import_source(source):
    terminal = Terminal()
    job = jobs.run_now("collect", {"source": str(source)}, by=NAME, listener=terminal)
    terminal.close()
    if job.state != JobRun.State.FINISHED:
        raise Refused(job.message)


def _create_checkpoint():
    """Create a checkpoint of the session whose compaction hid big outputs, always the same."""
    agent = Agent.objects.filter(agent_id="research").first()
    if agent:
        list(checkpoints.build_checkpoints(agent, checkpoints.find_session(agent, "agent:research:main"), by=NAME))
