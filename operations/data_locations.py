"""Every place where something of this site lies, for people who remove it.

Nothing is created, locked or changed. The places that only the store knows are read from it without Django's models,
so that a home of another version, or one in use, is read as well.
"""

# pathlib's own methods raise PermissionError in a closed folder, and RuntimeError without a home directory.
# ruff: noqa: PTH110, PTH111, PTH112, PTH113, PTH114

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
from django.db import Error
from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.commands.cli import DEMO_FOLDER
from openclaw_web.disk import drafts, locks
from openclaw_web.sqlite import failures, files

from .backups import backup_paths
from .service.unit_places import get_home_directory

SCHEMA = "openclaw-web.uninstall.v1"
REPLACED = "replaced_home"
GLOBAL = Path("state") / "openclaw.sqlite"
LISTED = 100  # files of one place in a receipt
ULID = drafts.NAME.pattern
BACKUP_FILE = re.compile(
    rf"{backup_paths.BACKUP_NAME.pattern}|openclaw-sources-{ULID}(\.tar\.zst)?|\.(backup|unpacking|looking|sources)\.{ULID}"
)
# All that a home has in its folder. `--check` has to leave everything else alone when a home shares its folder.
HOME_NAMES = re.compile(
    r"agents|archive|artifacts|backups|export-rows|exports|rollback-copies|secret\.(key|\d+)|state|static"
    r"|openclaw-web-demo\.json"
)
ARCHIVE_FILES = (".jsonl.zst", ".manifest.json")
DEMO_MARKER = "openclaw-web-demo.json"  # demo/showcase.py writes it
ROLLBACK_DRAFTS = (".*.rollback", ".*.rollback.old")


@dataclass(frozen=True, slots=True)
class Location:
    """A place with files of ours, and the command that removes them.

    `files` are the files or folders that are ours, where the place holds other files too; empty: all of it is ours. An
    empty `remove` means that nothing has to be removed; `note` says why, or what to think of first. `problem` says why
    nobody can tell what is in the folder.
    """

    kind: str
    path: Path
    remove: str
    note: str = ""
    files: tuple[Path, ...] = ()
    is_measured: bool = True
    problem: str = ""

    @property
    def exists(self) -> bool | None:
        """Whether there is something, a dangling link included; None when nobody can tell."""
        return None if self.why_unknown else any(map(os.path.lexists, self.files or (self.path,)))

    @property
    def why_unknown(self) -> str:
        """Why nobody can tell whether there is something; empty when that is known."""
        return self.problem or next(filter(None, map(find_problem, self.files or (self.path,))), "")

    def count_bytes(self) -> int | None:
        """Bytes of all files; None when they are not counted, or a folder cannot be read."""
        if not self.is_measured:
            return None
        try:
            return sum(_measure(path) for path in self.files or (self.path,))
        except OSError:
            return None

    def as_json(self) -> dict[str, Any]:
        """The place in a receipt."""
        exists = self.exists
        return {
            "kind": self.kind,
            "path": _escape(str(self.path)),
            "exists": exists,
            "bytes": self.count_bytes() if exists else exists and 0,
            "files": [_escape(str(path)) for path in self.files[:LISTED]],
            "file_count": len(self.files),
            "remove": _escape(self.remove) if exists else "",
            "note": _escape(self.note),
        }


@dataclass
class StoredPlaces:
    """Places outside of the home that the store names; `problems` says what could not be read."""

    backup_folders: set[Path] = field(default_factory=set)
    archive_files: set[Path] = field(default_factory=set)
    head_files: set[Path] = field(default_factory=set)
    workspaces: dict[Path, set[str]] = field(default_factory=dict)  # memory files that this site wrote, by folder
    problems: list[str] = field(default_factory=list)


