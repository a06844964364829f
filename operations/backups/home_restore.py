"""Restores a backup: unpacks it beside the home, checks it, updates it, and exchanges the homes.

Until the exchange, one rename of the kernel's, the old home is untouched. A restore that is killed before it leaves a
draft that the next restore removes; one that is killed after it leaves a restored home and the old one beside it.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db import connections
from django.utils.translation import gettext as _

from openclaw_web import clock, reasons
from openclaw_web.disk import home as homes
from openclaw_web.disk import locks, publication, room
from openclaw_web.disk.drafts import create_draft, sync_folder
from openclaw_web.errors import Refused
from openclaw_web.sqlite import inspection

from . import backup_format, backup_reader, verification

AT_FDCWD, RENAME_EXCHANGE = -100, 2
# Files that a process creates in a home when it only reads it, and files that can be created again.
BLANK = re.compile(
    r"secret\.key|static/.*|state/(?:[\w-]+\.lock|running|running/.*|static\.sha256|agent-template-\w+\.sqlite"
    r"|templates-\w+|templates-\w+/.*|copies/lock|reserve|openclaw\.sqlite-(?:wal|shm))"
)
GLOBAL = "state/openclaw.sqlite"
OF_EVERY_HOME = dict.fromkeys(("django_migrations", "django_content_type", "auth_permission"), "TRUE")
# Rows that checks of backups before a restore create: on a new machine that is the right order.
OF_LOOKING = {"backup_runs": "TRUE", "job_runs": "kind IN ('backup_verify', 'backup_drill')"}
OF_LOOKING |= {"problems": "TRUE", "problem_checks": "TRUE"}  # what a check after that job found


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore: backup, content of the home, path of the old home."""

    path: Path
    home: Path
    manifest: Any
    facts: dict[str, Any]
    old_home: Path | None
    took_ms: int
    lacks: str


def restore(path: Path, *, replace: bool, by: str, progress: Any) -> RestoreResult:
    """Replace our home by the content of the archive at `path`.

    Raises Refused when the archive is damaged or of another version, the home is in use, or there is no space; then the
    home is unchanged.

    An old home is kept beside it; a home that is in use is moved only with `replace`.
    """
    home, began = settings.HOME_DIR, clock.now_ms()
    if home.is_symlink() or home.is_mount():
        sentence = _(
            "%(home)s is a link or a mount point and cannot be replaced. Set OPENCLAW_WEB_HOME to a folder inside it."
        )
        raise Refused(sentence % {"home": home})
    if (home / "backups").is_mount():
        sentence = _(
            "%(folder)s is a mount point and would be moved away with the old home. Mount it elsewhere "
            "during the restore."
        )
        raise Refused(sentence % {"folder": home / "backups"})
    connections.close_all()
    advice = _("Nothing was restored; the home is unchanged.")
    with _hold_home_locks(home), room.refuse_when_full(home.parent, advice):
        if not replace and not is_blank(home):
            sentence = _("The home %(home)s is not empty. With --replace it is moved aside and kept.")
            raise Refused(sentence % {"home": home})
        with _create_home_draft(home) as draft:
            with backup_reader.open_backup(path) as archive:
                facts, result = build_home(archive, draft / "home", by=by, progress=progress, old_home=home)
                manifest = archive.manifest
            old_home = _put_in_place(home, draft / "home")
        return RestoreResult(path, home, manifest, facts, old_home, clock.now_ms() - began, result.lacks)


def build_home(
    archive: backup_reader.Archive, home: Path, *, by: str, progress: Any, old_home: Path | None = None
) -> tuple[dict[str, Any], verification.VerificationResult]:
    """Build a checked home in the folder `home` from an archive, with the backups of `keeps`.

    Returns facts about its content, and the result of the verification.
    """
    room.check(home.parent, archive.manifest.unpacked_bytes)
    home.mkdir(mode=0o700)
    (home / "state").mkdir(mode=0o700)
    (home / homes.RESTORE_MARK).touch(mode=0o600)
    result = verification.unpack(archive, home, progress)
    if old_home:
        _share_backups(old_home, home)
    progress.update(
        archive.manifest.unpacked_bytes, archive.manifest.unpacked_bytes, _("Updating the restored databases")
    )
    return _run_post_restore(home, archive.manifest.id, by, archive.path, result.lacks), result


def is_blank(home: Path) -> bool:
    """Whether a home has no content that anybody would miss."""
    files = (file for file in home.rglob("*") if not file.is_dir() or file.is_symlink())
    return all(_is_blank(home, file) for file in files)


