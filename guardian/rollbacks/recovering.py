"""After a kill: rollbacks that were under way are finished, or undone as if nobody had asked for them."""

from itertools import groupby
from typing import Any

from agents.models import Agent

from ..exact import data_of
from ..models import RollbackIntent
from . import exchanging, places, recording, workspace
from .exchanging import State


def recover(agent: Agent) -> list[dict[str, Any]]:
    """Finish or undo what was under way when a process died; what was done, by file.

    Files of one rollback are finished when all of them were exchanged, and undone otherwise.
    """
    with places.alone(agent):
        return recover_alone(agent)


def recover_alone(agent: Agent) -> list[dict[str, Any]]:
    """The same for whoever holds the lock of `places.alone`: what is open then, nobody works on."""
    intents = RollbackIntent.objects.using(agent.db).filter(ended_at=None).select_related("after_snapshot")
    waiting = list(intents.order_by("created_at", "group_id", "id"))
    if not waiting:
        return []
    with workspace.opened(places.workspace_of(agent)) as folder:
        return [
            one
            for _group, some in groupby(waiting, key=lambda intent: intent.group_id)
            for one in _recovered(agent.db, folder, list(some))
        ]


def _recovered(db, folder, intents):
    placed = [_is_in_place(folder, intent) for intent in intents]
    if all(placed):
        recording.finish(db, intents)
        done = [(intent, None, recording.data_before(db, intent)) for intent in intents]
        meanwhile = exchanging.watch(db, folder, done)
        return [_told(intent, State.DONE, meanwhile) for intent in intents]
    told = []
    for intent, is_placed in zip(intents, placed, strict=True):
        is_undone = True
        if is_placed:
            wanted = data_of(intent.after_snapshot) if intent.after_snapshot else None
            is_undone = exchanging.put_back(db, folder, intent, wanted, was_there=intent.before_hash is not None)
        else:
            folder.remove(intent.draft_name)
            recording.end(db, intent, State.UNDONE)
        told.append(_told(intent, State.UNDONE if is_undone else State.DONE, []))
    return told


def _told(intent, state, meanwhile):
    return {"file": intent.file_name, "state": state.value, "meanwhile": meanwhile}


def _is_in_place(folder, intent):
    """Whether the file was exchanged before the process died."""
    if intent.state == State.EXCHANGED:
        return True
    draft, now = folder.displaced(intent.draft_name), folder.held(intent.file_name)
    after = intent.after_snapshot.content_hash if intent.after_snapshot else ""
    try:
        if intent.after_snapshot is None:  # moved aside
            return draft is not None
        if draft is None:  # not written yet, or linked and gone
            return intent.before_hash is None and now is not None and now.sha256 == after
        # What the file held is in the draft only after the exchange, whatever somebody wrote to the file since.
        return draft.sha256 == intent.before_hash or (draft.sha256 != after and now is not None and now.sha256 == after)
    finally:
        for one in filter(None, (draft, now)):
            one.close()
