"""Doing it: the files of a rollback are exchanged, all or none, and what was displaced is watched for late writers."""

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
from openclaw_web import clock
from openclaw_web.disk import reserve, room
from openclaw_web.errors import Refused

from .. import services
from ..file_bytes import read_version_bytes
from ..models import FileSnapshot, RollbackIntent
from . import intent_store, workspace
from .rollback_plan import hash_content
from .steps import Step
from .workspace import Folder, NotWritten, OpenFile

log = logging.getLogger(__name__)
LOOKS = (0.0, 1.0, 5.0)  # seconds after the exchange at which a displaced file is read again
ROOM = 1024 * 1024  # bytes that have to be free before anything is done, and some more for each byte of the files
State = RollbackIntent.State


class FileChanged(Refused):
    """A file is not what it was in the preview, or what it holds has to be chosen by a person."""

    status = 409


def apply_steps(agent: Agent, place: Path, steps: Sequence[Step], *, by: str, reason: str) -> list[str]:
    """Do all steps in the workspace `place`, or none.

    Returns ids of versions that somebody wrote meanwhile: they are kept, and not in the files.

    Raises Changed when a file is another one by now, NotWritten when one cannot be written, NoRoom on a full disk.
    """
    check_room(steps)
    with workspace.open_workspace(place) as folder, ExitStack() as opened:
        for step in steps:
            _check(folder, step)
        with _refusing(agent):
            intents = intent_store.store_intents(agent.db, place, steps, by, reason)
        held: list[OpenFile | None] = []
        try:
            for intent, step in zip(intents, steps, strict=True):
                one = _exchange(folder, intent, step)
                if one:
                    opened.callback(one.close)
                held.append(one)
            with _refusing(agent):
                intent_store.finish_intents(agent.db, intents)
        except (Refused, DatabaseError):
            reserve.release(settings.HOME_DIR, reserve.TO_READ)  # to say in the database that nothing was done
            _take_all_back(agent.db, folder, intents, steps, count=len(held))
            raise
        try:
            return watch_displaced(
                agent.db, folder, [(i, h, s.now) for i, h, s in zip(intents, held, steps, strict=True)]
            )
        except DatabaseError:  # it is done: the next rollback, or start, looks at what was displaced
            reserve.release(settings.HOME_DIR, reserve.TO_READ)  # for the log of what people did
            return []


def _check(folder, step):
    folder.check(step.name)
    if step.wanted is not None and len(step.wanted) > workspace.MOST_BYTES:
        words = {"file": step.name, "problem": _("it would be larger than 5 MB")}
        raise NotWritten(_("%(file)s is not written: %(problem)s.") % words)


def check_room(steps: Sequence[Step]) -> None:
    """Raises NoRoom when the home has not the room for what is kept of a rollback: nothing is begun then."""
    contents = sum(len(data) for step in steps for data in (step.now, step.wanted) if data is not None)
    room.check(settings.HOME_DIR, ROOM + 4 * contents)


def _refusing(agent):
    return room.refuse_when_full(databases.get_path(agent.agent_id).parent, _("Nothing was written."))


def _exchange(folder: Folder, intent, step: Step) -> OpenFile | None:
    """Do one; what the file held, opened, or None where there was none."""
    held = folder.held(step.name)
    try:
        if hash_content(held.data if held else None) != step.now_hash:
            raise _changed(step.name)
        if held:
            held.check_writable(step.name)
        if step.wanted is None:
            if held:
                folder.move_aside(step.name, intent.draft_name)
                _check_displaced(folder, intent, lambda: folder.put_back(intent.draft_name, step.name))
            return held
        folder.write_draft(intent.draft_name, step.wanted, held, of=step.name)
        if held:
            if not folder.exchange(intent.draft_name, step.name):
                raise _changed(step.name)
            _check_displaced(folder, intent, lambda: folder.exchange(intent.draft_name, step.name))
        elif not folder.create(intent.draft_name, step.name):
            raise FileChanged(_("%(file)s was created in the meantime. Check the new preview.") % {"file": step.name})
        return held
    except BaseException:
        if held:
            held.close()
        raise


def _changed(name):
    return FileChanged(_("%(file)s has changed since the preview. Check the new preview.") % {"file": name})


def _check_displaced(folder, intent, put_back):
    """Put back what was displaced when it is no plain file: at the last moment something else took the file's place."""
    try:
        displaced = folder.displaced(intent.draft_name)
    except NotWritten:
        put_back()
        raise
    if displaced:
        displaced.close()


def _take_all_back(db, folder, intents, steps, *, count):
    """Put back what was exchanged before one step failed, or before the database did."""
    for number, (intent, step) in enumerate(zip(intents, steps, strict=True)):
        # The files come first, each of them: the next rollback, or start, ends an intent that is open.
        with suppress(DatabaseError, NotWritten):
            if number == count:  # what cannot be put back now is by the next rollback, or start
                folder.end_exchange(intent.draft_name, intent.file_name)
            if number < count or (number == count and _was_done(folder, intent)):
                put_back(db, folder, intent, step.wanted, was_there=step.now is not None)
            else:
                abandon_intent(db, folder, intent)


def _was_done(folder, intent):
    """Whether what failed was done nevertheless: an exchange that could not be synced."""
    with suppress(NotWritten):
        return is_in_place(folder, intent)
    return False  # something else is where the file was: it was refused for that