def _is_blank(home, file):
    name = file.relative_to(home).as_posix()
    is_archive = file.parent == home / "backups" and backup_format.BACKUP_NAME.fullmatch(file.name)
    return bool(
        BLANK.fullmatch(name)
        or is_archive
        or (name == GLOBAL and inspection.holds_only(file, OF_EVERY_HOME | OF_LOOKING))
    )


@contextmanager
def _hold_home_locks(home) -> Iterator[None]:
    """Hold every lock of a home.

    Raises Refused when a server, a worker or a job holds one.
    """
    with ExitStack() as stack:
        for name in locks.HOME_LOCKS:
            if not stack.enter_context(locks.lock(home / "state" / name, wait=False)):
                raise Refused(
                    _("%(home)s is in use (%(lock)s). Stop openclaw-web there first.") % {"home": home, "lock": name}
                )
        for file in (home / "state" / "running").glob("*"):
            if not stack.enter_context(locks.lock(file, wait=False)):
                raise Refused(_("A job is running in %(home)s. Wait until the job has ended.") % {"home": home})
        yield


@contextmanager
def _create_home_draft(home) -> Iterator[Path]:
    """Create a folder beside the home to build in.

    Leftovers of an interrupted restore are removed or finished first.
    """
    for leftover in home.parent.glob(f"{home.name}.before-restore-*"):
        if (leftover / homes.RESTORE_MARK).is_file():
            shutil.rmtree(leftover)
    (home / homes.RESTORE_MARK).unlink(missing_ok=True)
    with ExitStack() as stack:
        try:
            draft = stack.enter_context(create_draft(home.parent / f"{home.name}.restoring"))
        except PermissionError as exc:
            sentence = _("%(folder)s is not writable, and the home has to be replaced there: %(why)s.")
            raise Refused(sentence % {"folder": home.parent, "why": reasons.describe_os_error(exc)}) from exc
        yield draft


def _put_in_place(home, restored):
    """Exchange the homes; returns the path of the old one, None when it was empty."""
    os.sync()  # all unpacked files have to be on the disk before the exchange
    was_blank = is_blank(home)
    beside = homes.find_replaced_path(home, datetime.fromtimestamp(clock.now_ms() / 1000, UTC))
    restored.rename(beside)
    # The system and the disk can exchange two names atomically, mostly on Linux.
    libc = ctypes.CDLL(None, use_errno=True)
    names = (AT_FDCWD, bytes(beside), AT_FDCWD, bytes(home))
    if not hasattr(libc, "renameat2") or libc.renameat2(*names, RENAME_EXCHANGE):
        _exchange_in_steps(beside, home)
    sync_folder(home.parent)
    (home / homes.RESTORE_MARK).unlink()
    if was_blank:
        shutil.rmtree(beside)
        return None
    return beside


def _exchange_in_steps(restored, home):
    # A process that starts in between waits for us.
    # If we were killed, it finishes the exchange (openclaw_web.disk.home).
    between = homes.get_parking_path(home)
    home.rename(between)
    try:
        restored.rename(home)
    except OSError as exc:  # another process created a home meanwhile
        homes.put_back(home)
        sentence = _("Another process created %(home)s in the meantime. Nothing was restored; the home is unchanged.")
        raise Refused(sentence % {"home": home}) from exc
    between.rename(restored)


def _share_backups(old, new):
    """Link the backups of the old home into the new one."""
    if (old / "backups").is_symlink():
        (new / "backups").symlink_to((old / "backups").readlink())
        return
    archives = [file for file in (old / "backups").glob("openclaw-web-*.tar.zst") if file.is_file()]
    if archives:
        (new / "backups").mkdir(mode=0o700)
    for file in archives:
        try:
            os.link(file, new / "backups" / file.name)
        except OSError:  # a file of another user, or a file system without links
            shutil.copyfile(file, new / "backups" / file.name)
            publication.restrict(new / "backups" / file.name, 0o600)


def _run_post_restore(home, backup_id, by, path, lacks):
    """Update a restored home in a process of its own: this process belongs to another home."""
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment |= {
        "OPENCLAW_WEB_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
        "OPENCLAW_WEB_LOG_LEVEL": "ERROR",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.BASE_DIR), *sys.path])),
    }
    command = [sys.executable, "-P", "-m", "operations.backups.post_restore", backup_id, by, str(path), lacks]
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    if process.returncode:
        why = (process.stderr.strip().splitlines() or [_("the process was killed")])[-1]
        raise Refused(_("The restored databases could not be updated: %(why)s") % {"why": why[:500]})
    return orjson.loads(process.stdout.splitlines()[-1])
