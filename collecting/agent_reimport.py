"""Collect again: sessions made anew from every source that still holds them, beside the evidence that hangs on them."""

from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents import databases, holdings
from agents.models import Agent, CollectorSource
from ledger.collectors.database import DamagedDatabase
from ledger.models import RejectedRecord, RemovedSession, Session
from ledger.outputs import output_stash
from ledger.rebuild import reimport
from ledger.rebuild.reimport import ReimportResult, SessionSource
from ledger.transcripts import origins, removal
from openclaw_web.errors import Refused

from .agent_sources import build_file_part, build_transcript, note_unread, open_sources
from .stages import consent as collect_consent
from .stages import holding_checks
from .stages.guard import contain_failures
from .stages.source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE
LOGS = (Kind.REFLECTION_LOG, Kind.GUARDIAN_LOG, Kind.GUARDIAN_WRITES)


@dataclass(slots=True)
class ReimportTotals:
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


def prepare_agent(root: Path, agent_id: str) -> None:
    """An agent whose file was made anew: what was taken out on purpose stays out, and every source is to be read."""
    db = databases.get_alias(agent_id)
    whys = {one.value for one in RemovedSession.Why}
    out = {one: why for one, why in holdings.read_removed(agent_id).items() if why in whys}
    RemovedSession.objects.using(db).bulk_create(
        [RemovedSession(session_id=one, removed_at=0, why=why, last_activity_at=0) for one, why in out.items()],
        ignore_conflicts=True,
    )
    CollectorSource.objects.filter(root=str(root), agent_id=agent_id).exclude(kind=Kind.AGENT).delete()
    # Logs of the plugin tell of several agents; what they told of this one is to be read again.
    CollectorSource.objects.filter(root=str(root), kind__in=LOGS).delete()


def check_sessions(collection: Any, names: dict[str, str], report: Any) -> None:
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
        stored = _stored(databases.get_alias(agent_id))
    except (databases.UnknownAgent, databases.LostAgentFile):
        stored = {}
    known = _known(agent_id, stored)
    try:
        with open_sources(collection, found, report, known) as sources:
            keys = _keys(stored, sources)
            ids = known | sources.parts.keys() | sources.entries.keys()
    except (DamagedDatabase, UnreadableDatabase):
        return frozenset()
    return wanted - ids - {keys.get(one) for one in ids}


def _stored(db):
    return {row.id: row for row in Session.objects.using(db).order_by("id")}


def _known(agent_id, stored):
    """The sessions that are here, and those that the store has lost."""
    return stored.keys() | holdings.read_holdings(agent_id).keys()


def _keys(stored, sources):
    """Session -> its key, as the index says now or said when it was read last."""
    keys = {one: entry.session_key for one, entry in sources.entries.items()}
    return keys | {one: row.session_key for one, row in stored.items() if row.session_key}


def reimport_sessions(
    collection: Any, found: Any, agent: Agent, report: Any, wanted: frozenset[str] | None
) -> ReimportTotals:
    """Make the sessions `wanted` (ids; None: all) of an agent again.

    Sessions that retention, an archive or an undo took out are never brought back; those with people who have opted
    out are taken out. Each session is one transaction: what ends this early leaves each as it was or as it will be.
    """
    made, stored = ReimportTotals(), _stored(agent.db)
    known = _known(agent.agent_id, stored)
    with ExitStack() as stack, _damage_noted(found, report):
        sources = stack.enter_context(open_sources(collection, found, report, known))
        ids = sources.with_moved(_chosen(wanted, stored, sources))
        made.without_source += sorted((wanted or set()) & known - set(ids))
        _take_out(collection, agent, [stored[one] for one in ids if one in stored], sources, made)
        beside = stack.enter_context(
            databases.open_scratch_database(collection.copies.place(f"{agent.agent_id}.sqlite"))
        )
        may_read = _reader(collection, found, agent, report, sources, made)
        for session_id in ids:
            collection.begin(0, _("Importing %(session)s again") % {"session": session_id})
            if may_read(session_id):
                with contain_failures(report, session_id, "unreadable_session"):
                    _session(collection, agent, beside, session_id, sources, made)
        for file in sources.files:
            if file.session_id in ids:
                collection.book.move(file.path, file.session_id)
    return made


@contextmanager
def _damage_noted(found, report):
    """A database that cannot be read any further ends what is made again of this agent; what was made stays."""
    try:
        yield
    except (DamagedDatabase, UnreadableDatabase) as exc:
        note_unread(report, found.database, exc)


def _chosen(wanted, stored, sources):
    """The ids of the sessions that `wanted` names by id or by key."""
    ids = list(dict.fromkeys([*sources.parts, *stored]))
    if wanted is None:
        return ids
    keys = _keys(stored, sources)
    return [one for one in ids if one in wanted or keys.get(one) in wanted]


def _reader(collection, found, agent, report, sources, made):
    out = holdings.read_removed(agent.agent_id)
    out = {one for one, why in out.items() if why != holdings.RemovalReason.OPTED_OUT} | removal.read_all_removed_ids(
        agent.db
    )
    out |= collection.ignored.get(agent.agent_id, frozenset()) | set(made.taken_out)
    consent = collect_consent.build_permission(collection, found, agent, report, list(sources.entries.values()))

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
    moved = [build_file_part(collection, file) for file in sources.moved.get(session_id, ())]
    if not parts and not moved:
        made.without_source.append(session_id)
        if not collection.opted_out and not (
            collection.stashes_outputs and output_stash.has_due_output(agent.db, session_id)
        ):
            return
        parts = [_nothing(collection, agent, session_id)]  # withheld, or made artifacts, all the same
    if entry is not None and collection.opted_out:
        entry = collect_consent.remove_title(entry)
    stashes = collection.stashes_outputs
    came = reimport.reimport_session(agent.db, beside, session_id, parts or [], entry, stashes=stashes, moved=moved)
    if collection.opted_out:  # whose words a line without a place in the tree holds, nobody can tell
        RejectedRecord.objects.using(agent.db).filter(session_id=session_id).update(raw_preview="")
    if came.held.count or came.moved:
        holding_checks.note_rebuilt(agent, session_id, came)
    if came.moved and not came.held.count and entry is None:
        removal.delete_session(agent.db, session_id)
    _count(made, session_id, came)


def _nothing(collection, agent, session_id):
    state = Session.objects.using(agent.db).filter(id=session_id).values_list("source_state", flat=True).first()
    return SessionSource(build_transcript(collection, session_id, "", 0, state or LIVE), lambda: nullcontext(iter(())))


def _count(made, session_id, came: ReimportResult):
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
        if is_theirs or origins.is_direct_with(session, collection.opted_out):
            holdings.note_removed(
                agent.agent_id, [session.id], holdings.RemovalReason.OPTED_OUT
            )  # first: a kill is no loss
            made.artifacts.update(removal.delete_session(agent.db, session.id))
            made.taken_out.append(session.id)
