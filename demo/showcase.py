"""Turns the generated home into a site with something to see: collected, judged, exported, with somebody to sign in."""

import json
import logging
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.db.models import Min
from django.utils.translation import gettext as _

from agents.models import Agent
from datasets.exports import jobs as exports
from datasets.models import DatasetExport, DatasetSample
from datasets.review.verdicts import label_sample
from datasets.services import make_samples
from guardian.services import store_version
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Terminal
from ledger.models import Session
from openclaw_web import amounts, clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from operations.checkpoints import services as checkpoints
from operations.server import preparation
from people.accounts import services as accounts
from people.models import User

from . import gate_decisions, memory_writes, replays, wrong_memory
from .files.home import write_home
from .files.workspace import read_shipped_files
from .moments import DAY
from .vocabulary import PEOPLE

NOBODYS_WORDS = ("A new session was started", "[System Message]")
MARKER = "openclaw-web-demo.json"
NAME = "demo"
SAMPLED = (
    "agent:main:main",
    "agent:main:openai:faq-widget",
    "agent:main:openai:wholesale-quote",
    "agent:research:main",
    *(f"agent:main:telegram:direct:{PEOPLE[key].telegram}" for key in ("mei", "xiaowen", "arjun")),
    *(f"agent:research:telegram:direct:{PEOPLE[key].telegram}" for key in ("hana", "zhou")),
)


def prepare(say: Callable[[str], object], *, is_fresh: bool = False) -> str:
    """Make the demo, or complete the one that is there; the path of a link that signs in once.

    Raises Refused, and changes nothing, when one of the two folders holds something else.
    """
    source, store = settings.STATE_DIR, settings.HOME_DIR
    _check(source, any(source.iterdir()) if source.is_dir() else False)
    _check(store, (store / "state" / "openclaw.sqlite").exists())
    if not is_fresh and not (store / MARKER).exists():
        _check_story_is_ahead(source)
    if is_fresh:
        connections.close_all()  # whoever looked into the store before looks into a file that is removed
        _check_nobody_serves(store)
        _empty(source)
        _empty(store, keep=("secret.key", "state"))
    _write(source, say)
    _mark(store, is_complete=True)
    preparation.bring_up_to_date(say)
    _collect(source)
    _remember_the_first_day()
    with _quiet():
        _seal()
        gate_decisions.record_decisions()
        memory_writes.record_writes()
        _judge()
        _export()
        replays.record_replay(by=NAME)
        wrong_memory.play_story(by=NAME)
        return _link()


@contextmanager
def _quiet():
    """Without a line of log for each thing a person would have done."""
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _check(folder, is_used):
    if is_used and not (folder / MARKER).exists():
        sentence = _("%(folder)s contains files that are not from the demo. Use ./dev demo, or set %(variable)s.")
        variable = "OPENCLAW_STATE_DIR" if folder == settings.STATE_DIR else "OPENCLAW_WEB_HOME"
        raise Refused(sentence % {"folder": folder, "variable": variable})


def _check_story_is_ahead(source):
    """Raises Refused where the files are those of another demo, in which the story happened: it happens once."""
    if wrong_memory.is_story_over(source):
        sentence = _(
            "%(folder)s holds an earlier demo, whose files have changed since. Run the demo with --fresh to write it "
            "again, or set OPENCLAW_STATE_DIR to another folder."
        )
        raise Refused(sentence % {"folder": source})


def _check_nobody_serves(store):
    if locks.is_held(store / "state" / locks.SERVING):
        sentence = _("OpenClaw Web is running in %(home)s. Stop the server before you remove its demo.")
        raise Refused(sentence % {"home": store})


def _empty(folder, keep=()):
    """Remove what the demo wrote. The marker goes last: until then the folder is known to be ours."""
    if not (folder / MARKER).exists():
        return
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name == MARKER):
        if entry.name == "state" and entry.name in keep:
            _empty_files(entry)
        elif entry.name not in keep:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _empty_files(folder):
    for file in folder.iterdir():
        if file.is_file() and not file.name.endswith(".lock"):
            file.unlink()


