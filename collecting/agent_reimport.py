"""Rebuilds sessions from every source that still contains them; evidence about them is kept."""

from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents import databases, holdings
from agents.models import Agent, CollectorSource
from findings import scan as findings
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
    """The result of a repeated import of one agent; its lists contain session ids."""

    rebuilt: list[str] = field(default_factory=list)
    unchanged: int = 0
    new: list[str] = field(default_factory=list)
    added: Counter[str] = field(default_factory=Counter)
    kept_count: int = 0  # records that no source contains any more
    withheld: dict[str, list[str]] = field(default_factory=dict)  # session -> records whose text was removed
    taken_out: list[str] = field(default_factory=list)  # conversations with people who opted out
    without_source: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)  # somebody opted out, and the participants of these are unknown
    words: dict[str, set[str]] = field(default_factory=dict)  # session -> texts that were withheld
    artifacts: set[str] = field(default_factory=set)

    def as_json(self) -> dict[str, Any]:
        """The counts, and the ids of sessions that a person should check."""
        return {
            "rebuilt": len(self.rebuilt),
            "unchanged": self.unchanged,
            "new": len(self.new),
            "added": dict(sorted(self.added.items())),
            "kept": self.kept_count,
            "withheld": {session_id: len(ids) for session_id, ids in sorted(self.withheld.items())},
            "taken_out": sorted(self.taken_out),
            "without_source": sorted(self.without_source),
            "undecided": sorted(self.undecided),
        }


def prepare_agent(root: Path, agent_id: str) -> None:
    """Prepare an agent with a new file: removed sessions stay removed, and every source is read."""
    db = databases.get_alias(agent_id)
    whys = {reason.value for reason in RemovedSession.Why}
    removed = {session_id: why for session_id, why in holdings.read_removed(agent_id).items() if why in whys}
    RemovedSession.objects.using(db).bulk_create(
        [
            RemovedSession(session_id=session_id, removed_at=0, why=why, last_activity_at=0)
            for session_id, why in removed.items()
        ],
        ignore_conflicts=True,
    )
    CollectorSource.objects.filter(root=str(root), agent_id=agent_id).exclude(kind=Kind.AGENT).delete()
    # Logs of the plugin are about several agents; their entries about this agent are read again.
    CollectorSource.objects.filter(root=str(root), kind__in=LOGS).delete()


def check_sessions(collection: Any, names: dict[str, str], report: Any) -> None:
    """Raise Refused when a requested session is in no agent of `names` and no source.

    `names` maps agents of the home to agents here. Nothing is written.
    """
    missing = collection.again
    for home_agent in collection.home.agents:
        if home_agent.home_name in names:
            missing = _find_unknown(collection, home_agent, names[home_agent.home_name], report, missing)
    if missing:
        raise Refused(_("There is no session %(id)s, here or in a source.") % {"id": min(missing)})


def _find_unknown(collection, home_agent, agent_id, report, requested):
    """The requested sessions that an agent does not have.

    None while a source cannot be read: the import itself then says why.
    """
    try:
        stored = _read_stored(databases.get_alias(agent_id))
    except databases.UnusableAgent:  # missing or damaged: the import begins with a new file, or says why
        stored = {}
    known = _find_known(agent_id, stored)
    try:
        with open_sources(collection, home_agent, report, known) as sources:
            keys = _build_keys(stored, sources)
            ids = known | sources.parts.keys() | sources.entries.keys()
    except (DamagedDatabase, UnreadableDatabase):
        return frozenset()
    return requested - ids - {keys.get(session_id) for session_id in ids}


def _read_stored(db):
    return {row.id: row for row in Session.objects.using(db).order_by("id")}


def _find_known(agent_id, stored):
    """The stored sessions, and those that the store has lost."""
    return stored.keys() | holdings.read_holdings(agent_id).keys()


def _build_keys(stored, sources):
    """Session keys by session, from the current index or an earlier one."""
    keys = {session_id: entry.session_key for session_id, entry in sources.entries.items()}
    return keys | {session_id: row.session_key for session_id, row in stored.items() if row.session_key}


def reimport_sessions(
    collection: Any, home_agent: Any, agent: Agent, report: Any, requested: frozenset[str] | None
) -> ReimportTotals:
    """Rebuild the sessions `wanted` (ids or keys; None: all) of an agent.

    Sessions that retention, an archive or an undo removed are never restored; those with people who have opted out are
    removed. Each session is one transaction: an interruption leaves it unchanged or complete.
    """
    totals, stored = ReimportTotals(), _read_stored(agent.db)
    known = _find_known(agent.agent_id, stored)
    with ExitStack() as stack, _note_damage(home_agent, report):
        sources = stack.enter_context(open_sources(collection, home_agent, report, known))
        ids = sources.with_moved(_choose_sessions(requested, stored, sources))
        totals.without_source += sorted((requested or set()) & known - set(ids))
        _remove_opted_out(
            collection, agent, [stored[session_id] for session_id in ids if session_id in stored], sources, totals
        )
        scratch_db = stack.enter_context(
            databases.open_scratch_database(collection.copies.get_path(f"{agent.agent_id}.sqlite"))
        )
        may_read = _build_reader(collection, home_agent, agent, report, sources, totals)
        for session_id in ids:
            collection.begin(0, _("Importing %(session)s again") % {"session": session_id})
            if may_read(session_id):
                with contain_failures(report, session_id, "unreadable_session"):
                    _reimport_session(collection, agent, scratch_db, session_id, sources, totals)
        for file in sources.files:
            if file.session_id in ids:
                collection.book.move(file.path, file.session_id)
    return totals


