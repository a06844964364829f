"""After a kill: rollbacks that were under way are finished, or undone as if nobody had asked for them."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
from openclaw_web.errors import Refused
from people.audit import log as audit_log

from ..file_bytes import read_version_bytes
from ..models import RollbackIntent
from . import apply, intent_store, workspace, workspace_access
from .apply import State
from .steps import IntentDetails


def recover(agent: Agent) -> list[dict[str, Any]]:
    """Finish or undo what was under way when a process died; what was done, by file.

    Files of one rollback are finished when all of them were exchanged, and undone otherwise.
    """
    with workspace_access.exclusive_write(agent):
        return recover_locked(agent)


def recover_all() -> Iterator[str]:
    """Do so for every agent whose file can be read: a sentence for each file that was seen to, or could not be."""
    for agent in Agent.objects.select_related("database").order_by("agent_id"):
        try:
            if is_open(agent.db):
                yield from (_in_words(agent, one) for one in recover(agent))
        except Refused as refused:
            words = {"agent": agent.agent_id, "reason": refused.sentence}
            yield _("A rollback of agent %(agent)s broke off and is still unfinished: %(reason)s") % words
        except (databases.UnusableAgent, DatabaseError):
            continue  # told elsewhere


def is_open(db: str) -> bool:
    """Whether a rollback is under way, or broke off."""
    return RollbackIntent.objects.using(db).filter(ended_at=None).exists()


def _in_words(agent, told):
    words = {"agent": agent.agent_id, "file": told["file"]}
    if told["state"] == State.DONE:
        return _("A rollback of agent %(agent)s broke off. It is finished: %(file)s.") % words
    return _("A rollback of agent %(agent)s broke off. It is undone: %(file)s is as it was.") % words


def recover_locked(agent: Agent) -> list[dict[str, Any]]:
    """The same for whoever holds the lock of `places.alone`: what is open then, nobody works on."""
    intents = RollbackIntent.objects.using(agent.db).filter(ended_at=None).select_related("after_snapshot")
    waiting = list(intents.order_by("created_at", "group_id", "id"))
    if not waiting:
        return []
    return [one for _group, some in groupby(waiting, key=lambda intent: intent.group_id) for one in _ended(agent, some)]


def _ended(agent, some):
    """One rollback is ended where it was begun, whatever OpenClaw calls the agent's workspace by now."""
    intents = list(some)
    with workspace.open_workspace(
        Path(min(IntentDetails.from_json(intent.told).place for intent in intents))
    ) as folder:
        return list(_recovered(agent, folder, intents))


def _recovered(agent, folder, intents):
    db = agent.db
    placed = [apply.is_in_place(folder, intent) for intent in intents]
    if all(placed):
        intent_store.finish_intents(db, intents)
        _log(agent, intents)
        done = [(intent, None, intent_store.read_content_before(db, intent)) for intent in intents]
        meanwhile = apply.watch_displaced(db, folder, done)
        return [_told(intent, State.DONE, meanwhile) for intent in intents]
    told = []
    for intent, is_placed in zip(intents, placed, strict=True):
        is_undone = True
        if is_placed:
            wanted = read_version_bytes(intent.after_snapshot) if intent.after_snapshot else None
            is_undone = apply.put_back(db, folder, intent, wanted, was_there=intent.before_hash is not None)
        else:
            apply.abandon_intent(db, folder, intent)
        told.append(_told(intent, State.UNDONE if is_undone else State.DONE, []))
    return told


def _log(agent, intents):
    """Note in the log of what people did whose rollbacks these were: the process died before it could."""
    for asked in (IntentDetails.from_json(intent.told) for intent in intents):
        for take in asked.takes:
            about = {"object_type": "write", "object_id": take.audit_id, "agent_id": agent.agent_id}
            if not audit_log.has_entry("write_rolled_back", **about, since=asked.at):
                audit_log.record(asked.by, "write_rolled_back", **about, way=take.way)


def _told(intent, state, meanwhile):
    return {"file": intent.file_name, "state": state.value, "meanwhile": meanwhile}
