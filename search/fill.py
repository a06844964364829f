"""Fills the indexes of words, behind imports; each is a file that can be deleted at any time.

An index is built anew, beside the old one, when words in it have to go: texts were removed, people opted out, or a
fifth of it is stale. What was killed goes on where it was.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError
from django.utils.translation import gettext as _

from agents import databases, visits
from agents.models import Agent
from openclaw_web.amounts import format_plural
from openclaw_web.clock import now_ms
from openclaw_web.disk import locks
from openclaw_web.sqlite import word_index
from openclaw_web.sqlite.word_index import Step, WordIndex
from people.configuration import setting_values as configuration

from .sources import Removed, get_sources

LOCK = "search.lock"
FILE, DRAFT = "search.sqlite", "search.draft"
STALE = "search.stale"  # a file that says that an index could not be told of a change
HIDING = ("collector.optedOutSenders", "artifacts.flaggedKinds")  # settings that say what nobody may find
FORMAT = 2  # of positions and entries: an index of another one is built anew
STEPS, SIZE = 1_000, 3_000_000  # steps and characters of entries of one transaction
MOST_STALE = 0.2  # of the texts that were added
GROWTH = 1.25  # an index that has grown by a quarter is made compact


@dataclass(frozen=True, slots=True)
class Place:
    """A database file with its index. `agent_id` is empty for the global file."""

    agent_id: str
    db: str
    file: Path

    @property
    def is_stale(self) -> bool:
        return self.file.with_name(STALE).exists()

    def read_state(self) -> str:
        """A text that differs after every change of the file; empty for the global one, which always changes."""
        return orjson.dumps(visits.read_state(self.agent_id)).decode() if self.agent_id else ""


def list_places(agent_id: str = "") -> Iterator[Place]:
    """List the global file and those of all agents that can be used, or of one agent only."""
    if not agent_id:
        yield Place("", DEFAULT_DB_ALIAS, settings.HOME_DIR / "state" / FILE)
    agents = Agent.objects.filter(agent_id=agent_id) if agent_id else Agent.objects.order_by("agent_id")
    for name in agents.values_list("agent_id", flat=True):
        if db := databases.find_alias(name):
            yield Place(name, db, databases.get_path(name).with_name(FILE))


def fill_all(progress: Any = None, *, agent_id: str = "", is_anew: bool = False) -> dict[str, Any]:
    """Add new texts to all indexes; return the counts as JSON-able values. Raises what `progress.update` raises."""
    count = rebuilt = 0
    with locks.lock(LOCK):
        for place in list_places(agent_id):
            added, is_built = _fill(place, partial(_report, progress, place, count), is_anew)
            count, rebuilt = count + added, rebuilt + is_built
    message = format_plural("%(count)s text added to the search.", "%(count)s texts added to the search.", count)
    return {"message": message, "texts": count, "rebuilt": rebuilt}


def _report(progress, place, before, texts):
    if progress:
        name = place.agent_id or _("samples and tasks")
        progress.update(before + texts, None, _("Reading words of %(name)s") % {"name": name})


def is_needed() -> bool:
    """Whether an index lacks texts, or has words that have to go."""
    mark = read_mark()
    return any(not is_current(place, mark) for place in list_places())


def is_current(place: Place, mark: str = "") -> bool:
    """Whether an index has all of its file."""
    try:
        with word_index.open_index(place.file) as index:
            if index is None:  # nothing is missing where there are no texts
                return not any(source.count_rows(place.db) for source in _get_sources(place))
            facts = index.read_facts()
            if facts.get("mark") != (mark or read_mark()) or place.is_stale or index.has_changed():
                return False
            if place.agent_id:
                return facts.get("state") == place.read_state()
            return not any(next(iter(source.read_new(place.db, index)), None) for source in _get_sources(place))  # type: ignore[arg-type]
    except (DatabaseError, Removed):
        return False


def find_faults(place: Place) -> list[str]:
    """Build an index in a second place, and compare: what the one in use lacks, in words for a terminal."""
    scratch = place.file.with_name("search.scratch")
    word_index.create_index(scratch)
    try:
        with word_index.open_index(scratch) as complete:
            _add_new(place, complete, lambda _texts: None)  # type: ignore[arg-type] - it was just created
        with word_index.open_index(place.file) as index:
            return index.find_faults(scratch) if index else [_("There is no index.")]
    except DatabaseError as exc:
        return [str(exc)]
    finally:
        word_index.remove_index(scratch)


def count_waiting(place: Place, index: WordIndex) -> int:
    """Count the rows that an index does not have yet."""
    return sum(max(0, source.count_rows(place.db) - index.count_rows(source.name)) for source in _get_sources(place))


def _get_sources(place):
    return get_sources(is_global=not place.agent_id).values()


def read_mark() -> str:
    """A text that differs when other texts may be found than before."""
    return orjson.dumps([FORMAT, *(sorted(configuration.get_texts(key)) for key in HIDING)]).decode()


def _fill(place, report, is_anew):
    """Return the number of texts that were added, and whether the index was built anew."""
    state, mark = place.read_state(), read_mark()
    try:
        with word_index.open_index(place.file) as index:
            facts = index.read_facts() if index and not (is_anew or place.is_stale) else {}
            if facts.get("mark") == mark:
                if state and facts.get("state") == state and not index.has_changed():
                    return 0, False
                added = _add_new(place, index, report)
                count, stale = index.count()
                if stale <= MOST_STALE * (count + stale):
                    if count > GROWTH * int(facts["compacted"]):
                        index.compact()
                        index.note(compacted=str(count))
                    index.note(state=state, filled_at=str(now_ms()))
                    return added, False
    except OperationalError:  # a full disk, or a busy file: the next run goes on
        raise
    except (DatabaseError, Removed):
        pass
    return _build(place, state, mark, report), True


def _build(place, state, mark, report):
    """Build an index beside the one in use, and put it in its place; a killed run goes on where it was."""
    draft = place.file.with_name(DRAFT)
    if place.is_stale:
        place.file.with_name(STALE).unlink(missing_ok=True)  # what cannot be told from here on comes again
        word_index.remove_index(draft)
    try:
        added = _fill_draft(place, draft, mark, report)
    except OperationalError:
        raise
    except (DatabaseError, Removed):  # what an earlier run left is damaged, or has what was removed since
        word_index.remove_index(draft)
        added = _fill_draft(place, draft, mark, report)
    with word_index.open_index(draft) as index:
        index.compact()
        index.note(state=state, filled_at=str(now_ms()), compacted=str(index.count()[0]))
    word_index.replace_index(place.file, draft)
    return added


def _fill_draft(place, draft, mark, report):
    with word_index.open_index(draft) as index:
        is_usable = index is not None and index.read_facts().get("mark") == mark
    if not is_usable:
        word_index.create_index(draft)
    with word_index.open_index(draft) as index:
        index.note(mark=mark)
        return _add_new(place, index, report)


def _add_new(place: Place, index: WordIndex, report: Callable[[int], None]) -> int:
    steps: list[Step] = []
    size = count = 0
    for source in _get_sources(place):
        for step in source.read_new(place.db, index):
            steps.append(step)
            size += sum(len(text.text) for text in step.texts)
            count += len(step.texts)
            if size > SIZE or len(steps) > STEPS:
                index.add(steps)
                steps, size = [], 0
                report(count)
    if steps:
        index.add(steps)
    return count