@contextmanager
def _note_damage(home_agent, report):
    """End the rebuild of this agent when its database cannot be read any further.

    Sessions that were rebuilt stay.
    """
    try:
        yield
    except (DamagedDatabase, UnreadableDatabase) as exc:
        note_unread(report, home_agent.database, exc)


def _choose_sessions(requested, stored, sources):
    """The ids of the sessions that are requested by id or by key."""
    ids = list(dict.fromkeys([*sources.parts, *stored]))
    if requested is None:
        return ids
    keys = _build_keys(stored, sources)
    return [session_id for session_id in ids if session_id in requested or keys.get(session_id) in requested]


def _build_reader(collection, home_agent, agent, report, sources, totals):
    excluded = holdings.read_removed(agent.agent_id)
    excluded = {
        session_id for session_id, why in excluded.items() if why != holdings.RemovalReason.OPTED_OUT
    } | removal.read_all_removed_ids(agent.db)
    excluded |= collection.ignored.get(agent.agent_id, frozenset()) | set(totals.taken_out)
    consent = collect_consent.build_permission(collection, home_agent, agent, report, list(sources.entries.values()))

    def may_read(session_id):
        if session_id in excluded:
            return False
        if consent(session_id):
            return True
        if Session.objects.using(agent.db).filter(id=session_id).exists():
            totals.undecided.append(session_id)
        return False

    return may_read


def _reimport_session(collection, agent, scratch_db, session_id, sources, totals):
    parts, entry = sources.parts.get(session_id), sources.entries.get(session_id)
    moved = [build_file_part(collection, file) for file in sources.moved.get(session_id, ())]
    if not parts and not moved:
        totals.without_source.append(session_id)
        if not collection.opted_out and not (
            collection.stashes_outputs and output_stash.has_due_output(agent.db, session_id)
        ):
            return
        parts = [
            _build_empty_source(collection, agent, session_id)
        ]  # it may still have to be withheld, or get artifacts
    if entry is not None and collection.opted_out:
        entry = collect_consent.remove_title(entry)
    stashes = collection.stashes_outputs
    result = reimport.reimport_session(
        agent.db, scratch_db, session_id, parts or [], entry, stashes=stashes, moved=moved
    )
    if result.is_changed:
        findings.forget_sessions(agent.db, [session_id])
    if collection.opted_out:  # the speaker of a line outside of the tree is unknown
        RejectedRecord.objects.using(agent.db).filter(session_id=session_id).update(raw_preview="")
    if result.held.count or result.moved:
        holding_checks.note_rebuilt(agent, session_id, result)
    if result.moved and not result.held.count and entry is None:
        removal.delete_session(agent.db, session_id)
    _add_result(totals, session_id, result)


def _build_empty_source(collection, agent, session_id):
    state = Session.objects.using(agent.db).filter(id=session_id).values_list("source_state", flat=True).first()
    return SessionSource(build_transcript(collection, session_id, "", 0, state or LIVE), lambda: nullcontext(iter(())))


def _add_result(totals, session_id, result: ReimportResult):
    if result.is_new:
        totals.new.append(session_id)
    elif result.is_changed:
        totals.rebuilt.append(session_id)
    else:
        totals.unchanged += 1
    totals.added += result.added
    totals.kept_count += result.kept_count
    totals.artifacts.update(result.artifacts)
    if result.withheld:
        totals.withheld[session_id], totals.words[session_id] = result.withheld, result.words


def _remove_opted_out(collection, agent, stored, sources, totals):
    """Remove direct conversations with people who opted out.

    Either the session or the current index may name them.
    """
    for session in stored if collection.opted_out else ():
        entry = sources.entries.get(session.id)
        has_opted_out = entry is not None and collect_consent.has_opted_out(entry, collection.opted_out)
        if has_opted_out or origins.is_direct_with(session, collection.opted_out):
            holdings.note_removed(
                agent.agent_id, [session.id], holdings.RemovalReason.OPTED_OUT
            )  # first: after a kill, the session does not count as lost
            totals.artifacts.update(removal.delete_session(agent.db, session.id))
            totals.taken_out.append(session.id)