def is_in_place(folder: Folder, intent: RollbackIntent) -> bool:
    """Whether a file was exchanged, as it and its draft look now. Raises NotWritten for a file nobody may touch."""
    if intent.state == State.EXCHANGED:
        return True
    if not folder.end_exchange(intent.draft_name, intent.file_name):
        return False
    after = intent.after_snapshot.content_hash if intent.after_snapshot else ""
    with ExitStack() as opened:
        if draft := _draft(folder, intent.draft_name):
            opened.callback(draft.close)
        is_same = draft is not None and folder.is_same(intent.file_name, intent.draft_name)
        if intent.after_snapshot is None:  # moved aside, unless it has both names
            return draft is not None and not is_same
        if draft is None and intent.before_hash is not None:  # not written yet
            return False
        if is_same:  # created, and the name of its draft is left
            folder.remove(intent.draft_name)
            return True
        if draft is not None and draft.sha256 in (intent.before_hash, after):
            # What the file held is in the draft only after the exchange, and then no longer in the file.
            return draft.sha256 == intent.before_hash and not _holds(folder, intent, intent.before_hash)
        return _holds(folder, intent, after)  # linked, and the draft gone; or somebody wrote to the draft


def _holds(folder, intent, content_hash):
    now = folder.held(intent.file_name)
    if now:
        now.close()
    return now is not None and now.sha256 == content_hash


def _draft(folder, name):
    """A draft, opened; None where there is none, or somebody put a link, a folder or a pipe in its place."""
    with suppress(NotWritten):
        return folder.displaced(name)
    return None


def put_back(db: str, folder: Folder, intent: RollbackIntent, wanted: bytes | None, *, was_there: bool) -> bool:
    """Undo an exchange. False when somebody changed the file since: then it stays, and the database says so.

    What comes out is watched as well: somebody may have begun to write to the file while it was in place.
    """
    with ExitStack() as opened:
        now = folder.held(intent.file_name)
        if now:
            opened.callback(now.close)
        if hash_content(now.data if now else None) != hash_content(wanted) or not _exchanged_back(
            folder, intent, now, was_there
        ):
            intent_store.finish_intents(db, [intent])
            watch_displaced(db, folder, [(intent, None, intent_store.read_content_before(db, intent))])
            return False
        _watched(db, folder, [(intent, now, wanted)], State.UNDONE)
    return True


def _exchanged_back(folder, intent, now, was_there):
    """Have the file as it was; False, and nothing done, when somebody created one where there should be none."""
    if now is None:
        return folder.create(intent.draft_name, intent.file_name)
    if was_there:
        return folder.exchange(intent.draft_name, intent.file_name)
    folder.move_aside(intent.file_name, intent.draft_name)
    return True


def abandon_intent(db: str, folder: Folder, intent: RollbackIntent) -> None:
    """End what was not done. A file that was moved away, and gave way to somebody's new one, is kept as a version."""
    if folder.end_exchange(intent.draft_name, intent.file_name):
        remove(folder, intent.draft_name)
        intent_store.end_intent(db, intent, State.UNDONE)
    else:
        _watched(db, folder, [(intent, None, intent_store.read_content_before(db, intent))], State.UNDONE)


def watch_displaced(
    db: str, folder: Folder, done: Sequence[tuple[RollbackIntent, OpenFile | None, bytes | None]]
) -> list[str]:
    """Read displaced files again and again: what somebody wrote into one is a version. Then their drafts go.

    Another file under the name of a draft was put in place between the last look and the exchange.
    """
    return _watched(db, folder, done, State.DONE)


def _watched(db, folder, done, state):
    found = {intent.id: intent.meanwhile for intent, _held, _was in done}
    too_large = set()
    with ExitStack() as opened:
        looked = []
        for intent, held, was in done:
            names = (intent.draft_name, workspace.aside_name(intent.draft_name))
            displaced = [file for name in names if (file := _draft(folder, name))]
            for file in displaced:
                opened.callback(file.close)
            noted = FileSnapshot.objects.using(db).filter(id__in=found[intent.id])
            known = {was, *(read_version_bytes(one) for one in (*noted, intent.after_snapshot) if one)}
            looked.append((intent, [one for one in (held, *displaced) if one], known))
        began = time.monotonic()
        for seconds in LOOKS if any(files for _intent, files, _known in looked) else ():
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            for intent, files, known in looked:
                if not _keep(db, intent, {file.now() for file in files} - known, found[intent.id], known):
                    too_large.add(intent.id)
    for intent, _held, _was in done:
        if intent.id in too_large:  # no version can hold it: it stays where it is
            log.warning("%s was displaced and has more than %s bytes now", intent.draft_name, workspace.MOST_KEPT)
        else:
            remove(folder, intent.draft_name)
            remove(folder, workspace.aside_name(intent.draft_name))
        intent_store.end_intent(db, intent, state, found[intent.id])
    return [one for some in found.values() for one in some]


def remove(folder: Folder, name: str) -> None:
    """Remove a draft that nobody needs; where that is impossible it stays, and nothing else depends on it."""
    try:
        folder.remove(name)
    except NotWritten as refused:
        log.warning("A draft was left: %s", refused.sentence)


def _keep(db, intent, contents, found, known):
    """Keep what is new as versions; False when one is too large for that.

    Each is noted at once with its intent: an import in these seconds must not take it for the file's.
    """
    known |= contents
    kept = [data for data in contents if len(data) <= workspace.MOST_KEPT]
    for data in kept:
        with transaction.atomic(using=db):
            found.append(services.add_snapshot(db, intent.file_name, data, moment=clock.now_ms()).id)
            intent_store.note_concurrent_edits(db, intent, found)
    return len(kept) == len(contents)