def _write(source, say):
    """Write OpenClaw's home, once; one that was interrupted is written again."""
    marker = source / MARKER
    if marker.exists():
        if json.loads(marker.read_text())["complete"]:
            return
        _empty(source)
    source.mkdir(parents=True, exist_ok=True)
    _mark(source, is_complete=False)
    truth = write_home(source, until_ms=clock.now_ms() // DAY * DAY)
    _mark(source, is_complete=True, truth=truth.as_dict())
    counts = {name: amounts.format_amount(name, getattr(truth.live, name)) for name in ("sessions", "turns")}
    say(_("Wrote %(sessions)s with %(turns)s to %(folder)s") % (counts | {"folder": source}))


def _mark(folder: Path, *, is_complete, **more):
    text = json.dumps({"complete": is_complete, **more}, ensure_ascii=False)
    (folder / MARKER).write_text(text, encoding="utf-8")


def _collect(source):
    terminal = Terminal()
    job = jobs.run_now("collect", {"source": str(source)}, by=NAME, listener=terminal)
    terminal.close()
    if job.state != JobRun.State.FINISHED:
        raise Refused(job.message)


def _remember_the_first_day():
    """The workspace files as the agents were given them: earlier versions, as a collect on that day had kept them."""
    for agent in Agent.objects.filter(agent_id__in=("main", "research")):
        began = Session.objects.using(agent.db).aggregate(began=Min("created_at"))["began"] or 0
        for name, text in read_shipped_files(agent.agent_id).items():
            store_version(agent.db, name, text.encode(), modified_ms=began)


def _seal():
    """A checkpoint of the session whose compaction took big outputs out of sight; the same one each time."""
    agent = Agent.objects.filter(agent_id="research").first()
    if agent:
        list(checkpoints.build_checkpoints(agent, checkpoints.find_session(agent, "agent:research:main"), by=NAME))


def _judge():
    """Make samples of some sessions and judge most of them; samples somebody has are left as they are."""
    if DatasetSample.objects.exists():
        return
    for agent in Agent.objects.order_by("agent_id"):
        sessions = Session.objects.using(agent.db).filter(session_key__in=SAMPLED).order_by("id")
        for session_id in sessions.values_list("id", flat=True):
            make_samples(agent, session_id, None, by=NAME)
    for sample in DatasetSample.objects.order_by("id"):
        if verdict := _verdict(sample):
            label_sample(sample.id, verdict[0], by=NAME, output=verdict[1], notes=verdict[2])


def _verdict(sample):
    """(status, edited reply, notes) of a sample, or None for one that waits for somebody."""
    status = DatasetSample.Status
    body, draw = sample.body, int(sample.id[:4], 16) % 12
    reply = body["agentReply"].strip()
    first, _sep, rest = reply.partition("\n\n")
    if "sk-fake" in body["userMessage"]:
        return status.REJECTED, None, "There is a key in it."
    if body["userMessage"].startswith(NOBODYS_WORDS):
        return status.REJECTED, None, "Nobody said that, the gateway did."
    if len(reply) < 8 or reply == "NO_REPLY":
        return status.REJECTED, None, "Nothing to learn from."
    if draw < 3:
        return None
    if draw == 3:
        return status.NEEDS_REVIEW, None, "Is the number right? Ask the bakery."
    if draw < 9 and rest and len(first) > 24:
        return status.APPROVED, first, "The first paragraph is the answer."
    if draw == 9 and len(reply) > 300:
        return status.REJECTED, None, "Too long for a chat."
    return status.APPROVED, None, ""


def _export():
    if DatasetExport.objects.filter(state=DatasetExport.State.READY).exists():
        return
    export, job = exports.make_here("Bakery replies", "sharegpt", "reply", by=NAME)
    if export.state != export.State.READY:
        raise Refused(job.message)


def _link():
    user = User.objects.filter(username=NAME).first()
    return accounts.make_sign_in_link(user) if user else accounts.add_user(NAME, User.Role.ADMIN, by=NAME)[1]
