"""Writes a backup while the site is in use, and verifies it before it counts."""

import os
import stat
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.conf import settings
from django.utils.translation import gettext as _

from agents import databases
from artifacts.store import inventory, layout, locks
from episodes.chain import heads
from openclaw_web.disk import publication, room
from openclaw_web.disk.drafts import create_draft, sync_folder
from openclaw_web.errors import Refused
from openclaw_web.sqlite import database_copies
from people.configuration import setting_values as configuration

from . import backup_format, backup_reader, source_databases
from .backup_format import LIST, MANIFEST, Writer, read_chunks
from .manifest import DatabaseEntry, FileEntry, Files, Manifest
from .verification import DAMAGED_NAMED, VerificationResult, compare_content, verify_database

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
ENVIRONMENT = ("OPENCLAW_WEB_ALLOWED_HOSTS", "OPENCLAW_WEB_HTTPS", "OPENCLAW_WEB_LOG_LEVEL")


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A backup that was written and verified."""

    path: Path
    manifest: Manifest
    bytes: int
    sha256: str
    lacks: str  # what was missing or damaged before, in a sentence


@dataclass(slots=True)
class Work:
    """A backup being written."""

    writer: Writer
    file: BinaryIO
    folder: Path  # for snapshots, and for what is unpacked again
    progress: Any
    total: int
    done: int = 0
    verification: VerificationResult = field(default_factory=VerificationResult)

    def add_done(self, count: int, message: str = "") -> None:
        self.done += count
        self.progress.update(min(self.done, self.total), self.total, message)


def write_backup(run_id: str, created_at: int, folder: Path, *, with_exports: bool, progress: Any) -> BackupResult:
    """Write the backup `run_id` into `folder` and verify it.

    `created_at` is in milliseconds. The file gets its name when the verification has passed.

    Raises Refused when the disk is full, something cannot be read, or what was written cannot be opened again;
    then there is no file.
    """
    home = settings.HOME_DIR
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        usable = False
    if not usable:
        raise Refused(_("Backups cannot be written to %(folder)s. Choose another folder.") % {"folder": folder})
    total, biggest = _measure_sizes(home, with_exports)
    with room.refuse_when_full(folder, _("No backup was created.")), create_draft(folder / "backup") as draft:
        room.check(folder, total // 2 + 2 * biggest)
        path = draft / "archive"
        with path.open("w+b") as file:
            publication.restrict(path, 0o600)
            writer = Writer(file)
            work = Work(writer, file, draft, progress, 2 * total)
            _write_all(work, run_id, created_at, home, with_exports)
            os.fsync(file.fileno())
        with backup_reader.open_backup(path) as archive:
            for entry, chunks in archive.files():
                backup_reader.drain(chunks)
                work.add_done(entry.bytes)
            manifest = archive.manifest
        # A path in `folder` that is not taken yet.
        stamp = datetime.fromtimestamp(created_at / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
        names = (f"openclaw-web-{stamp}{again}.tar.zst" for again in ("", *(f"-{number}" for number in range(2, 1000))))
        target = next(folder / name for name in names if not (folder / name).exists())
        path.rename(target)
        sync_folder(folder)
    return BackupResult(target, manifest, writer.offset, writer.sha256, work.verification.lacks)


def _write_all(work, run_id, created_at, home, with_exports):
    # The global file comes first, so that it never names agents that later copies lack. Artifacts come last, and none
    # is removed until then: all contents that the copies refer to are still there.
    with locks.hold_adoption_lock(layout.get_root()):
        entries = _write_databases(work, home, run_id)
        files = _write_files(work, home, with_exports)
    offset = work.writer.begin_part()
    manifest = Manifest(
        schema="openclaw-web.backup.v1",
        id=run_id,
        created_at=created_at,
        app_version=settings.VERSION,
        with_exports=with_exports,
        databases=entries,
        files=files,
        releases=work.verification.releases,
        emptied=[
            *backup_format.EMPTIED_TABLES,
            *(f"{table}.{column}" for table, column in backup_format.EMPTIED_COLUMNS),
        ],
    )
    data = manifest.as_json()
    work.writer.add(MANIFEST, len(data), [data], is_last=True)
    work.writer.finish(offset)
    work.file.flush()


def _write_databases(work, home, run_id):
    """Copy, pack and check the databases; these three steps run at the same time."""
    with ThreadPoolExecutor(1) as taking, ThreadPoolExecutor(1) as checking:
        snapshot = _copy_database(work, home, backup_format.GLOBAL_PATH)
        database_copies.clear_copy(snapshot, backup_format.EMPTIED_TABLES, backup_format.EMPTIED_COLUMNS)
        waiting = [
            (backup_format.GLOBAL, None, backup_format.GLOBAL_PATH),
            *source_databases.find_agent_databases(snapshot, home),
        ]
        taken: Future = Future()
        taken.set_result(snapshot)
        entries: list[Future] = []
        try:
            for number, database in enumerate(waiting):
                snapshot = taken.result()
                if number + 1 < len(waiting):
                    taken = taking.submit(_copy_database, work, home, waiting[number + 1][2])
                head = _note_head(database[1], snapshot, run_id)
                packed = _pack(work, snapshot, database[2])
                if entries:  # at most one copy waits for its check: each takes space on the disk
                    work.add_done(entries[-1].result().bytes)
                entries.append(checking.submit(_check_database, work, database, packed, head))
            work.add_done(entries[-1].result().bytes)
        finally:
            for pool in (taking, checking):
                pool.shutdown(cancel_futures=True)
    return [entry.result() for entry in entries]


def _note_head(agent_id, snapshot, run_id):
    """Return the head of a copied ledger, and note it in the live file.

    None without a ledger, for one whose end is damaged, and when the live file cannot keep the head comparable.
    """
    try:
        head, db = heads.read_copy_head(snapshot), databases.find_alias(agent_id) if agent_id else None
    except heads.DamagedLedger:  # verification names it; the backup holds everything else
        return None
    return str(head) if head and db and heads.note_copied(db, head, f"backup {run_id}") else None


def _copy_database(work, home, path):
    work.progress.update(min(work.done, work.total), work.total, _("Copying %(path)s") % {"path": path})
    snapshot = work.folder / f"{path.replace('/', '-')}.snapshot"
    source_databases.copy_database(home, path, snapshot)
    return snapshot


def _pack(work, snapshot, path):
    """Add a copied database to the archive and remove the copy.

    Returns the offsets of its first byte and of the byte behind its last one, and its entry.
    """
    start, size = work.writer.begin_part(), snapshot.stat().st_size
    with snapshot.open("rb", buffering=0) as file:
        sha256 = work.writer.add(path, size, read_chunks(file))
    snapshot.unlink()
    work.writer.end_part()
    work.add_done(size, _("Packed %(path)s") % {"path": path})
    return start, work.writer.offset, FileEntry(path=path, bytes=size, sha256=sha256)


def _check_database(work, database, packed, head):
    """Open a database from the unfinished archive; returns its manifest entry."""
    (role, agent, path), (start, end, entry) = database, packed
    chunks = backup_reader.read_member(work.file.fileno(), start, end, entry)
    state = verify_database(path, chunks, work.folder / "unpacked", work.verification)
    return DatabaseEntry(
        **entry.model_dump(),
        role=role,
        agent=agent,
        schema_version=sum(name.partition(".")[0] in _get_apps(role) for name in state.migrations),
        integrity=state.integrity,
        rows=state.rows,
        migrations=state.migrations,
        offset=start,
        head=head,
    )


def _get_apps(role):
    ours = {"agents", "artifacts", "ledger", "gate", "guardian", "datasets", "operations"}
    return settings.AGENT_APPS if role == backup_format.AGENT else ours - settings.AGENT_APPS


def _write_files(work, home, with_exports):
    count = total = 0
    packed_begun = False
    offset = work.writer.begin_part()
    with tempfile.TemporaryFile(dir=work.folder) as list_file:
        for path, source in _list_sources(work, home, with_exports):
            if backup_format.is_packed(path) and not packed_begun:
                work.writer.begin_part(is_packed=True)
                packed_begun = True
            if entry := _add_file(work, path, source):
                list_file.write(orjson.dumps(entry.model_dump()) + b"\n")
                count, total = count + 1, total + entry.bytes
        size, list_offset = list_file.tell(), work.writer.begin_part()
        list_file.seek(0)
        sha256 = work.writer.add(LIST, size, read_chunks(list_file))
    return Files(
        count=count,
        bytes=total,
        offset=offset,
        list_offset=list_offset,
        list_bytes=size,
        list_sha256=sha256,
        damaged=work.verification.damaged,
        missing=work.verification.missing,
    )


def _list_sources(work, home, with_exports):
    """Paths in the home and sources of all other files, in archive order."""
    configuration_file = work.folder / "config.json"
    configuration_file.write_bytes(orjson.dumps(_read_configuration(), option=orjson.OPT_INDENT_2))
    plain, metas, packed = _list_artifacts(home / "artifacts", work.folder)
    archives = _find_archives(home)
    yield from ((path, home / path) for path in archives if not backup_format.is_packed(path))
    yield from _read_paths(home, plain)
    yield from _read_paths(home, metas)
    for path in _find_exports(home) if with_exports else ():
        yield path, home / path
    yield backup_format.CONFIG_PATH, configuration_file
    yield from ((path, home / path) for path in archives if backup_format.is_packed(path))
    yield from _read_paths(home, packed)


def _list_artifacts(root, folder):
    """List the plain blobs, the metadata and the packed blobs of the store, as three files.

    They are written in one walk: of contents that are adopted meanwhile, a backup holds the blob and its metadata, or
    neither.
    """
    lists = [folder / name for name in ("plain", "metas", "packed")]
    with ExitStack() as opened:
        plain, metas, packed = (opened.enter_context(file.open("w")) for file in lists)
        for sha256, paths in inventory.list_contents(root):
            blobs = [path for path in paths if path.endswith((layout.PLAIN, layout.GZIPPED))]
            if not blobs:  # the metadata of a content that was removed, or that was not there a moment ago
                continue
            if len(blobs) == len(paths):
                with locks.hold_publishing_lock(root):  # a writer that was between the two files has placed both now
                    pass
            for path in blobs:
                print(path.removeprefix(f"{root}/"), file=packed if backup_format.is_packed(path) else plain)
            print(layout.meta_name(sha256), file=metas)
    return lists


def _read_paths(home, list_file):
    with list_file.open() as lines:
        for line in lines:
            path = f"artifacts/{line.rstrip()}"
            yield path, home / path


def _find_exports(home):
    return _find_paths(home, backup_format.EXPORT, "export-rows/*", "exports/*/*", "exports/conversations-*")


def _find_archives(home):
    return _find_paths(home, backup_format.ARCHIVE, "archive/*/*/*")


def _find_paths(home, role, *patterns):
    """The paths of files that a backup may hold in this role, sorted."""
    paths = (file.relative_to(home).as_posix() for pattern in patterns for file in home.glob(pattern))
    return sorted(path for path in paths if backup_format.PATHS[role].fullmatch(path))


def _add_file(work, path, source):
    """Add one file to the archive; returns its entry, None without a plain file."""
    expected_hash, verification = backup_format.get_blob_hash(path), work.verification
    try:
        handle = os.open(source, READ)
    except FileNotFoundError:
        return None
    except OSError:  # a link, or another special file that somebody placed there
        _note_damaged(verification, expected_hash or path)
        return None
    with os.fdopen(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            _note_damaged(verification, expected_hash or path)
            return None
        chunks = read_chunks(file)
        if backup_format.is_packed(path):
            chunks = compare_content(path, chunks, verification)
        sha256 = work.writer.add(path, status.st_size, chunks)
    if expected_hash:
        verification.contents.add(expected_hash)
    if expected_hash and not backup_format.is_packed(path) and sha256 != expected_hash:
        _note_damaged(verification, expected_hash)
    work.add_done(status.st_size)
    return FileEntry(path=path, bytes=status.st_size, sha256=sha256)


def _note_damaged(verification, name):
    if len(verification.damaged) < DAMAGED_NAMED:
        verification.damaged.append(name)


def _read_configuration():
    """Settings of this site, for a person who sets it up again.

    It holds no secrets, and no program reads it.
    """
    return {
        "settings": configuration.get_many(*configuration.KEYS),
        "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        "source": str(settings.STATE_DIR),
        "home": str(settings.HOME_DIR),
    }


def _measure_sizes(home, with_exports):
    """About how many bytes a backup reads, and the size of the biggest database."""
    sizes = [file.stat().st_size for file in (home / backup_format.GLOBAL_PATH, *home.glob(databases.FILES))]
    stored = sum(
        inventory.read_size_and_time(paths)[0] for _sha256, paths in inventory.list_contents(home / "artifacts")
    )
    exported = sum((home / path).stat().st_size for path in _find_exports(home)) if with_exports else 0
    archived = sum((home / path).stat().st_size for path in _find_archives(home))
    return sum(sizes) + stored + exported + archived, max(sizes)
