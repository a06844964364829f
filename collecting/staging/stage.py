"""Stages an OpenClaw home: brings a folder to what an import may read of it, with a manifest as its last file.

The manifest has the hash of every file. So a folder that was left half-changed by a kill does not match its manifest
until the next run has completed it.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from ulid import ULID

from agents.database_copies import Copies, NotCopied
from agents.homes import Home, NotReadable, open_regular
from agents.layout.home_agents import follow_reported_workspace, read_home
from agents.layout.places import MANIFEST
from ledger import prompt_workspaces
from ledger.collectors.database import DamagedDatabase
from openclaw_web import VERSION, amounts, clock
from openclaw_web.disk import drafts, locks, room
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import size
from openclaw_web.pages.glyphs import escape_name
from openclaw_web.sqlite import failures

from ..collect import Collection
from ..inventory.transcripts import PACKED
from ..stages import source_databases
from . import reduced_databases
from .opt_outs import OptOuts
from .sources import Inventory, Source, UnreadBook, find_places, list_sources

STATE, DRAFT = ".stage-state.json", ".stage-draft"
OWN = (MANIFEST, STATE)
FORMAT = 1
CHUNK = 1024 * 1024
ATTEMPTS = 5  # to copy a file that is being written anew
SECOND_NS = 1_000_000_000
SHOWN = 20  # withheld files in words
Fingerprint = list[list[int] | None]  # size, time and inode of a file, and of the log beside a database


@dataclass(slots=True)
class Staging:
    """A run: the folder, what earlier runs noted of each file, and what this one does."""

    target: Path
    known: dict[str, Any]  # by name: source, staged, sha256, notes, searched
    copies: Copies
    opt_outs: OptOuts
    files: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, Any] = field(default_factory=dict)  # by name: source, reason
    withheld: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)

    @property
    def draft(self) -> Path:
        """The file that is written before it gets its name."""
        return self.target / DRAFT

    def is_kept(self, name: str) -> bool:
        """Whether a file is as an earlier run staged it."""
        staged = _stat(self.target / name)
        return staged is not None and self.known.get(name, {}).get("staged") == staged

    def is_current(self, name: str, source: Fingerprint) -> bool:
        """Whether a file is as it was staged, and its source as it was then."""
        return self.is_kept(name) and self.known[name]["source"] == source


def run(source: Path, target: Path, opted_out: bytes | None = None) -> dict[str, Any]:
    """Bring `target` to what an import may read of the home at `source`; returns the receipt.

    `opted_out` is a list of ids and names of people, one a line, who are left out.

    Raises Refused, also when another run works in the folder or its disk is full.
    """
    home, target = read_home(source.resolve()), target.resolve()
    _refuse_overlap(target, [home.root])
    nothing = _("The copy is incomplete, and the site keeps the one before. Free some disk space, then stage again.")
    with _open_copies() as copies, room.refuse_when_full(target.parent, nothing):
        state = _read_json(target / STATE)
        reported = _follow_reports(home, state.get("reported", {}), copies)
        _refuse_overlap(target, [place for agent in home.agents for place in find_places(agent)])
        # A manifest is read on other machines, whatever the language of this one.
        with _open_target(target), translation.override(settings.LANGUAGE_CODE):
            staging = Staging(target, state.get("files", {}), copies, OptOuts(opted_out))
            return _stage(home, staging, state, reported)


def in_words(receipt: dict[str, Any]) -> str:
    """The receipt in words."""
    counts = {
        "files": amounts.format_amount("files", receipt["files"]),
        "size": size(receipt["bytes"]),
        "changed": len(receipt["changed"]),
        "removed": len(receipt["removed"]),
        "path": receipt["to"],
    }
    lines = [_("%(files)s, %(size)s in %(path)s. Changed: %(changed)s, removed: %(removed)s.") % counts]
    lines += [_("Withheld:")] if receipt["withheld"] else []
    lines += [f"  {escape_name(item['path'])}: {item['reason']}" for item in receipt["withheld"][:SHOWN]]
    lines += [_("  … and more: --json lists all of them")] if len(receipt["withheld"]) > SHOWN else []
    return "\n".join(lines)


def _stage(home, staging, state, reported):
    collection = Collection(home, {}, UnreadBook(home.root), staging.opt_outs.names, True, None, False, staging.copies)
    collection.places_of_agents.clear()  # whoever owns the files of a shared folder, all of them are staged
    rules = [VERSION, source_databases.READER, staging.opt_outs.sha256]
    if state.get("rules") != rules:
        _forget_sources(staging)
    inventory = list_sources(
        collection, lambda name, stat: not staging.opt_outs.names and staging.is_current(name, [_get_state(stat)])
    )
    if staging.opt_outs.names:
        _leave_out(collection, inventory, staging, state.get("left_out", {}) if state.get("rules") == rules else {})
    present = set(_clear(staging.target, inventory))
    for name, source in sorted(inventory.files.items()):
        _stage_file(staging, name, source)
    removed = sorted(present - staging.files.keys())
    for name in removed:
        (staging.target / name).unlink()
    for folder in inventory.folders:
        (staging.target / folder).mkdir(parents=True, exist_ok=True)
    new_state = {"rules": rules, "files": staging.files, "left_out": staging.left_out, "reported": reported}
    if new_state != state:
        _write_json(staging, STATE, new_state)
    manifest, is_new = _write_manifest(home, staging, inventory)
    return {
        "to": str(staging.target),
        "source": str(home.root),
        "generation": manifest["generation"],
        "is_new": is_new,
        "files": len(manifest["files"]),
        "bytes": sum(file["size"] for file in manifest["files"].values()),
        "changed": sorted(staging.changed),
        "removed": removed,
        "withheld": manifest["withheld"],
    }


def _follow_reports(home: Home, known, copies):
    """Follow the newest reports of prompts to the workspaces that they name; reads indexes that changed."""
    reported = {}
    for agent in home.agents:
        indexes = [*agent.databases, *([agent.index] if agent.index else [])]
        state = [_fingerprint_path(path) for path in indexes]
        folder, noted = known.get(agent.home_name, ("", None))
        if noted != state:
            folder = prompt_workspaces.read_newest(home, agent, copies)[1]
        reported[agent.home_name] = [folder, state]
    home.agents = [follow_reported_workspace(home, agent, reported[agent.home_name][0]) for agent in home.agents]
    return reported


def _forget_sources(staging):
    """Look at every source again; a database is still changed by key."""
    for entry in staging.known.values():
        entry["source"] = None


def _leave_out(collection, inventory, staging, left_out):
    """Leave files out of the inventory that hold words of people who opted out.

    Words in one file may decide about another, so after any change all files are looked at again.
    """
    fingerprints = {name: _fingerprint(source) for name, source in inventory.files.items()}
    if {name: entry["source"] for name, entry in (*staging.known.items(), *left_out.items())} != fingerprints:
        _forget_sources(staging)
        staging.opt_outs.prepare(collection, inventory.files)
        reasons = {name: staging.opt_outs.find_left_out(name, source) for name, source in inventory.files.items()}
        left_out = {name: {"source": fingerprints[name], "reason": why} for name, why in reasons.items() if why}
    staging.left_out = left_out
    for name in left_out:
        del inventory.files[name]


def _stage_file(staging, name, source: Source):
    """Stage a file, or keep it; one that cannot be read is withheld, with a sentence."""
    fingerprint = _fingerprint(source)
    if source.content is None and staging.is_current(name, fingerprint):
        staging.files[name] = staging.known[name]
        return
    notes: dict[str, str] = {}
    try:
        is_changed, fingerprint = _write_draft(staging, name, source, fingerprint, notes)
    except (NotReadable, NotCopied, DamagedDatabase) as exc:
        text = failures.translate_message(str(exc)) if isinstance(exc, DamagedDatabase) else str(exc)
        staging.withheld[name] = f"{text[:1].upper()}{text[1:]}."
        if isinstance(exc, NotCopied) and staging.is_kept(name) and staging.known[name]["source"]:
            staging.files[name] = staging.known[name]  # what it had before, until it can be copied
    else:
        _publish(staging, name, fingerprint, notes, is_changed=is_changed)
    finally:
        staging.draft.unlink(missing_ok=True)


def _write_draft(staging, name, source, fingerprint, notes):
    """Write the draft of a file; returns whether it may differ, and the state of the source that it has."""
    opt_outs = staging.opt_outs
    if source.content is not None:
        staging.draft.write_bytes(source.content)
    elif source.tables is not None:
        return _write_database(staging, name, source, notes), fingerprint
    elif opt_outs.names and source.is_transcript and source.path.suffix != PACKED:
        count = 0
        with staging.draft.open("wb") as file:
            for line, raw in opt_outs.filter_file(source):
                file.write(raw + b"\n" if raw else b"")
                count += raw != line.raw
        _note_withheld(notes, name, count)
    elif opt_outs.names and source.is_index:
        with open_regular(source.root, source.path) as file:
            data = file.read(prompt_workspaces.MAX_INDEX_BYTES)
        staging.draft.write_bytes(opt_outs.filter_index(data))
    else:
        fingerprint = _copy_file(source, staging.draft)
    return True, fingerprint


def _write_database(staging, name, source, notes):
    """Write the draft of a database from its copy of before; returns whether it changed."""
    opt_outs = staging.opt_outs
    with staging.copies.open_copy(source.root, source.path) as copy:
        if staging.is_kept(name):
            shutil.copyfile(staging.target / name, staging.draft)
        if opt_outs.names and source.agent:  # this copy may be newer than the one that was read before
            opt_outs.read_database(source.root, source.agent, source.path, copy.path)
        filters = opt_outs.build_filters(source.agent, source.path) if opt_outs.names else None
        change = reduced_databases.update_copy(copy.path, staging.draft, source.tables, source.extracts, filters)
    notes |= {f"{name}#{table}": _("Its rows cannot be copied one by one.") for table in change.left_out}
    _note_withheld(notes, name, len(opt_outs.records.get(source.path, ())))
    return change.is_changed


def _note_withheld(notes, name, count):
    if count:
        sentence = ngettext(
            "%(count)s record is withheld, wholly or in part.",
            "%(count)s records are withheld, wholly or in part.",
            count,
        )
        notes[name] = sentence % {"count": count}


def _copy_file(source, draft):
    """Copy the bytes that a file has now; what is added meanwhile is for the next run."""
    for _attempt in range(ATTEMPTS):
        with open_regular(source.root, source.path) as file, draft.open("wb") as copy:
            before = os.fstat(file.fileno())
            rest = before.st_size
            while rest and (data := file.read(min(CHUNK, rest))):
                copy.write(data)
                rest -= len(data)
            after = os.fstat(file.fileno())
        if not rest and (after.st_size > before.st_size or _get_state(after) == _get_state(before)):
            return [_get_state(before)]
    raise NotCopied(_("the file kept changing while it was copied"))


def _publish(staging, name, fingerprint, notes, *, is_changed):
    """Give a draft its name, unless the file has the same content, or words of people who opted out."""
    draft, staged, words = staging.draft, staging.target / name, staging.opt_outs.words
    old, before = staging.known.get(name, {}), _stat(staged)
    sha256 = _hash(draft) if is_changed else old["sha256"]
    is_changed = is_changed and (before is None or _hash(staged) != sha256)
    is_searched = not is_changed and old.get("searched") == words
    if words and not is_searched and staging.opt_outs.is_in(draft if is_changed else staged):
        reason = _("It has a name or words of a person who opted out.")
        staging.left_out[name] = {"source": fingerprint, "reason": reason}
        return
    if is_changed:
        mtime_ns = max((state[1] for state in fingerprint if state), default=clock.now_ms() * 10**6)
        # rsync takes a file of the same size and second for the same file.
        while before and before[0] == draft.stat().st_size and before[1] // SECOND_NS == mtime_ns // SECOND_NS:
            mtime_ns += SECOND_NS
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        os.utime(draft, ns=(mtime_ns, mtime_ns))
        staged.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(staged)
        staging.changed.append(name)
    facts = {"source": fingerprint, "staged": _stat(staged), "sha256": sha256, "notes": notes}
    staging.files[name] = facts | {"searched": words or old.get("searched", "")}


def _write_manifest(home, staging, inventory):
    """Write the manifest, unless it says the same already; returns it, and whether it is new."""
    before = _read_json(staging.target / MANIFEST)
    left_out = {name: entry["reason"] for name, entry in staging.left_out.items()}
    notes = [inventory.withheld, left_out, staging.withheld, *(entry["notes"] for entry in staging.files.values())]
    facts = {
        "format": FORMAT,
        "openclaw_web": VERSION,
        "openclaw": home.version or None,
        "files": {
            name: {"size": entry["staged"][0], "sha256": entry["sha256"]}
            for name, entry in sorted(staging.files.items())
        },
        "agents": [agent.home_name for agent in home.agents],
        "withheld": [
            {"path": staging.opt_outs.hide_name(path), "reason": reason}
            for note in notes
            for path, reason in sorted(note.items())
        ],
        "opted_out": staging.opt_outs.sha256,
    }
    if {name: before.get(name) for name in facts} == facts:
        return before, False
    generation = {"generation": str(ULID()), "parent": before.get("generation"), "made_at": clock.now_ms()}
    manifest = {"format": FORMAT, "openclaw_web": VERSION, **generation, **facts}
    _write_json(staging, MANIFEST, manifest)
    return manifest, True


@contextmanager
def _open_target(target) -> Iterator[None]:
    """Hold the folder for this run alone. A folder with other things in it is not touched."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not locks.take(handle, wait=False):
            raise Refused(_("Another run is staging into %(path)s. Try again when it has ended.") % {"path": target})
        if any(target.iterdir()) and not any((target / name).is_file() for name in OWN):
            raise Refused(_("%(path)s is not empty and not a staged folder. Choose a new folder.") % {"path": target})
        (target / STATE).touch()  # the mark of a staged folder, from the first file on
        yield
    finally:
        os.close(handle)


