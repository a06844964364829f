"""The job that hands one change to an agent.

It runs `openclaw agent` with a message file, never the gateway's own calls.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents import services as agents
from agents.homes import normalise_or_empty
from agents.models import CollectorSource
from jobs.kinds import Kind
from jobs.progress import CancelledJob, Progress
from ledger.collectors.machine_prompts import HANDOVER_SESSION
from openclaw_web import clock, reasons
from openclaw_web.disk import locks, packing
from openclaw_web.errors import Refused

from ..models import Handover
from ..rollbacks import apply, rollback_plan, service, workspace_access
from ..rollbacks.apply import FileChanged
from ..rollbacks.intent_store import Step
from ..rollbacks.rollback_plan import hash_content
from ..services import bytes_to_text
from ..standing import read_live_record
from ..standing.effects import LOCK
from . import external_command, messages, outcomes
from .external_command import run_command

LATE = 30  # seconds that the command may take beyond the time it was given
MOST_ANSWER = 4_000  # characters that are kept of what the command printed
Outcome, State = Handover.Outcome, Handover.State


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job and return the outcome of the change.

    A change whose command was started once is never handed over a second time.

    Raises Refused when nothing may be handed over, or when the file or its record has changed.
    """
    agent = agents.get(params["agent"])
    row = Handover.objects.using(agent.db).filter(id=params["handover"]).first()
    if row is None:
        raise agents.NoAgent(databases.UnknownAgent(agent.agent_id).sentence)
    sentence = _("A change is being handed to %(agent)s already. Wait until that has ended.")
    with locks.exclusive_lock(LOCK.format(agent.agent_id), sentence % {"agent": agent.agent_id}):
        _message_path(row.id).unlink(missing_ok=True)  # of a process that was killed
        if row.state == State.RUNNING:
            outcomes.store_outcome(agent, row, Outcome.INTERRUPTED)
        elif row.state == State.QUEUED:
            _hand_over(agent, row, progress)
    return {"message": outcomes.sentence_of(row), "handover": row.id, "outcome": row.outcome}


def undo(params: dict[str, Any]) -> None:
    """End a change whose command was not started, or whose process is gone.

    The job was canceled, or its process died.
    """
    handover_id = params.get("handover", "")
    _message_path(handover_id).unlink(missing_ok=True)
    with suppress(databases.UnusableAgent):
        rows = Handover.objects.using(databases.get_alias(params.get("agent", ""))).filter(id=handover_id)
        ended = {"state": State.ENDED, "ended_at": clock.now_ms()}
        rows.filter(state=State.QUEUED).update(**ended, outcome=Outcome.NOT_STARTED)
        rows.filter(state=State.RUNNING).update(**ended, outcome=Outcome.INTERRUPTED)


def _hand_over(agent, row, progress):
    command, root = _prepare(agent, row)
    with _storing_outcome(agent, row) as set_outcome, _message_file(agent, row) as path:
        name = normalise_or_empty(agent.home_name) or agent.agent_id
        arguments = [command, "agent", "--agent", name, "--session-key", f"agent:{name}:{HANDOVER_SESSION}"]
        arguments += ["--message-file", str(path), "--json", "--timeout", str(external_command.get_seconds())]
        words = {"agent": agent.agent_id, "file": row.file_name}
        sentence = _("Asking %(agent)s to change %(file)s") % words
        result = run_command(
            arguments,
            environment=external_command.build_environment(root),
            folder=Path("/"),
            seconds=external_command.get_seconds() + LATE,
            check_wanted=lambda: progress.update(0, None, sentence),
        )
        try:
            payloads = orjson.loads(result.output)["result"]["payloads"]
            text = "\n".join(payload["text"] for payload in payloads)
        except (orjson.JSONDecodeError, KeyError, TypeError):
            text = "\n".join(part.decode("utf-8", "replace") for part in (result.output, result.errors))
        answer = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode().strip()[:MOST_ANSWER]
        fallback = Outcome.FAILED if result.status else Outcome.UNCHANGED  # while the file is as it was
        set_outcome(Outcome.TIMED_OUT if result.is_timed_out else fallback, answer)


