"""Finishes or undoes the rollbacks that a killed process left under way."""

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

from ..models import RollbackIntent
from ..services import read_version_bytes
from . import apply, intent_store, workspace, workspace_access
from .apply import State
from .intent_store import IntentDetails


def recover(agent: Agent) -> list[dict[str, Any]]:
    """Finish or undo what was under way when a process died; return the results.

    Files of one rollback are finished when all of them were exchanged, and undone otherwise.
    """
    with workspace_access.exclusive_write(agent):
        return recover_locked(agent)


def recover_all() -> Iterator[str]:
    """Recover every agent whose database can be read; yields a sentence for each file.

    A file that could not be recovered has a sentence as well.
    """
    for agent in Agent.objects.select_related("database").order_by("agent_id"):
        try:
            if is_open(agent.db):
                yield from (_in_words(agent, result) for result in recover(agent))
        except Refused as refused:
            words = {"agent": agent.agent_id, "reason": refused.sentence}
            yield _("A rollback of agent %(agent)s broke off and is still unfinished: %(reason)s") % words
        except (databases.UnusableAgent, DatabaseError):
            continue  # reported elsewhere


def is_open(db: str) -> bool:
    """Whether a rollback is under way, or broke off."""
    return RollbackIntent.objects.using(db).filter(ended_at=None).exists()


def _in_words(agent, result):
    words = {"agent": agent.agent_id, "file": result["file"]}
    if result["state"] == State.DONE:
        return _("A rollback of agent %(agent)s broke off. It is finished: %(file)s.") % words
    return _("A rollback of agent %(agent)s broke off. It is undone: %(file)s is as it was.") % words


def recover_locked(agent: Agent) -> list[dict[str, Any]]:
    """Recover an agent; the caller holds the lock of `exclusive_write`.

    Nobody else works on an intent that is open then.
    """
    intents = RollbackIntent.objects.using(agent.db).filter(ended_at=None).select_related("after_snapshot")
    waiting = list(intents.order_by("created_at", "group_id", "id"))
    if not waiting:
        return []
    return [
        result
        for _group, group in groupby(waiting, key=lambda intent: intent.group_id)
        for result in _recover_group(agent, group)
    ]


def _recover_group(agent, group):
    """Finish or undo one rollback in the workspace where it was begun.

    OpenClaw may use another workspace for the agent by now.
    """
    intents = list(group)
    with workspace.open_workspace(
        Path(min(IntentDetails.from_json(intent.told).place for intent in intents))
    ) as folder:
        return list(_recover_intents(agent, folder, intents))


def _recover_intents(agent, folder, intents):
    db = agent.db
    placed = [apply.is_in_place(folder, intent) for intent in intents]
    if all(placed):
        intent_store.finish_intents(db, intents)
        for details in (IntentDetails.from_json(intent.told) for intent in intents):
            for take in details.takes:
                write_object = {"object_type": "write", "object_id": take.audit_id, "agent_id": agent.agent_id}
                if not audit_log.has_entry("write_rolled_back", **write_object, since=details.at):
                    audit_log.record(details.by, "write_rolled_back", **write_object, way=take.way)
        exchanges = [(intent, None, intent_store.read_content_before(db, intent)) for intent in intents]
        meanwhile = apply.watch_displaced(db, folder, exchanges)
        return [_build_result(intent, State.DONE, meanwhile) for intent in intents]
    results = []
    for intent, is_placed in zip(intents, placed, strict=True):
        is_undone = True
        if is_placed:
            content = read_version_bytes(intent.after_snapshot) if intent.after_snapshot else None
            is_undone = apply.put_back(db, folder, intent, content, was_there=intent.before_hash is not None)
        else:
            apply.abandon_intent(db, folder, intent)
        results.append(_build_result(intent, State.UNDONE if is_undone else State.DONE, []))
    return results


def _build_result(intent, state, meanwhile):
    return {"file": intent.file_name, "state": state.value, "meanwhile": meanwhile}
