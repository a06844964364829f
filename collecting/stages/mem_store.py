"""Collect the artifact store of openclaw-mem that lies in a home: `memory/openclaw-mem/artifacts`.

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
    """One content of the store, known by its name; nothing was opened."""

    root: Path
    sha256: str
    path: Path
    stat: os.stat_result

    @cached_property
    def session_key(self) -> str:
        """The key of the session it was stashed in, as whoever stashed it said; empty when they did not."""
        return folder_import.read_session_key(self.root, self.sha256)


@dataclass(frozen=True)
class Store:
    """The store of a home, and for whom it is read."""

    root: Path
    book: SourceBook
    agents: tuple[str, ...]
    opted_out: frozenset[str]

    @property
    def how(self) -> str:
        """What has to be the same for a content that is known not to be read again."""
        return hashlib.sha256(" ".join(self.agents).encode()).hexdigest()

    def contents(self) -> Iterator[Content]:
        """Every content, in order; metadata without a content is none."""
        for sha256, paths in inventory.list_contents(self.root):
            for path in map(Path, sorted(paths)):
                if path.suffix != ".json" and (stat := _lstat(path)):
                    yield Content(self.root, sha256, path, stat)
                    break

    def is_known(self, content: Content) -> bool:
        """Whether it is as it was when these agents got it."""
        return self.book.was_read(content.path, content.stat, self.how, kind=Kind.ARTIFACT)

    def is_withheld(self, content: Content) -> bool:
        """With somebody opted out, only what a direct conversation with somebody else stashed is surely not theirs."""
        if not self.opted_out:
            return False
        origin, _channel, target = parse_session_key(content.session_key)
        names = {target, target.split(":", 1)[-1]} if target else set()
        return origin != "direct" or not names or bool(self.opted_out & names)


def find_store(collection: Any, agents: Iterable[str]) -> Store | None:
    """The store of a home that is collected, for the agents it has here; None when there is none, or only a link."""
    home = collection.home.root
    root = home.joinpath(*PLACE)
    try:
        is_there = root.is_dir() and root.resolve(strict=True) == home.resolve(strict=True).joinpath(*PLACE)
    except OSError:
        return None
    return Store(root, collection.book, tuple(sorted(agents)), collection.opted_out) if is_there else None


def collect(collection: Any) -> dict[str, int]:
    """Bring new contents into the store; how many there are, by what became of them."""
    counts = {"imported": 0, "known": 0, "unchanged": 0, "withheld": 0, "rejected": 0}
    store = find_store(collection, [agent.agent_id for agent in collection.agents.values()])
    if store is None:
        return counts
    try:
        for group in _groups(_new(store, counts)):
            _take(collection, store, group, counts)
    except NoRoom as exc:
        words = _("Artifacts of openclaw-mem were not imported: %(reason)s The next import tries again.")
        collection.home.notes.append(words % {"reason": exc.sentence})
    except OSError as exc:  # a folder that went while it was listed, or that we may not read
        words = {"file": "/".join(PLACE), "reason": exc.strerror}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
    return counts


def _new(store, counts):
    for content in store.contents():
        if store.is_known(content):
            counts["unchanged"] += 1
        elif store.is_withheld(content):
            counts["withheld"] += 1
        else:
            yield content


def _take(collection, store, group, counts):
    wanted, problems = [content.sha256 for content in group], {}
    for number, agent_id in enumerate(store.agents):
        found = folder_import.import_contents(databases.get_alias(agent_id), store.root, wanted, most=MOST_BYTES)
        problems |= {one["id"][-64:]: str(one["reason"]) for one in found.problems}
        if not number:  # the others get references to the same contents
            counts["imported"] += found.imported
            counts["known"] += found.known
    counts["rejected"] += len(problems)
    for content in group:
        if sentence := problems.get(content.sha256):
            line = Line(0, content.stat.st_size, b"", None, BAD_ARTIFACT, sentence)
            transcript_store.store_rejected_lines(
                databases.get_alias(store.agents[0]), store.book.name(content.path), [line]
            )
        collection.add_bytes(content.stat.st_size)
        if os.access(content.path, os.R_OK):  # else it is tried again: permissions change without a trace
            store.book.save_read(content.path, content.stat, store.how, agent_id="", kind=Kind.ARTIFACT)


def _groups(contents):
    group = []
    for content in contents:
        group.append(content)
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


def count_bytes_to_read(collection: Any) -> int:
    """How big new contents are on disk."""
    store = find_store(collection, [agent.agent_id for agent in collection.agents.values()])
    try:
        contents = store.contents() if store else ()
        return sum(one.stat.st_size for one in contents if not store.is_known(one) and not store.is_withheld(one))
    except OSError:
        return 0


def problem_of(content: Content) -> str:
    """Why a content will be rejected; empty for one that is what its name says."""
    try:
        folder_import.check_content(content.root, content.sha256, most=MOST_BYTES)
    except Refused as refused:
        return str(refused.sentence)
    return ""


def _lstat(path):
    try:
        return path.lstat()
    except OSError:
        return None
