"""Rebuilds sessions from every source that still contains them; evidence about them is kept."""

import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext as _

from agents import databases, holdings
from agents.homes import NotReadable
from agents.models import Agent, CollectorSource
from artifacts.models import Artifact
from datasets.quality import job as quality
from findings import scan as findings
from ledger import rules
from ledger.collectors.database import DamagedDatabase
from ledger.models import RejectedRecord, RemovedSession, Session
from ledger.outputs import output_stash
from ledger.rebuild import reimport, repeats
from ledger.rebuild.reimport import ReimportResult, SessionComparison, UnreadableOutput
from ledger.rebuild.session_sources import SessionSource
from ledger.transcripts import origins, removal, reported_turns
from openclaw_web.disk import room
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import size as in_words
from search import changes as search

from .agent_sources import AgentSources, build_file_part, build_transcript, note_unread, open_sources
from .stages import consent as collect_consent
from .stages import holding_checks
from .stages.guard import UNFORESEEN, contain_failures
from .stages.source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE
# Why sessions are not compared; of sessions of other rules, records are, and not their turns.
SKIPPED = REWRITTEN, MOVED, UNDECIDED, OLDER = "rewritten", "moved", "undecided", "older"
SCRATCH_BYTES = 4 * 1024 * 1024  # of an empty file, and of what SQLite keeps beside it
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
        ids = sources.with_moved(_choose_sessions(requested, known, stored, sources))
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


def _choose_sessions(requested, known, stored, sources):
    """The ids of the sessions that are requested by id or by key."""
    ids = list(dict.fromkeys([*sources.parts, *stored]))
    if requested is None:
        return ids
    ids += sorted(known & requested - {*ids})  # records whose session has lost its row
    keys = _build_keys(stored, sources)
    return [session_id for session_id in ids if session_id in requested or keys.get(session_id) in requested]


def _build_reader(collection, home_agent, agent, report, sources, totals):
    excluded = holdings.read_removed(agent.agent_id)
    excluded = {
        session_id for session_id, why in excluded.items() if why != holdings.RemovalReason.OPTED_OUT
    } | removal.read_all_removed_ids(agent.db)
    excluded |= collection.ignored.get(agent.agent_id, frozenset()) | set(totals.taken_out)
    if home_agent is None:  # only earlier indexes tell whose conversations they are
        named = collect_consent.find_named(agent, collection.opted_out) if collection.opted_out else None
        consent = collect_consent.ReadPermission(report, named)
    else:
        entries = list(sources.entries.values())
        consent = collect_consent.build_permission(collection, home_agent, agent, report, entries)

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
    parts, entry = sources.parts.get(session_id), _find_entry(collection, sources, session_id)
    moved = [build_file_part(collection, file) for file in sources.moved.get(session_id, ())]
    if not parts and not moved:
        if not session_id.startswith(reported_turns.PREFIX):  # its source is the plugin
            totals.without_source.append(session_id)
        has_due_output = collection.stashes_outputs and output_stash.has_due_output(agent.db, session_id)
        if collection.again is None and not collection.opted_out and not has_due_output:
            return
        # It may have to be withheld, get artifacts, or be derived again from its records.
        parts = [_build_empty_source(collection, agent, session_id)]
    stashes = collection.stashes_outputs
    result = reimport.reimport_session(
        agent.db, scratch_db, session_id, parts or [], entry, stashes=stashes, moved=moved
    )
    if result.is_changed:
        findings.forget_sessions(agent.db, [session_id])
        search.forget_sessions(agent.db, [session_id])
        quality.forget_sessions(agent.agent_id, [session_id])
    if collection.opted_out:  # the speaker of a line outside of the tree is unknown
        RejectedRecord.objects.using(agent.db).filter(session_id=session_id).update(raw_preview="")
    if result.held.count or result.moved:
        holding_checks.note_rebuilt(agent, session_id, result)
    if result.moved and not result.held.count and entry is None:
        removal.delete_session(agent.db, session_id)
    _add_result(totals, session_id, result)


def _find_entry(collection, sources, session_id):
    entry = sources.entries.get(session_id)
    return collect_consent.remove_title(entry) if entry is not None and collection.opted_out else entry


def _build_empty_source(collection, agent, session_id):
    state = Session.objects.using(agent.db).filter(id=session_id).values_list("source_state", flat=True).first()
    transcript = build_transcript(collection, session_id, "", 0, state or LIVE)
    transcript.hidden = reported_turns.find_hidden(agent.db, session_id) if collection.opted_out else frozenset()
    return SessionSource(transcript, lambda: nullcontext(iter(())))


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
    """Remove direct conversations with people who opted out."""
    for session in _find_with_opted_out(collection, stored, sources):
        holdings.note_removed(
            agent.agent_id, [session.id], holdings.RemovalReason.OPTED_OUT
        )  # first: after a kill, the session does not count as lost
        totals.artifacts.update(removal.delete_session(agent.db, session.id))
        totals.taken_out.append(session.id)


