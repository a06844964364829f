"""Imports the artifact store of openclaw-mem in a home: `memory/openclaw-mem/artifacts`.

The store belongs to the home, and any of its agents may fetch any handle there; so every agent of the home gets a
reference to each content, and a handle in any of their transcripts leads to it.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents import databases
from agents.models import CollectorSource
from agents.sources import SourceBook
from artifacts.errors import NoRoom
from artifacts.store import folder_import, inventory
from ledger.collectors.jsonl import Line
from ledger.collectors.session_index import parse_session_key
from ledger.transcripts import transcript_store
from openclaw_web.errors import Refused

Kind = CollectorSource.Kind
PLACE = ("memory", "openclaw-mem", "artifacts")
MOST_BYTES = 256 * 1024 * 1024  # of one content, unpacked; `artifact import` takes larger ones
GROUP = 256
BAD_ARTIFACT = "bad_artifact"


@dataclass(frozen=True)
class Content:
    """A content of the store, known by its name without being opened."""

    root: Path
    sha256: str
    path: Path
    stat: os.stat_result
    files: tuple[Path, ...]  # with its metadata

    @cached_property
    def session_key(self) -> str:
        """The key of the session that stashed the content; empty when it is not recorded."""
        return folder_import.read_session_key(self.root, self.sha256)


@dataclass(frozen=True)
class Store:
    """The store of a home, with the agents for which it is read."""

    root: Path
    book: SourceBook
    agents: tuple[str, ...]
    opted_out: frozenset[str]

    @property
    def how(self) -> str:
        """A digest of the agents: contents are read again when it changes."""
        return hashlib.sha256(" ".join(self.agents).encode()).hexdigest()

    def contents(self) -> Iterator[Content]:
        """Yield every content in order; metadata without a content is ignored."""
        for sha256, names in inventory.list_contents(self.root):
            paths = tuple(map(Path, sorted(names)))
            for path in paths:
                if path.suffix != ".json" and (stat := _read_stat(path)):
                    yield Content(self.root, sha256, path, stat, paths)
                    break

    def is_known(self, content: Content) -> bool:
        """Whether a content is unchanged since these agents got it."""
        return self.book.was_read(content.path, content.stat, self.how, kind=Kind.ARTIFACT)

    def is_withheld(self, content: Content) -> bool:
        """Whether a content may be from a person who opted out.

        With opt-outs, only contents of direct conversations with other people are known to be theirs.
        """
        if not self.opted_out:
            return False
        origin, _channel, target = parse_session_key(content.session_key)
        names = {target, target.split(":", 1)[-1]} if target else set()
        return origin != "direct" or not names or bool(self.opted_out & names)


def find_store(collection: Any, agents: Iterable[str]) -> Store | None:
    """The store of a home; None when it is missing or a link."""
    home = collection.home.root
    root = home.joinpath(*PLACE)
    try:
        is_there = root.is_dir() and root.resolve(strict=True) == home.resolve(strict=True).joinpath(*PLACE)
    except OSError:
        return None
    return Store(root, collection.book, tuple(sorted(agents)), collection.opted_out) if is_there else None


def collect(collection: Any) -> dict[str, int]:
    """Import new contents; returns counts by outcome."""
    counts = {"imported": 0, "known": 0, "unchanged": 0, "withheld": 0, "rejected": 0}
    store = find_store(collection, [agent.agent_id for agent in collection.agents.values()])
    if store is None:
        return counts
    try:
        for group in _group_contents(_find_new(store, counts)):
            _import_group(collection, store, group, counts)
    except NoRoom as exc:
        words = _("Artifacts of openclaw-mem were not imported: %(reason)s The next import tries again.")
        collection.home.notes.append(words % {"reason": exc.sentence})
    except OSError as exc:  # a folder that disappeared, or that is not readable
        words = {"file": "/".join(PLACE), "reason": exc.strerror}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
    return counts


def _find_new(store, counts):
    for content in store.contents():
        if store.is_known(content):
            counts["unchanged"] += 1
        elif store.is_withheld(content):
            counts["withheld"] += 1
        else:
            yield content


def _import_group(collection, store, group, counts):
    hashes, problems = [content.sha256 for content in group], {}
    for number, agent_id in enumerate(store.agents):
        result = folder_import.import_contents(databases.get_alias(agent_id), store.root, hashes, most=MOST_BYTES)
        problems |= {problem["id"][-64:]: str(problem["reason"]) for problem in result.problems}
        if not number:  # the other agents get references to the same contents
            counts["imported"] += result.imported
            counts["known"] += result.known
    counts["rejected"] += len(problems)
    for content in group:
        if sentence := problems.get(content.sha256):
            line = Line(0, content.stat.st_size, b"", None, BAD_ARTIFACT, sentence)
            transcript_store.store_rejected_lines(
                databases.get_alias(store.agents[0]), store.book.name(content.path), [line]
            )
        collection.add_bytes(content.stat.st_size)
        if os.access(content.path, os.R_OK):  # else it is tried again: a change of permissions leaves no trace
            store.book.save_read(content.path, content.stat, store.how, agent_id="", kind=Kind.ARTIFACT)


def _group_contents(contents):
    group = []
    for content in contents:
        group.append(content)
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


def count_bytes_to_read(collection: Any) -> int:
    """The size of new contents on disk in bytes."""
    store = find_store(collection, [agent.agent_id for agent in collection.agents.values()])
    try:
        contents = store.contents() if store else ()
        return sum(
            content.stat.st_size
            for content in contents
            if not store.is_known(content) and not store.is_withheld(content)
        )
    except OSError:
        return 0


def problem_of(content: Content) -> str:
    """The reason why a content will be rejected; empty when it matches its name."""
    try:
        folder_import.check_content(content.root, content.sha256, most=MOST_BYTES)
    except Refused as refused:
        return str(refused.sentence)
    return ""


def _read_stat(path):
    try:
        return path.lstat()
    except OSError:
        return None