def _open_copies():
    """Copies of databases, in a folder that only we can read, for the time of the run.

    They are whole, so they must not be in the folder that is sent.
    """
    parent = Path(tempfile.gettempdir()) / f"openclaw-web-stage-{os.geteuid()}"
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700)
    status = parent.lstat()
    if not parent.is_dir() or parent.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        sentence = _("%(path)s can be read by others. Remove it, or set TMPDIR to another folder.")
        raise Refused(sentence % {"path": parent})
    return Copies(is_kept=True, parent=parent)


def _refuse_overlap(target, places):
    for place in places:
        real = place.resolve()
        if target.is_relative_to(real) or real.is_relative_to(target):
            words = {"path": target, "place": place}
            raise Refused(_("%(path)s and %(place)s are one inside the other. Choose a folder apart from it.") % words)


def _clear(target, inventory: Inventory):
    """Yield the names of the files that are there; removes everything else that is not needed."""
    names = (*inventory.files, *inventory.folders)
    needed = {*inventory.folders}.union(*({parent.as_posix() for parent in Path(name).parents} for name in names))
    for folder, folder_names, file_names in os.walk(target, topdown=False):
        for name in (*folder_names, *file_names):
            path = Path(folder, name)
            relative = path.relative_to(target).as_posix()
            if path.is_dir() and not path.is_symlink():
                if relative in inventory.files or (relative not in needed and not any(path.iterdir())):
                    shutil.rmtree(path)
            elif not path.is_file() or path.is_symlink() or relative in needed or relative == DRAFT:
                path.unlink()
            elif relative not in OWN:
                yield relative


def _fingerprint(source) -> Fingerprint:
    return _fingerprint_path(source.path) if source.content is None else []


def _fingerprint_path(path) -> Fingerprint:
    if path.suffix == ".sqlite":
        return [stat and _get_state(stat) for stat in source_databases.read_stats(path)]
    return [_stat(path)]


def _stat(path):
    with suppress(OSError):
        return _get_state(path.lstat())
    return None


def _get_state(stat):
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _hash(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path):
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write_json(staging, name, value):
    with staging.draft.open("wb") as file:
        file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        file.flush()
        os.fsync(file.fileno())
    staging.draft.rename(staging.target / name)
    drafts.sync_folder(staging.target)