def find_data(home: Path, source: Path) -> tuple[list[Location], list[str]]:
    """Find the places of data of a home, and sentences about what could not be read.

    `source` is the OpenClaw folder, of which only a demo is ours.
    """
    beside = list(_list_beside(home))
    stored = StoredPlaces()
    # A restore may have brought back a store that does not know what was written after its backup.
    for folder in (home, *(location.path for location in beside if location.kind == REPLACED and location.exists)):
        _read_store(stored, folder)
    locations = [_describe_home(home, source), *beside]
    locations += _list_backups(home, stored.backup_folders)
    locations += _list_archives(home, stored.archive_files)
    locations += [
        Location("ledger_head", file, _remove(file), note=_("Proof that the ledger was not changed since."))
        for file in sorted(stored.head_files)
        if may_exist(file) and not _is_below(file, home)
    ]
    locations += [*_list_workspaces(stored.workspaces), *_list_demos(source)]
    return locations, stored.problems


def describe_unknown(locations: Iterable[Location]) -> list[str]:
    """Sentences about the places that cannot be checked, one for each reason."""
    places: dict[str, dict[str, None]] = {}
    for location in locations:
        if why := location.why_unknown:
            paths = [path for path in location.files if find_problem(path)] or [location.path]
            places.setdefault(why, {}).update(dict.fromkeys(_escape(str(path)) for path in paths))
    sentence = _("These places cannot be checked (%(why)s), so they may hold something of this site: %(places)s")
    return [sentence % {"why": why, "places": ", ".join(paths)} for why, paths in places.items()]


def find_problem(path: str | Path) -> str:
    """Why nobody can tell whether a path exists; empty when that is known."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as exc:
        return reasons.describe_os_error(exc)
    return ""


def may_exist(path: Path) -> bool:
    """Whether something is there, or nobody can tell."""
    return os.path.lexists(path) or bool(find_problem(path))


def list_folder(folder: Path) -> tuple[list[Path], str]:
    """List a folder; a missing one has no entries.

    Also tells why it cannot be listed or entered.
    """
    try:
        entries = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as exc:
        return [], reasons.describe_os_error(exc)
    return entries, find_problem(f"{folder}/.")  # fails where names are shown and nothing else


def protect(locations: Iterable[Location], source: Path) -> Iterator[Location]:
    """Leave out commands that would also remove the OpenClaw folder `source`, or the person's own."""
    others = [Path("/"), get_home_directory()]
    if not os.path.isfile(source / DEMO_MARKER):
        others.append(source)
    for location in locations:
        removed = (location.files or (location.path,)) if location.remove else ()
        holds = {other for other in others for path in removed if not os.path.islink(path) and _holds(path, other)}
        if holds:
            text = _("This place also holds %(folder)s, which is not ours: remove only our own files, by hand.")
            note = f"{location.note} {text % {'folder': max(holds)}}".strip()
            location = replace(location, remove="", note=note, is_measured=False)
        yield location


def is_served(home: Path) -> bool:
    """Whether a server runs in a home, from the kernel's list of locks."""
    try:
        status = (home / "state" / locks.SERVING).stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    return any("FLOCK" in line and device in line.split() for line in lines)


def build_remove_command(paths: Iterable[Path]) -> str:
    """The command that removes files or folders."""
    return " ".join(["rm", "-r", "--", *(shlex.quote(str(path)) for path in paths)])


def _escape(text):
    """The text with bytes that are not UTF-8 as escapes, because JSON cannot hold them."""
    return os.fsencode(text).decode(errors="backslashreplace")


def _remove(*paths):
    return build_remove_command(paths)


