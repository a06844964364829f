"""Applies a rollback atomically and watches the replaced files for late writes."""

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
from ..models import FileSnapshot, RollbackIntent
from ..services import read_version_bytes
from . import intent_store, workspace
from .intent_store import Step
from .rollback_plan import hash_content
from .workspace import Folder, NotWritten, OpenFile

log = logging.getLogger(__name__)
LOOKS = (0.0, 1.0, 5.0)  # seconds after the exchange at which a displaced file is read again
ROOM = 1024 * 1024  # bytes that have to be free before anything is done, and some more for each byte of the files
State = RollbackIntent.State


class FileChanged(Refused):
    """A file has changed since the preview, or needs the choice of a person."""

    status = 409

    @classmethod
    def since_preview(cls, name: str) -> "FileChanged":
        """Return the refusal for a file that is another one than in the preview."""
        return cls(_("%(file)s has changed since the preview. Check the new preview.") % {"file": name})


def check_seen(seen: str | None, now: str, name: str) -> None:
    """Raise FileChanged when a preview is not the one that was seen; with None nobody saw one."""
    if seen is not None and seen != now:
        raise FileChanged.since_preview(name)


def apply_steps(agent: Agent, place: Path, steps: Sequence[Step], *, by: str, reason: str) -> list[str]:
    """Do all steps in the workspace `place`, or none.

    Returns ids of versions that somebody wrote meanwhile: they are kept, and not in the files.

    Raises FileChanged when a file is another one by now, NotWritten when one cannot be written, NoRoom on a full disk.
    """
    check_room(steps)
    with workspace.open_workspace(place) as folder, ExitStack() as stack:
        for step in steps:
            folder.check(step.name)
            if step.new_content is not None and len(step.new_content) > workspace.MOST_BYTES:
                words = {"file": step.name, "problem": _("it would be larger than 5 MB")}
                raise NotWritten(_("%(file)s is not written: %(problem)s.") % words)
        with _refuse_without_room(agent):
            intents = intent_store.store_intents(agent.db, place, steps, by, reason)
        open_files: list[OpenFile | None] = []
        try:
            for intent, step in zip(intents, steps, strict=True):
                open_file = _exchange(folder, intent, step)
                if open_file:
                    stack.callback(open_file.close)
                open_files.append(open_file)
            with _refuse_without_room(agent):
                intent_store.finish_intents(agent.db, intents)
        except (Refused, DatabaseError):
            reserve.release(settings.HOME_DIR, reserve.TO_READ)  # to say in the database that nothing was done
            _undo_steps(agent.db, folder, intents, steps, count=len(open_files))
            raise
        try:
            return watch_displaced(
                agent.db, folder, [(i, h, s.now) for i, h, s in zip(intents, open_files, steps, strict=True)]
            )
        except DatabaseError:  # done: the next rollback, or start, checks the displaced files
            reserve.release(settings.HOME_DIR, reserve.TO_READ)  # for the log of what people did
            return []


def record_steps(agent: Agent, place: Path, steps: Sequence[Step], *, by: str, reason: str) -> list[str]:
    """Store steps whose files hold already what they would be given; no file is touched."""
    with _refuse_without_room(agent):
        intents = intent_store.store_intents(agent.db, place, steps, by, reason)
        intent_store.finish_intents(agent.db, intents)
        for intent in intents:
            intent_store.end_intent(agent.db, intent, State.DONE)
    return []


def check_room(steps: Sequence[Step]) -> None:
    """Raise NoRoom when the home has no room for what a rollback stores.

    It is called before anything is done.
    """
    contents = sum(len(data) for step in steps for data in (step.now, step.new_content) if data is not None)
    room.check(settings.HOME_DIR, ROOM + 4 * contents)


def _refuse_without_room(agent):
    return room.refuse_when_full(databases.get_path(agent.agent_id).parent, _("Nothing was written."))


def _exchange(folder: Folder, intent, step: Step) -> OpenFile | None:
    """Do one step and return the opened old file; None where there was none."""
    old_file = folder.open_file(step.name)
    try:
        if hash_content(old_file.data if old_file else None) != step.now_hash:
            raise FileChanged.since_preview(step.name)
        if old_file:
            old_file.check_writable(step.name)
        if step.new_content is None:
            if old_file:
                folder.move_aside(step.name, intent.draft_name)
                _check_displaced(folder, intent, lambda: folder.put_back(intent.draft_name, step.name))
            return old_file
        folder.write_draft(intent.draft_name, step.new_content, old_file, target=step.name)
        if old_file:
            if not folder.exchange(intent.draft_name, step.name):
                raise FileChanged.since_preview(step.name)
            _check_displaced(folder, intent, lambda: folder.exchange(intent.draft_name, step.name))
        elif not folder.create(intent.draft_name, step.name):
            raise FileChanged(_("%(file)s was created in the meantime. Check the new preview.") % {"file": step.name})
        return old_file
    except BaseException:
        if old_file:
            old_file.close()
        raise


def _check_displaced(folder, intent, put_back):
    """Put back what was displaced when it is no plain file.

    Then something else took the file's place at the last moment.
    """
    try:
        displaced = folder.open_draft(intent.draft_name)
    except NotWritten:
        put_back()
        raise
    if displaced:
        displaced.close()


def _undo_steps(db, folder, intents, steps, *, count):
    """Put back what was exchanged before one step failed, or before the database did."""
    for number, (intent, step) in enumerate(zip(intents, steps, strict=True)):
        # The files come first, each of them: the next rollback, or start, ends an intent that is open.
        with suppress(DatabaseError, NotWritten):
            if number == count:  # the next rollback, or the start of the site, puts back what cannot be put back now
                folder.end_exchange(intent.draft_name, intent.file_name)
            if number < count or (number == count and _is_done(folder, intent)):
                put_back(db, folder, intent, step.new_content, was_there=step.now is not None)
            else:
                abandon_intent(db, folder, intent)


