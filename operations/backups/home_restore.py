"""Putting a backup back: unpacked beside the home, checked, brought up to date, and only then put in its place.

Until the exchange, one rename of the kernel's, the old home is untouched. Whoever is killed before it leaves a draft
that the next restore removes; whoever is killed after it leaves a restored home and the old one beside it.
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

from . import backup_paths, backup_reader, verification

AT_FDCWD, RENAME_EXCHANGE = -100, 2
# What a process makes in a home by only looking at it, or makes again.
BLANK = re.compile(
    r"secret\.key|static/.*|state/(?:[\w-]+\.lock|running|running/.*|static\.sha256|agent-template-\w+\.sqlite"
    r"|templates-\w+|templates-\w+/.*|copies/lock|reserve|openclaw\.sqlite-(?:wal|shm))"
)
GLOBAL = "state/openclaw.sqlite"
OF_EVERY_HOME = dict.fromkeys(("django_migrations", "django_content_type", "auth_permission"), "TRUE")
# Rows of who looked at backups before restoring one, which is the right order on a new machine.
OF_LOOKING = {"backup_runs": "TRUE", "job_runs": "kind IN ('backup_verify', 'backup_drill')"}
OF_LOOKING |= {"problems": "TRUE", "problem_checks": "TRUE"}  # what a check after that job found


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """A home that was put back: which backup, what is in it, and where the home before it is."""

    path: Path
    home: Path
    manifest: Any
    facts: dict[str, Any]
    kept: Path | None
    took_ms: int
    lacks: str


def restore(path: Path, *, replace: bool, by: str, progress: Any) -> RestoreResult:
    """Make our home what the archive at `path` holds. An old home is kept beside it, and only with `replace` moved.

    Raises Refused when the archive is not sound or of another version, somebody uses the home, or there is no room;
    the home is what it was then.
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
    nothing = _("Nothing was restored; the home is unchanged.")
    with _nobody_else(home), room.refuse_when_full(home.parent, nothing):
        if not replace and not is_blank(home):
            sentence = _("The home %(home)s is not empty. With --replace it is moved aside and kept.")
            raise Refused(sentence % {"home": home})
        return _restored(path, home, by, progress, began)


def _restored(path, home, by, progress, began):
    with _draft(home) as draft:
        with backup_reader.open_backup(path) as archive:
            facts, found = build_home(archive, draft / "home", by=by, progress=progress, keeps=home)
            manifest = archive.manifest
        kept = _put_in_place(home, draft / "home")
    return RestoreResult(path, home, manifest, facts, kept, clock.now_ms() - began, found.lacks)


def build_home(
    archive: backup_reader.Archive, home: Path, *, by: str, progress: Any, keeps: Path | None = None
) -> tuple[dict[str, Any], verification.VerificationResult]:
    """Make the folder `home` a checked home out of an archive, with the archives of `keeps`.

    Returns what is in it, and what was compared on the way.
    """
    room.check(home.parent, archive.manifest.unpacked_bytes)
    home.mkdir(mode=0o700)
    (home / "state").mkdir(mode=0o700)
    (home / homes.RESTORE_MARK).touch(mode=0o600)
    found = verification.unpack(archive, home, progress)
    if keeps:
        _share_archives(keeps, home)
    progress.update(
        archive.manifest.unpacked_bytes, archive.manifest.unpacked_bytes, _("Updating the restored databases")
    )
    return _revive(home, archive.manifest.id, by, archive.path, found.lacks), found


def is_blank(home: Path) -> bool:
    """Whether nothing in a home would be missed: nobody has done more than look at it."""
    files = (file for file in home.rglob("*") if not file.is_dir() or file.is_symlink())
    return all(_is_blank(home, file) for file in files)


def _is_blank(home, file):
    name = file.relative_to(home).as_posix()
    is_archive = file.parent == home / "backups" and backup_paths.BACKUP_NAME.fullmatch(file.name)
    return bool(BLANK.fullmatch(name) or is_archive or (name == GLOBAL and _is_unused(file)))


def _is_unused(file):
    """Whether the global database holds no rows but those that every new one has, or that looking at backups makes."""
    return inspection.holds_only(file, OF_EVERY_HOME | OF_LOOKING)