def _measure(path):
    """Bytes of a file, or of all files in a folder; links are not followed."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size if os.path.lexists(path) else 0
    return sum(_measure(entry) for entry in path.iterdir())


def _is_below(path, folder):
    return os.path.realpath(path).startswith(os.path.realpath(folder).rstrip(os.sep) + os.sep)


def _holds(path, other):
    """Whether a removal of `path` would remove `other`."""
    return os.path.realpath(path) == os.path.realpath(other) or _is_below(other, path)


def _describe_home(home, source):
    """The home, or in a folder with other files only what is ours there."""
    entries, problem = list_folder(home)
    ours = tuple(path for path in entries if HOME_NAMES.fullmatch(path.name))
    is_shared = len(ours) < len(entries) or os.path.realpath(home) == os.path.realpath(get_home_directory())
    if os.path.realpath(home) == os.path.realpath(source):  # both have a folder `agents`
        note = _("This is the OpenClaw folder, too: remove only our own files, by hand.")
        return Location("home", home, "", note=note, is_measured=False)
    if problem and os.path.lexists(home):
        note = _("The folder cannot be read, so it may also hold files of others.")
        return Location("home", home, "", note=note, is_measured=False)
    if is_shared:
        note = _("Other files of the folder are not ours.")
        return Location("home", home, _remove(*ours) if ours else "", note=note, files=ours, is_measured=bool(ours))
    if os.path.islink(home):
        note = _("This is a link to %(folder)s: remove that folder too.") % {"folder": os.path.realpath(home)}
    elif os.path.ismount(home):
        note = _("This is a mount point, such as a volume of a container: remove the volume instead.")
    else:
        note = ""
    return Location("home", home, _remove(home), note=note)


def _list_beside(home) -> Iterator[Location]:
    """Homes that restores put aside, and drafts of restores that were killed: openclaw_web/disk/home.py."""
    name = re.escape(home.name)
    replaced = re.compile(rf"{name}\.(before-restore-\d{{8}}T\d{{6}}Z(-\d+)?|between|blank(-\d+)?)")
    draft = re.compile(rf"\.{name}\.restoring\.{drafts.NAME.pattern}")
    entries, problem = list_folder(home.parent)
    if problem:
        yield Location(REPLACED, home.parent, "", problem=problem)
    for path in entries:
        if replaced.fullmatch(path.name) and (
            (problem := find_problem(path / "state")) or os.path.isdir(path / "state")
        ):
            yield Location(REPLACED, path, _remove(path), note=_("The home before a restore."), problem=problem)
        elif draft.fullmatch(path.name):
            yield Location("draft", path, _remove(path), note=_("Left by a restore that was killed."))


def _list_backups(home, folders) -> Iterator[Location]:
    for folder in sorted(folders):
        if _is_below(folder / "x", home):
            continue
        entries, problem = list_folder(folder)
        ours = [path for path in entries if BACKUP_FILE.fullmatch(path.name)]
        if problem:
            yield Location("backups", folder, "", problem=problem)
        elif ours:
            note = _("Backups: the only way back to this data. Other files of the folder are not ours.")
            yield Location("backups", folder, _remove(*ours), note=note, files=tuple(ours))


def _list_archives(home, paths) -> Iterator[Location]:
    """Archived sessions outside of the home, with their manifests: operations/retention/archive_files.py."""
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(paths):
        if not _is_below(path, home):
            stem = path.name.removesuffix(ARCHIVE_FILES[0])
            files = [path.with_name(stem + ending) for ending in ARCHIVE_FILES]
            by_folder.setdefault(path.parent, []).extend(filter(may_exist, files))
    for folder, files in by_folder.items():
        if files:
            note = _("Archived sessions, which are nowhere else.")
            yield Location("archive", folder, _remove(*files), note=note, files=tuple(files))


def _list_workspaces(workspaces) -> Iterator[Location]:
    """Drafts that killed rollbacks left, and memory files that this site wrote."""
    for folder, names in sorted(workspaces.items()):
        entries, problem = list_folder(folder)
        if problem:
            yield Location("memory_files", folder, "", problem=problem)
            continue
        drafts_left = (path for path in entries if any(map(path.match, ROLLBACK_DRAFTS)))
        leftovers = list(filter(os.path.isfile, drafts_left))
        if leftovers:
            note = _("Left by a rollback that was killed. The next start of the site finishes the rollback.")
            yield Location("rollback_draft", folder, _remove(*leftovers), note=note, files=tuple(leftovers))
        written = [folder / name for name in sorted(names) if os.path.isfile(folder / name)]
        if written:
            note = _("Memory files that a rollback or an approved write of this site wrote. They belong to the agent.")
            yield Location("memory_files", folder, "", note=note, files=tuple(written))


def _list_demos(source) -> Iterator[Location]:
    usual = Path(os.path.expanduser(DEMO_FOLDER))
    for folder, marker in ((source, source / DEMO_MARKER), (usual, usual / "openclaw" / DEMO_MARKER)):
        if problem := find_problem(marker):
            yield Location("demo", marker, "", problem=problem)
        elif folder.is_absolute() and os.path.isfile(marker):  # a number without an account has no usual folder
            yield Location("demo", folder, _remove(folder), note=_("Demonstration data that this site wrote."))


def _read_store(stored, home) -> None:
    """Read the places that the store of a home names; a missing home has none."""
    if not os.path.lexists(home):
        return
    _check_readable(stored, home / GLOBAL)
    for values in _query(stored, home / GLOBAL, "SELECT value_json FROM kv WHERE key = 'backup.folder'"):
        with suppress(orjson.JSONDecodeError):
            _add(stored.backup_folders, str(orjson.loads(values[0])))
    for values in _query(stored, home / GLOBAL, "SELECT archive_path FROM backup_runs"):
        if values[0]:
            _add(stored.backup_folders, str(Path(values[0]).parent))
    for values in _query(stored, home / GLOBAL, "SELECT report_json FROM migration_runs"):
        with suppress(orjson.JSONDecodeError, AttributeError):
            if archive := orjson.loads(values[0]).get("source_archive"):
                _add(stored.backup_folders, str(Path(archive["path"]).parent))
    for folder in list_folder(home / "agents")[0]:
        file = folder / "agent" / "openclaw-agent.sqlite"
        if may_exist(file):
            _read_agent(stored, file)


def _check_readable(stored, file):
    if not os.access(file, os.R_OK):
        text = _("%(file)s is missing or cannot be read: places outside of the home that it names are unknown.")
        stored.problems.append(text % {"file": file})


def _read_agent(stored, file):
    _check_readable(stored, file)
    for values in _query(stored, file, "SELECT archive FROM removed_sessions WHERE archive != ''"):
        if Path(values[0]).is_absolute():
            stored.archive_files.add(Path(values[0]))
    for values in _query(stored, file, "SELECT DISTINCT destination FROM episode_heads"):
        if str(values[0]).startswith("/"):
            stored.head_files.add(Path(values[0]))
    for name, state, details in _query(stored, file, "SELECT file_name, state, told_json FROM rollback_intents"):
        with suppress(orjson.JSONDecodeError, AttributeError):
            if place := orjson.loads(details).get("place"):
                names = stored.workspaces.setdefault(Path(place), set())
                names.update([name] if state == "done" else [])


def _add(folders, text):
    if text:
        folders.add(Path(os.path.expanduser(text)))


def _query(stored, file, query) -> list[tuple[Any, ...]]:
    """All rows of a query on a file of any version.

    A file without rows in a log is read without the files that SQLite would create beside it.
    """
    if not os.access(file, os.R_OK):
        return []
    log, shared = (file.with_name(f"{file.name}{ending}") for ending in ("-wal", "-shm"))
    in_use = os.path.exists(shared) and os.path.exists(log) and log.stat().st_size > 0
    try:
        with files.open_database(file, is_still=not in_use) as database:
            return database.execute(query).fetchall()
    except Error as exc:
        if failures.is_old(exc):  # a home of another version, without this table
            return []
        words = {"file": file, "why": reasons.describe_error(exc)}
        sentence = _("%(file)s cannot be read (%(why)s): places that it names may be missing here.") % words
        if sentence not in stored.problems:
            stored.problems.append(sentence)
        return []