def _find_with_opted_out(collection, stored, sources):
    """The stored sessions that are direct conversations with people who opted out.

    Either the session or the current index may name them.
    """
    entries = [each for each in sources.entries.values() if collect_consent.has_opted_out(each, collection.opted_out)]
    named = {name for entry in entries for name in (entry.session_id, entry.session_key)}
    for session in stored if collection.opted_out else ():
        is_named = session.id in named or not named.isdisjoint(reported_turns.list_keys(session))
        if is_named or origins.is_direct_with(session, collection.opted_out):
            yield session


def compare_sessions(
    collection: Any,
    home_agent: Any,
    agent: Agent,
    report: Any,
    unreadable: dict[str, str],
    skipped: Counter[str],
    chosen: Collection[str] | None = None,
) -> Iterator[tuple[SessionComparison, list[SessionSource]]]:
    """Make the sessions of an agent (those in `chosen`; None: all) from their sources, and compare them with the store.

    They are made in a file of their own, one after the other; nothing is written to the store. Without `home_agent`,
    the agent's sources are elsewhere, and they are made from the stored records. Of each source only what was read
    before is compared, and no source that was rewritten since. `unreadable` gets sources and sessions with the reason
    why they were not compared, `skipped` the numbers of others by reason (SKIPPED). Raises Refused where the space is
    short.
    """
    stored = _read_stored(agent.db)
    known = _find_known(agent.agent_id, stored)
    with ExitStack() as stack:
        sources = AgentSources()
        if home_agent is not None:
            sources = stack.enter_context(open_sources(collection, home_agent, report, known, is_read_part=True))
        unreadable.update(dict.fromkeys(report.notes, ""))  # of files and databases; who may be read is said apart
        totals = ReimportTotals()
        totals.taken_out += [row.id for row in _find_with_opted_out(collection, stored.values(), sources)]
        may_read = _build_reader(collection, home_agent, agent, report, sources, totals)
        moved = sources.moved.keys() | {file.session_id for files in sources.moved.values() for file in files}
        ids = list(dict.fromkeys([*sources.parts, *stored, *sorted(known)]))
        ids = [session_id for session_id in ids if chosen is None or session_id in chosen]
        for reason, others in ((REWRITTEN, sources.rewritten), (MOVED, moved - sources.rewritten)):
            skipped[reason] += len(others & known)
            ids = [session_id for session_id in ids if session_id not in others]
        ids = list(filter(may_read, ids))
        skipped[UNDECIDED] += len(totals.undecided)
        older = {session_id for session_id in ids if session_id in stored and stored[session_id].rules < rules.VERSION}
        skipped[OLDER] += len(older)
        needed = _estimate_bytes(agent, stored)
        room.check(settings.HOME_DIR, needed)
        words = {"agent": agent.agent_id, "size": in_words(needed)}
        collection.progress.update(0, None, _("Comparing agent %(agent)s (needs up to %(size)s)") % words)
        file = collection.copies.get_path(f"compared-{agent.agent_id}.sqlite")
        contents = file.with_suffix("")
        stack.callback(shutil.rmtree, contents, ignore_errors=True)
        scratch_db = stack.enter_context(databases.open_scratch_database(file))
        for number, session_id in enumerate(ids):
            collection.progress.update(number, len(ids))
            parts = sources.parts.get(session_id, [])
            entry = None if session_id in sources.reindexed else _find_entry(collection, sources, session_id)
            files = {part.transcript.file for part in parts if collection.book.part(part.transcript.file)}
            try:
                compared = reimport.compare_session(
                    agent.db,
                    scratch_db,
                    session_id,
                    parts or [_build_empty_source(collection, agent, session_id)],
                    entry,
                    stashes=collection.stashes_outputs,
                    contents=contents,
                    read_files=files,
                )
            except (NotReadable, DamagedDatabase, UnreadableDatabase, UnreadableOutput, *UNFORESEEN) as exc:
                unreadable[f"{agent.agent_id}/{session_id}"] = str(exc)
            else:
                if session_id in older:
                    compared.rows.clear()
                yield compared, parts
            shutil.rmtree(contents, ignore_errors=True)


def _estimate_bytes(agent, stored):
    """The space that the largest session of an agent's file takes, as made again, with the most outputs of one."""
    counts = [session.record_count for session in stored.values()]
    share = max(counts, default=0) / (sum(counts) or 1)
    outputs = Artifact.objects.using(agent.db).order_by().values("session_id").annotate(size=Sum("stored_bytes"))
    most = max(outputs.values_list("size", flat=True), default=0)
    return int(1.3 * (share * databases.get_path(agent.agent_id).stat().st_size + most)) + SCRATCH_BYTES


def rebuild_from_records(collection: Any, agent: Agent, ids: Iterable[str]) -> None:
    """Derive sessions again from their stored records, for an agent whose sources are elsewhere."""
    file = collection.copies.get_path(f"{agent.agent_id}.sqlite")
    with databases.open_scratch_database(file) as scratch_db:
        for session_id in ids:
            parts = [_build_empty_source(collection, agent, session_id)]
            reimport.reimport_session(agent.db, scratch_db, session_id, parts, None, stashes=collection.stashes_outputs)
    repeats.mark_repeats(agent.db, is_forced=True)
