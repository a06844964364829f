"""Collect again: sessions made anew from every source that still holds them, beside the evidence that hangs on them."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents import databases, holdings
from agents.homes import NotReadable, look, open_regular
from agents.models import Agent, CollectorSource
from ledger.collectors import agent_database, jsonl, packed
from ledger.collectors.agent_database import COLD, Archive
from ledger.collectors.database import Damaged, Database
from ledger.collectors.database_tables import AGENT
from ledger.collectors.session_index import IndexEntry
from ledger.models import RejectedRecord, RemovedSession, Session
from ledger.rebuilding import rereading
from ledger.rebuilding.rereading import Part, Reread
from ledger.transcripts import origins, removing
from ledger.transcripts.storing import Transcript
from openclaw_web.errors import Refused

from .stages import agent as collect_agent
from .stages import consent as collect_consent
from .stages import counts
from .stages import databases as collect_databases
from .stages import packed as collect_archives
from .stages.agent_database import open_archive
from .stages.databases import Unreadable
from .stages.guard import guarding

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE
LOGS = (Kind.REFLECTION_LOG, Kind.GUARDIAN_LOG, Kind.GUARDIAN_WRITES)


@dataclass(slots=True)
class Again:
    """What collecting again came to for one agent; the lists are of session ids."""

    rebuilt: list[str] = field(default_factory=list)
    unchanged: int = 0
    new: list[str] = field(default_factory=list)
    added: Counter[str] = field(default_factory=Counter)
    kept: int = 0  # records that no source holds any more
    withheld: dict[str, list[str]] = field(default_factory=dict)  # session -> records whose words went
    taken_out: list[str] = field(default_factory=list)  # conversations with people who opted out
    without_source: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)  # somebody opted out, and whose these are cannot be told
    words: dict[str, set[str]] = field(default_factory=dict)  # session -> texts that were withheld
    artifacts: set[str] = field(default_factory=set)

    def as_json(self) -> dict[str, Any]:
        """The counts, and the ids that a person has to look after."""
        return {
            "rebuilt": len(self.rebuilt),
            "unchanged": self.unchanged,
            "new": len(self.new),
            "added": dict(sorted(self.added.items())),
            "kept": self.kept,
            "withheld": {session_id: len(ids) for session_id, ids in sorted(self.withheld.items())},
            "taken_out": sorted(self.taken_out),
            "without_source": sorted(self.without_source),
            "undecided": sorted(self.undecided),
        }


@dataclass(slots=True)
class Sources:
    """Where the sessions of an agent come from, in the order in which a collect reads."""

    parts: dict[str, list[Part]] = field(default_factory=lambda: defaultdict(list))
    entries: dict[str, IndexEntry] = field(default_factory=dict)


def prepare(root: Path, agent_id: str) -> None:
    """An agent whose file was made anew: what was taken out on purpose stays out, and every source is to be read."""
    db = databases.alias(agent_id)
    whys = {one.value for one in RemovedSession.Why}
    out = {one: why for one, why in holdings.removed(agent_id).items() if why in whys}
    RemovedSession.objects.using(db).bulk_create(
        [RemovedSession(session_id=one, removed_at=0, why=why, last_activity_at=0) for one, why in out.items()],
        ignore_conflicts=True,
    )
    CollectorSource.objects.filter(root=str(root), agent_id=agent_id).exclude(kind=Kind.AGENT).delete()
    # Logs of the plugin tell of several agents; what they told of this one is to be read again.
    CollectorSource.objects.filter(root=str(root), kind__in=LOGS).delete()


def check(collection: Any, names: dict[str, str], report: Any) -> None:
    """Raises Refused when a session that is wanted again is neither in an agent of `names` nor in a source of it.

    `names` are those of agents here by those of the home. Nothing is written.
    """
    wanted = collection.again
    for found in collection.home.agents:
        if found.home_name in names:
            wanted = _unknown(collection, found, names[found.home_name], report, wanted)
    if wanted:
        raise Refused(_("There is no session %(id)s, here or in a source.") % {"id": min(wanted)})


def _unknown(collection, found, agent_id, report, wanted):
    """Which of `wanted` name no session of an agent; none while a source cannot tell: collecting says why."""
    try:
        stored = _stored(databases.alias(agent_id))
    except (databases.UnknownAgent, databases.LostAgentFile):
        stored = {}
    known = _known(agent_id, stored)
    try:
        with _sources(collection, found, report, known) as sources:
            keys = _keys(stored, sources)
            ids = known | sources.parts.keys() | sources.entries.keys()
    except (Damaged, Unreadable):
        return frozenset()
    return wanted - ids - {keys.get(one) for one in ids}


def _stored(db):
    return {row.id: row for row in Session.objects.using(db).order_by("id")}


def _known(agent_id, stored):
    """The sessions that are here, and those that the store has lost."""
    return stored.keys() | holdings.noted(agent_id).keys()


def _keys(stored, sources):
    """Session -> its key, as the index says now or said when it was read last."""
    keys = {one: entry.session_key for one, entry in sources.entries.items()}
    return keys | {one: row.session_key for one, row in stored.items() if row.session_key}


def run(collection: Any, found: Any, agent: Agent, report: Any, wanted: frozenset[str] | None) -> Again:
    """Make the sessions `wanted` (ids; None: all) of an agent again.

    Sessions that retention, an archive or an undo took out are never brought back; those with people who have opted
    out are taken out. Each session is one transaction: what ends this early leaves each as it was or as it will be.
    """
    made, stored = Again(), _stored(agent.db)
    known = _known(agent.agent_id, stored)
    with ExitStack() as stack, _damage_noted(found, report):
        sources = stack.enter_context(_sources(collection, found, report, known))
        ids = _chosen(wanted, stored, sources)
        made.without_source += sorted((wanted or set()) & known - set(ids))
        _take_out(collection, agent, [stored[one] for one in ids if one in stored], sources, made)
        beside = stack.enter_context(databases.beside(collection.copies.place(f"{agent.agent_id}.sqlite")))
        may_read = _reader(collection, found, agent, report, sources, made)
        for session_id in ids:
            collection.begin(0, _("Importing %(session)s again") % {"session": session_id})
            if may_read(session_id):
                with guarding(report, session_id, "unreadable_session"):
                    _session(collection, agent, beside, session_id, sources, made)
    return made


@contextmanager
def _damage_noted(found, report):
    """A database that cannot be read any further ends what is made again of this agent; what was made stays."""
    try:
        yield
    except (Damaged, Unreadable) as exc:
        _note_unread(report, found.database, exc)


def _chosen(wanted, stored, sources):
    """The ids of the sessions that `wanted` names by id or by key."""
    ids = list(dict.fromkeys([*sources.parts, *stored]))
    if wanted is None:
        return ids
    keys = _keys(stored, sources)
    return [one for one in ids if one in wanted or keys.get(one) in wanted]


def _reader(collection, found, agent, report, sources, made):
    out = holdings.removed(agent.agent_id)
    out = {one for one, why in out.items() if why != holdings.Why.OPTED_OUT} | removing.ids(agent.db)
    out |= collection.ignored.get(agent.agent_id, frozenset()) | set(made.taken_out)
    consent = collect_consent.reader(collection, found, agent, report, list(sources.entries.values()))

    def may_read(session_id):
        if session_id in out:
            return False
        if consent(session_id):
            return True
        if Session.objects.using(agent.db).filter(id=session_id).exists():
            made.undecided.append(session_id)
        return False

    return may_read


def _session(collection, agent, beside, session_id, sources, made):
    parts, entry = sources.parts.get(session_id), sources.entries.get(session_id)
    if not parts:
        made.without_source.append(session_id)
        if not collection.opted_out:
            return
        parts = [_nothing(collection, session_id)]  # what is stored is withheld all the same
    if entry is not None and collection.opted_out:
        entry = collect_consent.untitled(entry)
    came = rereading.reread(agent.db, beside, session_id, parts, entry, stashes=collection.stashes_outputs)
    if collection.opted_out:  # whose words a line without a place in the tree holds, nobody can tell
        RejectedRecord.objects.using(agent.db).filter(session_id=session_id).update(raw_preview="")
    if came.held.count:
        counts.note_rebuilt(agent, session_id, came)
    _count(made, session_id, came)


def _nothing(collection, session_id):
    about = _about(collection, session_id, "", 0, LIVE)
    return Part(about, lambda: nullcontext(iter(())))


def _count(made, session_id, came: Reread):
    if came.is_new:
        made.new.append(session_id)
    elif came.is_changed:
        made.rebuilt.append(session_id)
    else:
        made.unchanged += 1
    made.added += came.added
    made.kept += came.kept
    made.artifacts.update(came.artifacts)
    if came.withheld:
        made.withheld[session_id], made.words[session_id] = came.withheld, came.words


def _take_out(collection, agent, stored, sources, made):
    """Direct conversations with people who opted out go, whoever says so: the session or the index of now."""
    for session in stored if collection.opted_out else ():
        entry = sources.entries.get(session.id)
        is_theirs = entry is not None and collect_consent.has_opted_out(entry, collection.opted_out)
        if is_theirs or origins.is_with(session, collection.opted_out):
            holdings.note_removed(agent.agent_id, [session.id], holdings.Why.OPTED_OUT)  # first: a kill is no loss
            made.artifacts.update(removing.take_out(agent.db, session.id))
            made.taken_out.append(session.id)


@contextmanager
def _sources(collection, found, report, stored) -> Iterator[Sources]:
    sources = Sources()
    with ExitStack() as stack:
        for part in found.parts:
            _add_part(collection, part, report, stored, sources, stack)
        yield sources


def _add_part(collection, found, report, stored, sources, stack):
    """The sources of an agent that are in one of its folders, and in one of its databases."""
    database = _database(collection, found, report, stack)
    names: set[str] = set()
    if database is not None:
        _index(database, sources)
        names = _archives(collection, found, database, sources, stored)
    _entries(collection, found, report, sources)
    _files(collection, found, sources, stored, names)
    in_database = _events(collection, found, database, sources) if database is not None else set()
    _leftovers(collection, found, sources, stored, in_database)


def _database(collection, found, report, stack) -> Database | None:
    if found.database is None:
        return None
    try:
        database = stack.enter_context(collect_databases.opened(collection, found.database, AGENT))
    except Unreadable as exc:
        _note_unread(report, found.database, exc)
        return None
    return database


def _note_unread(report, path, exc):
    words = {"file": path.name, "reason": collect_databases.why(exc)}
    report.notes.append(_("%(file)s was not read: %(reason)s.") % words)


def _index(database, sources):
    sources.entries.update((entry.session_id, entry) for entry in agent_database.index(database).entries)
    for archive in agent_database.archives(database):
        entry = agent_database.archived_entry(archive)
        if entry is not None:
            sources.entries.setdefault(entry.session_id, entry)


def _entries(collection, found, report, sources):
    path = found.index
    if path is not None and look(path) is not None:
        for entry in collect_consent.entries(collection, found, report, []):
            sources.entries.setdefault(entry.session_id, entry)


def _about(collection, session_id, file, modified_ms, state):
    return Transcript(session_id, file, modified_ms, state, collection.opted_out)


def _archives(collection, found, database, sources, stored):
    """What the database put away: read with --include-deleted, or when it was here before."""
    names, prefix = set(), collection.book.name(found.database)
    live = {one.session_id for one in agent_database.contents(database)}
    for archive in agent_database.archives(database):
        names.add(archive.name)
        name = f"{prefix}!{archive.session_id}/{archive.generation}"
        if not (collection.include_deleted or collection.book.part(name) or _is_orphan(archive, live, stored)):
            continue
        state = LIVE if archive.session_id in live or archive.reason == COLD else archive.reason
        about = _about(collection, archive.session_id, name, archive.created_at or 0, state)
        sources.parts[archive.session_id].append(Part(about, partial(_archived, collection, found, database, archive)))
    return names


def _is_orphan(archive, live, stored):
    """A session that is here, and was live when it was read: this is all that is left of its source."""
    return archive.session_id in stored and archive.session_id not in live


@contextmanager
def _archived(collection, found, database, archive: Archive):
    try:
        file = open_archive(collection.home.root, found.database, database, archive)
    except NotReadable:  # what is not met in any source stays as it was
        yield iter(())
        return
    with file:
        yield agent_database.archived_lines(archive, file)


def _files(collection, found, sources, stored, names):
    files = collect_agent.transcripts(found.sessions, collection.home.notes)
    live = {file.session_id for file in files if file.state == LIVE}
    for file in files:
        if file.path.name in names:  # the database holds the same
            continue
        is_left = file.state != LIVE and not collection.include_deleted
        was_read = collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        if not is_left or was_read or (file.session_id in stored and file.session_id not in live):
            sources.parts[file.session_id].append(_file(collection, file))


def _file(collection, file):
    modified = collect_agent.modified_ms(file.stat.st_mtime_ns)
    about = _about(collection, file.session_id, collection.book.name(file.path), modified, file.state)
    return Part(about, partial(_lines, collection, file))


@contextmanager
def _lines(collection, file):
    with _opened(collection, file.path) as opened:
        if opened is None:
            yield iter(())
        elif file.path.suffix == collect_archives.SUFFIX:
            yield packed.read_packed_lines(opened)
        else:
            yield jsonl.read_lines(opened, is_closed=file.state != LIVE)


@contextmanager
def _opened(collection, path):
    """The file, or None when it is gone or is not opened: what is not met in any source stays as it was."""
    try:
        file = open_regular(collection.home.root, path)
    except NotReadable:
        yield None
        return
    with file:
        yield file


def _events(collection, found, database, sources):
    prefix, stat = collection.book.name(found.database), look(found.database)
    modified = collect_agent.modified_ms(stat.st_mtime_ns if stat else 0)
    ids = set()
    for one in agent_database.contents(database):
        if one.session_id:
            ids.add(one.session_id)
            name = f"{prefix}#{one.session_id}"
            about = _about(collection, one.session_id, name, modified, LIVE)
            sources.parts[one.session_id].append(Part(about, partial(_event_lines, database, one.session_id)))
    return ids


@contextmanager
def _event_lines(database, session_id):
    yield agent_database.events(database, session_id)


def _leftovers(collection, found, sources, stored, in_database):
    for file in collect_agent.imported(found, collection.home.notes):
        is_known = file.session_id in stored or collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        if file.session_id not in in_database and (collection.include_deleted or is_known):
            sources.parts[file.session_id].append(_file(collection, file))