def _prepare(agent, row) -> tuple[str, Path]:
    """Return the command and the agent's home, once the file is as recorded.

    The file has to be what OpenClaw's record names.

    Raises Refused, with the row ended, where it is not; then nothing was started.
    """
    try:
        command = external_command.get_command()
        source = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, agent_id=agent.agent_id).first()
        if source is None:
            raise Refused(_("The home of agent %(agent)s is not known.") % {"agent": agent.agent_id})
        with workspace_access.exclusive_job_write(agent):
            _put_back(agent, row)
            now, record = rollback_plan.read_memory_file(agent, row.file_name), read_live_record(agent, row.file_name)
            is_agreed = (
                record is not None and record.is_trusted and record.file_hash == hash_content(now) == row.before_hash
            )
            if not is_agreed:
                sentence = _("%(file)s or OpenClaw's record of it has changed. Check the new preview.")
                raise FileChanged(sentence % {"file": row.file_name})
            row.state, row.started_at = State.RUNNING, clock.now_ms()
            row.save(using=agent.db, force_update=True)
    except Refused:
        row.state, row.outcome, row.ended_at = State.ENDED, Outcome.NOT_STARTED, clock.now_ms()
        row.save(using=agent.db, force_update=True)
        raise
    return command, Path(source.root)


def _put_back(agent, row):
    """Put back what OpenClaw's record names, where the file holds something else.

    That does no harm to the file's place in the prompt.
    """
    place = workspace_access.get_workspace(agent)
    now = rollback_plan.read_workspace_file(place, row.file_name)
    if not row.puts_back or hash_content(now) == row.before_hash:
        return
    if hash_content(now) != row.now_hash:
        raise FileChanged.since_preview(row.file_name)
    workspace_access.check_writes()
    audit_ids = (row.audit_id,) if row.audit_id else ()
    step = Step(row.file_name, now, packing.unpack(bytes(row.before_zstd)), audit_ids, (), is_put=True)
    apply.check_room([step])
    service.store_copies(agent, [step])
    reason = _("What OpenClaw's record names is put back, so that the agent can change the file.")
    apply.apply_steps(agent, place, [step], by=row.asked_by, reason=reason)


@contextmanager
def _storing_outcome(agent, row) -> Iterator[Callable[[Handover.Outcome, str], None]]:
    """Store what became of the change, however the command ended."""
    results: list[tuple[Handover.Outcome, str]] = []
    fallback = Outcome.INTERRUPTED
    try:
        yield lambda outcome, answer: results.append((outcome, answer))
    except CancelledJob:
        fallback = Outcome.CANCELED
        raise
    except OSError as exc:
        results.append((Outcome.FAILED, reasons.describe_os_error(exc)))
    finally:
        with workspace_access.exclusive_job_write(agent):
            outcomes.store_outcome(agent, row, *(results[-1] if results else (fallback, "")))


@contextmanager
def _message_file(agent, row) -> Iterator[Path]:
    """Write the task into a file that only we may read; it is removed afterwards."""
    before, after = (bytes_to_text(packing.unpack(bytes(data))) for data in (row.before_zstd, row.wanted_zstd))
    path = _message_path(row.id)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(messages.build_change_message(row.file_name, before, after))
        yield path
    finally:
        path.unlink(missing_ok=True)


def _message_path(handover_id):
    return settings.HOME_DIR / "state" / f"handover-{handover_id}.txt"


JOB = Kind(
    run=run,
    label=gettext_lazy("Change handed to an agent"),
    audit_text=gettext_lazy("handed a change to an agent"),
    cancel_text=gettext_lazy("Where the command was started already, the agent may still carry out the change."),
    page="guardian:handover_detail",
    page_params=("agent", "handover"),
    undo=undo,
    ends_with_terminal=True,
)