def _is_done(folder, intent):
    """Whether a failed step was done nevertheless: an exchange that could not be synced."""
    with suppress(NotWritten):
        return is_in_place(folder, intent)
    return False  # something else is where the file was: it was refused for that


def is_in_place(folder: Folder, intent: RollbackIntent) -> bool:
    """Return whether a file was exchanged, as it and its draft look now.

    Raises NotWritten for a file that nobody may touch.
    """
    if intent.state == State.EXCHANGED:
        return True
    if not folder.end_exchange(intent.draft_name, intent.file_name):
        return False
    after = intent.after_snapshot.content_hash if intent.after_snapshot else ""
    with ExitStack() as stack:
        if draft := _open_draft(folder, intent.draft_name):
            stack.callback(draft.close)
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
    now = folder.open_file(intent.file_name)
    if now:
        now.close()
    return now is not None and now.sha256 == content_hash


def _open_draft(folder, name):
    """Open a draft; None where there is none, or no plain file.

    Somebody may have put a link, a folder or a pipe in its place.
    """
    with suppress(NotWritten):
        return folder.open_draft(name)
    return None


def put_back(db: str, folder: Folder, intent: RollbackIntent, content: bytes | None, *, was_there: bool) -> bool:
    """Undo an exchange; False when somebody changed the file since.

    Then the file stays as it is, and the database says so. The file that comes out is watched as well: somebody may
    have begun to write to it while it was in place.
    """
    with ExitStack() as stack:
        now = folder.open_file(intent.file_name)
        if now:
            stack.callback(now.close)
        if hash_content(now.data if now else None) != hash_content(content) or not _restore_file(
            folder, intent, now, was_there
        ):
            intent_store.finish_intents(db, [intent])
            watch_displaced(db, folder, [(intent, None, intent_store.read_content_before(db, intent))])
            return False
        _watch(db, folder, [(intent, now, content)], State.UNDONE)
    return True


def _restore_file(folder, intent, now, was_there):
    """Restore the file; False, and nothing done, when somebody created one meanwhile."""
    if now is None:
        return folder.create(intent.draft_name, intent.file_name)
    if was_there:
        return folder.exchange(intent.draft_name, intent.file_name)
    folder.move_aside(intent.file_name, intent.draft_name)
    return True


def abandon_intent(db: str, folder: Folder, intent: RollbackIntent) -> None:
    """End an intent that was not carried out.

    A file that was moved away, and gave way to somebody's new one, is kept as a version.
    """
    if folder.end_exchange(intent.draft_name, intent.file_name):
        remove(folder, intent.draft_name)
        intent_store.end_intent(db, intent, State.UNDONE)
    else:
        _watch(db, folder, [(intent, None, intent_store.read_content_before(db, intent))], State.UNDONE)


def watch_displaced(
    db: str, folder: Folder, exchanges: Sequence[tuple[RollbackIntent, OpenFile | None, bytes | None]]
) -> list[str]:
    """Watch displaced files, store late writes as versions, then remove the drafts.

    Returns the ids of these versions. `exchanges` has the intent, the opened old file and the old content of each file.
    Another file under the name of a draft was put in place between the last look and the exchange.
    """
    return _watch(db, folder, exchanges, State.DONE)


def _watch(db, folder, exchanges, state):
    late_ids = {intent.id: intent.meanwhile for intent, _held, _was in exchanges}
    too_large = set()
    with ExitStack() as stack:
        watched = []
        for intent, old_file, before in exchanges:
            names = (intent.draft_name, workspace.aside_name(intent.draft_name))
            displaced = [file for name in names if (file := _open_draft(folder, name))]
            for file in displaced:
                stack.callback(file.close)
            noted = FileSnapshot.objects.using(db).filter(id__in=late_ids[intent.id])
            known = {before, *(read_version_bytes(version) for version in (*noted, intent.after_snapshot) if version)}
            watched.append((intent, [file for file in (old_file, *displaced) if file], known))
        began = time.monotonic()
        for seconds in LOOKS if any(files for _intent, files, _known in watched) else ():
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            for intent, files, known in watched:
                if not _store_late_versions(
                    db, intent, {file.read_again() for file in files} - known, late_ids[intent.id], known
                ):
                    too_large.add(intent.id)
    for intent, _held, _was in exchanges:
        if intent.id in too_large:  # it is too large for a version and stays where it is
            log.warning("%s was displaced and has more than %s bytes now", intent.draft_name, workspace.MOST_KEPT)
        else:
            remove(folder, intent.draft_name)
            remove(folder, workspace.aside_name(intent.draft_name))
        intent_store.end_intent(db, intent, state, late_ids[intent.id])
    return [version_id for ids in late_ids.values() for version_id in ids]


def remove(folder: Folder, name: str) -> None:
    """Remove a draft that nobody needs.

    Where that is impossible the draft stays, and nothing else depends on it.
    """
    try:
        folder.remove(name)
    except NotWritten as refused:
        log.warning("A draft was left: %s", refused.sentence)


def _store_late_versions(db, intent, contents, version_ids, known):
    """Store new contents as versions; False when one is too large for that.

    Each is noted at once with its intent: an import in these seconds must not take it for the file's.
    """
    known |= contents
    storable = [data for data in contents if len(data) <= workspace.MOST_KEPT]
    for data in storable:
        with transaction.atomic(using=db):
            version_ids.append(services.add_snapshot(db, intent.file_name, data, moment=clock.now_ms()).id)
            intent_store.note_concurrent_edits(db, intent, version_ids)
    return len(storable) == len(contents)