@contextmanager
def _nobody_else(home) -> Iterator[None]:
    """Hold every lock of a home that people work in. Raises Refused when a server, a worker or a job has one."""
    with ExitStack() as held:
        for name in locks.HOME_LOCKS:
            if not held.enter_context(locks.lock(home / "state" / name, wait=False)):
                raise Refused(
                    _("%(home)s is in use (%(lock)s). Stop openclaw-web there first.") % {"home": home, "lock": name}
                )
        for file in (home / "state" / "running").glob("*"):
            if not held.enter_context(locks.lock(file, wait=False)):
                raise Refused(_("A job is running in %(home)s. Wait until the job has ended.") % {"home": home})
        yield


@contextmanager
def _draft(home) -> Iterator[Path]:
    """A folder beside the home to build in. What a restore that died left is removed or finished first."""
    for left in home.parent.glob(f"{home.name}.before-restore-*"):
        if (left / homes.RESTORE_MARK).is_file():
            shutil.rmtree(left)
    (home / homes.RESTORE_MARK).unlink(missing_ok=True)
    with ExitStack() as held:
        try:
            draft = held.enter_context(create_draft(home.parent / f"{home.name}.restoring"))
        except PermissionError as exc:
            sentence = _("%(folder)s is not writable, and the home has to be replaced there: %(why)s.")
            raise Refused(sentence % {"folder": home.parent, "why": reasons.describe_os_error(exc)}) from exc
        yield draft


def _put_in_place(home, restored):
    """Exchange the homes; where the old one is now, None when there was nothing in it."""
    os.sync()  # everything that was unpacked is on the disk before it counts
    was_blank = is_blank(home)
    beside = homes.find_replaced_path(home, datetime.fromtimestamp(clock.now_ms() / 1000, UTC))
    restored.rename(beside)
    if not _exchange(beside, home):
        _exchange_in_steps(beside, home)
    sync_folder(home.parent)
    (home / homes.RESTORE_MARK).unlink()
    if was_blank:
        shutil.rmtree(beside)
        return None
    return beside


def _exchange(one: Path, other: Path) -> bool:
    """Give each the name of the other, at once; whether this system and this disk can do that (Linux, mostly)."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = (AT_FDCWD, bytes(one), AT_FDCWD, bytes(other))
    return hasattr(libc, "renameat2") and not libc.renameat2(*names, RENAME_EXCHANGE)


def _exchange_in_steps(restored, home):
    # Whoever starts in between waits for us; when we have died, it puts right what is there (openclaw_web.disk.home).
    between = homes.get_parking_path(home)
    home.rename(between)
    try:
        restored.rename(home)
    except OSError as exc:  # who came while there was no home has made one
        homes.put_back(home)
        sentence = _("Another process created %(home)s in the meantime. Nothing was restored; the home is unchanged.")
        raise Refused(sentence % {"home": home}) from exc
    between.rename(restored)


def _share_archives(old, new):
    """The backups in the old home are in the new one as well: the same files under two names."""
    if (old / "backups").is_symlink():
        (new / "backups").symlink_to((old / "backups").readlink())
        return
    found = [file for file in (old / "backups").glob("openclaw-web-*.tar.zst") if file.is_file()]
    if found:
        (new / "backups").mkdir(mode=0o700)
    for file in found:
        try:
            os.link(file, new / "backups" / file.name)
        except OSError:  # a file of another user, or a file system without links
            shutil.copyfile(file, new / "backups" / file.name)
            publication.restrict(new / "backups" / file.name, 0o600)


def _revive(home, backup_id, by, path, lacks):
    """Let a process of its own bring a restored home up to date: everything in this one belongs to another home."""
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment |= {
        "OPENCLAW_WEB_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
        "OPENCLAW_WEB_LOG_LEVEL": "ERROR",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.BASE_DIR), *sys.path])),
    }
    command = [sys.executable, "-m", "operations.backups.post_restore", backup_id, by, str(path), lacks]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [_("the process was killed")])[-1]
        raise Refused(_("The restored databases could not be updated: %(why)s") % {"why": why[:500]})
    return orjson.loads(done.stdout.splitlines()[-1])
