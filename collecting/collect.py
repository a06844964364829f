"""Imports an OpenClaw home into the store, for the page, the command and the watcher."""

import gc
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import database_loss, databases, omissions, skipped_sources, unread_parts
from agents.claims import ClaimResult, claim_agents, find_root, follow_reported_workspaces, resolve_names
from agents.database_copies import Copies
from agents.homes import Home
from agents.layout import openclaw_version
from agents.layout.home_agents import read_home
from agents.models import Agent, CollectorSource
from agents.services import needs_new_file
from agents.sources import SourceBook
from datasets import turn_facts
from datasets.kinds import changed_turns
from episodes.capture import services as episode_capture
from episodes.chain.heads import DamagedLedger
from gate.statistics import sums as gate_sums
from jobs.kinds import MINUTE_MS, Kind, Schedule
from ledger import consent, rules
from ledger.models import Session
from ledger.outputs import output_stash
from ledger.rebuild import repeats
from ledger.transcripts import reported_turns
from openclaw_web import amounts
from openclaw_web.clock import now_ms
from openclaw_web.disk import locks, reserve, room
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import connection_tuning
from overview import future_times, memory_standings, memory_sums, summaries
from people.configuration import setting_values as configuration

from . import agent_reimport as collect_again
from . import episode_import, moved_homes, opt_out_report, visits, watcher_state
from . import report as collect_report
from .inventory import folders, index_entries, shared_folders
from .inventory.deleted_sessions import includes_deleted
from .migration_runs import find_ignored_sessions
from .stages import agent_files as collect_agent
from .stages import decisions, home_state, mem_store, writes
from .stages import schedules as collect_schedules
from .stages.damage import contain_damage, run_without_damaged

KEPT_FILES = 5_000  # whose plans are kept in memory


@dataclass(slots=True)
class AgentReport:
    """The results of an import for one agent."""

    transcripts: Counter[str] = field(default_factory=Counter)  # new, appended, replaced, truncated, unchanged, ...
    records: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    withheld: Counter[str] = field(default_factory=Counter)  # records by why: senders.Why
    unknown_envelopes: int = 0
    repeated: int = 0
    unfinished: int = 0
    opted_out_sessions: int = 0
    unnamed_sessions: int = 0
    ignored_sessions: int = 0
    sessions_indexed: int = 0
    file_versions: int = 0
    steps: int = 0
    cut_prompts: int = 0
    indexed_files: int = 0
    future: dict[str, int] = field(default_factory=dict)  # sessions and records whose times are in the future
    contents: int = 0
    files: dict[str, Any] = field(default_factory=dict)  # found, read, named by reason
    skipped: list[skipped_sources.SkippedItem] = field(default_factory=list)  # files and entries that were not read
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Collection:
    """An import in progress: the home, its agents, earlier positions, and results so far."""

    home: Home
    agents: dict[str, Agent]  # by the home's names
    book: SourceBook
    opted_out: frozenset[str]
    include_deleted: bool
    progress: Any
    stashes_outputs: bool
    copies: Copies
    db: str = DEFAULT_DB_ALIAS  # the file with the tables of the whole home
    contents: Path | None = None  # the folder of contents; None: the store of this home
    ignored: dict[str, frozenset[str]] = field(default_factory=dict)  # by agent: sessions that were undone
    lost: dict[str, str] = field(default_factory=dict)  # agents whose file is lost, with the sentence about that
    only: str | None = None  # the one agent that is read
    is_again: bool = False  # sessions are rebuilt afterwards:
    again: frozenset[str] | None = None  # these, or all
    made_again: dict[str, collect_again.ReimportTotals] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)  # agents with another workspace than at the last import
    reports: dict[str, AgentReport] = field(default_factory=dict)
    unchanged: dict[str, dict[str, Any]] = field(default_factory=dict)  # last visits, by agent: agents.visits
    places: frozenset[Path] = frozenset()  # every folder with files of an agent
    places_of_agents: Counter[Path | None] = field(default_factory=Counter)  # how many agents keep sessions there
    indexes: dict[Path, Any] = field(default_factory=dict)  # session indexes that were read
    shared: dict[Path, Any] = field(default_factory=dict)  # folders that agents share, None for others
    elsewhere: list[Any] = field(default_factory=list)  # their entries whose transcripts lie with other agents
    total_bytes: int = 0
    bytes_read: int = 0
    # The current stage, an agent or the state database: its planned bytes, and the counts at its start.
    stage_bytes: int = 0
    stage_done: int = 0
    stage_read: int = 0

    def __post_init__(self) -> None:
        agents = self.home.agents if self.home else ()
        self.places = frozenset(
            place for agent in agents for part in agent.parts for place in folders.find_places(part)
        )
        for agent in agents:
            self.places_of_agents.update({*agent.session_folders, agent.agent_dir})

    def add_bytes(self, count: int) -> None:
        """Report progress, never beyond the plan, although files may grow during the import."""
        self.bytes_read += count
        self._report_progress(min(self.bytes_read - self.stage_read, self.stage_bytes))

    def begin(self, planned: int, message: str = "") -> None:
        """Begin a stage of `planned` bytes; earlier stages count as finished."""
        self.stage_done += self.stage_bytes
        self.stage_bytes, self.stage_read = planned, self.bytes_read
        self._report_progress(0, message)

    def _report_progress(self, of_stage, message=""):
        self.progress.update(self.stage_done + of_stage, self.total_bytes or None, message)


def run(params: dict[str, Any], progress: Any, copies: Copies | None = None) -> dict[str, Any]:
    """Import `params["source"]` (default: the configured home); returns the results as JSON values.

    `params` may hold `as` (another name for the agents), `moved_from` (the earlier place of this folder),
    `include_deleted`, and `agent` (import only this one). Raises Refused when there is nothing to read, a name is
    taken, a session does not exist or the disk is full. It may be run again and then reads only what is new. With
    `again`, sessions are rebuilt from their sources afterwards: those in `session` (ids or keys), else all. `copies`
    are the database copies that a watcher keeps.
    """
    source = find_root(params.get("source") or settings.STATE_DIR)
    if source.resolve() == settings.HOME_DIR.resolve():
        raise Refused(_("%(path)s is OpenClaw Web's own home. Choose the OpenClaw folder instead.") % {"path": source})
    room.check(settings.HOME_DIR, 2 * reserve.TO_READ)  # the rest is reserved for removals
    disk_guard = room.refuse_when_full(
        settings.HOME_DIR, _("Imported records are kept. Free some disk space, then import again.")
    )
    with (
        disk_guard,
        exclusive_run(progress),
        _pause_cycle_collector(),
        nullcontext(copies) if copies else Copies() as own_copies,
    ):
        home = read_home(source)
        if params.get("moved_from") is not None:
            moved_homes.move_home(params["moved_from"], home)
        _check_sessions(home, params, own_copies, progress)
        # Claim the agents; a repeated import gives a lost or damaged one an empty file.
        names = _find_names(home, params).values()
        anew = frozenset(agent_id for agent_id in names if params.get("again") and needs_new_file(agent_id))
        claimed = claim_agents(home, as_name=params.get("as"), folder=_find_renamed_folder(home, params), anew=anew)
        agent_ids = {name: agent.agent_id for name, agent in claimed.agents.items()}
        follow_reported_workspaces(home, agent_ids)
        for agent_id in anew.intersection(agent_ids.values()):
            collect_again.prepare_agent(home.root, agent_id)
            home.notes += databases.settle(agent_id)
        collection = _build_collection(home, claimed, params, own_copies, progress)
        openclaw_version.note_version(home.root, home.version)
        result = _collect_home(collection)
        watcher_state.forget_refusal(home.root)
        return result


def _build_collection(home, claimed, params, copies, progress):
    folder = _find_renamed_folder(home, params)
    return Collection(
        home=home,
        agents=claimed.agents,
        lost=claimed.lost,
        unchanged=claimed.unchanged,
        book=SourceBook(home.root),
        opted_out=consent.read_opted_out(),
        include_deleted=includes_deleted(params),
        progress=progress,
        stashes_outputs=configuration.is_on(output_stash.SETTING),
        copies=copies,
        ignored=find_ignored_sessions(home.root),
        only=claimed.agents[folder].agent_id if folder in claimed.agents else params.get("agent"),
        again=frozenset(params["session"]) if params.get("session") else None,
        is_again=bool(params.get("again")),
    )


def _check_sessions(home, params, copies, progress):
    """Refuse an unknown session before anything is imported or created for it."""
    if params.get("again") and params.get("session"):
        check_collection = _build_collection(replace(home, notes=[]), ClaimResult({}, {}, {}), params, copies, progress)
        collect_again.check_sessions(check_collection, _find_names(home, params), AgentReport())


def _find_names(home, params):
    """The agents to read, by their names in the home. Raises Refused for an unknown one."""
    only, folder = params.get("agent"), _find_renamed_folder(home, params)
    names = resolve_names(home, as_name=params.get("as"), folder=folder)
    only = names.get(folder, only)
    if only and only not in names.values():
        words = {"agent": only, "names": listed(names.values())}
        raise Refused(_("This OpenClaw folder has no agent %(agent)s. Its agents: %(names)s.") % words)
    return {name: agent_id for name, agent_id in names.items() if only in (None, agent_id)}


def _find_renamed_folder(home, params):
    """The folder of the agent that alone gets another name; None: `as` is about all agents."""
    folders = {agent.home_name for agent in home.agents}
    return params["agent"] if params.get("as") and params.get("agent") in folders else None


def _collect_home(collection):
    chosen_agents = [home_agent for home_agent in collection.home.agents if _is_chosen(collection, home_agent)]
    planned: dict[str, int] = {}
    digests: dict[str, str] = {}
    plans = _plan_agents(collection, chosen_agents, planned, digests)
    others = [stage.count_bytes_to_read(collection) for stage in (home_state, mem_store, episode_import)]
    collection.total_bytes = sum(planned.values()) + sum(others)
    for home_agent in chosen_agents:
        if home_agent.home_name in planned:
            with contain_damage(collection, home_agent):
                agent = collection.agents[home_agent.home_name]
                collection.begin(planned[home_agent.home_name], _("Importing %(agent)s") % {"agent": agent.agent_id})
                with agent.keep_db():
                    plan = plans.pop(home_agent.home_name, None) or _plan_agent(collection, home_agent)
                    _collect_agent(collection, home_agent, plan)
    _note_unreached(collection)
    if not collection.opted_out:  # while somebody is opted out, keys from other agents' indexes are not used
        for agent in index_entries.store_other_keys(collection.home.root, collection.agents, collection.elsewhere):
            summaries.refresh(agent)
    collection.begin(others[0])
    schedules = run_without_damaged(collection, collect_schedules.collect)
    run_without_damaged(collection, lambda collection: home_state.collect(collection, schedules))
    collection.begin(others[1])
    artifacts = run_without_damaged(collection, mem_store.collect)
    collection.begin(others[2])
    plugin = {"episodes": run_without_damaged(collection, episode_import.collect)}
    plugin["gate"] = run_without_damaged(collection, decisions.collect)
    plugin["guardian"] = run_without_damaged(collection, writes.collect)
    run_without_damaged(collection, _finish_agents)
    results = (schedules, artifacts, *plugin.values())
    if any(counts["rejected"] for counts in results):  # rejected lines are part of the sums of agents
        for home_agent in filter(lambda home_agent: _is_chosen(collection, home_agent), chosen_agents):
            summaries.refresh(collection.agents[home_agent.home_name])
    visits.note_visits(collection, digests)
    summaries.note_unchanged(collection.reports.keys() - digests.keys(), now_ms())
    collection.begin(0)
    return _build_result(collection, schedules, artifacts, plugin)


def _plan_agents(collection, chosen_agents, planned, digests):
    """Find what has to be read of each agent: `planned` gets the bytes of those to visit.

    Returns plans, not of all agents: with many files they would take much memory, and are made again later.
    """
    plans, file_count, conditions = {}, 0, visits.describe_conditions(collection)
    for home_agent in chosen_agents:
        with contain_damage(collection, home_agent):
            agent_id = collection.agents[home_agent.home_name].agent_id
            listings = [
                shared_folders.list_own_files(collection, part, collection.home.notes) for part in home_agent.parts
            ]
            digest = visits.compute_digest(collection, home_agent, listings, conditions)
            visit = collection.unchanged.get(agent_id)
            if digest and visit and visit["digest"] == digest:
                collection.reports[agent_id] = visits.restore_report(AgentReport(), visit)
                continue
            collection.unchanged.pop(agent_id, None)
            digests[agent_id] = digest
            plan = _plan_agent(collection, home_agent, listings)
            planned[home_agent.home_name] = sum(part_plan.bytes_to_read for _part, part_plan in plan)
            file_count += sum(listing.count for listing in listings)
            if file_count <= KEPT_FILES:
                plans[home_agent.home_name] = plan
    return plans


def _plan_agent(collection, home_agent, listings=None):
    parts = home_agent.parts
    listed = zip(parts, listings or [None] * len(parts), strict=True)
    return [(part, collect_agent.plan_agent(collection, part, listing)) for part, listing in listed]


def _finish_agents(collection):
    """Refresh standings of memory files, sums of writes and decisions of each agent, and capture events."""
    for agent in visits.list_visited(collection):
        with agent.keep_db():
            changed_turns.follow_joined(agent)
            memory_standings.refresh_standings(agent)
            memory_sums.refresh(agent)
            gate_sums.ensure_complete(agent.db)
            try:
                episode_capture.capture_agent(agent)
            except DamagedLedger as exc:  # of this agent alone: everything else is imported
                collection.home.notes.append(exc.sentence)


def _collect_agent(collection, home_agent, plans):
    agent = collection.agents[home_agent.home_name]
    report = collection.reports[agent.agent_id] = AgentReport()
    connection_tuning.expect_many_writes(agent.db)
    for part, plan in plans:
        collect_agent.collect(collection, part, agent, plan, report)
    if report.withheld:
        reported_turns.look_again(agent.db)
    changed = Session.objects.using(agent.db).filter(rules=rules.AGAIN).values_list("id", flat=True)
    short = frozenset(changed).union(*(plan.short for _part, plan in plans))
    if collection.is_again or short:
        requested = _find_reimports(collection, short)
        collection.made_again[agent.agent_id] = collect_again.reimport_sessions(
            collection, home_agent, agent, report, requested
        )
        for _part, plan in plans:
            plan.settle()
    finished_plans = [plan for _part, plan in plans]
    if short:
        _note_skipped(collection, home_agent, agent, finished_plans, report)
        finished_plans[-1] = collect_agent.read_remaining(collection, home_agent, agent, short, report)
    _note_skipped(collection, home_agent, agent, finished_plans, report)
    if problem := database_loss.problem_of(agent):
        collection.lost[agent.agent_id] = problem
    repeats.mark_repeats(agent.db, is_forced=collection.is_again or bool(short))
    turn_facts.mark_repeated(agent)
    connection_tuning.expect_few_writes(agent.db)
    summaries.refresh(agent, collected_at=now_ms(), is_whole=collection.is_again or bool(short))
    report.future = future_times.count_in_file(agent.db)
    for part in home_agent.parts:
        if shared_folders.find_shared_folder(collection, part.sessions) is None:
            collection.indexes.pop(part.index, None)


def _note_skipped(collection, home_agent, agent, plans, report):
    odd = folders.find_odd_places(collection.home, home_agent.home_name)
    collect_agent.merge_outcomes(agent, plans, report, odd)
    skipped_sources.replace_skipped(collection.home.root, agent.agent_id, report.skipped)
    omissions.store_omissions(agent.agent_id, report.skipped)


def _note_unreached(collection):
    """Note the skipped places of agents that were imported before and are unreachable now."""
    reachable = {home_agent.home_name for home_agent in collection.home.agents}
    names = {oddity.agent for oddity in collection.home.oddities if oddity.is_unread} - reachable
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=str(collection.home.root))
    for row in claims.filter(path__in=names):
        if collection.only in (None, row.agent_id):
            odd = folders.find_odd_places(collection.home, row.path)
            skipped_sources.replace_skipped(collection.home.root, row.agent_id, odd)


def _find_reimports(collection, short):
    """The sessions to rebuild: requested ones, all (None), and those that need it."""
    if not collection.is_again:
        return short
    return None if collection.again is None else collection.again | short


def _is_chosen(collection, home_agent):
    agent = collection.agents.get(home_agent.home_name)
    return agent is not None and collection.only in (None, agent.agent_id)


def _build_result(collection, schedules, artifacts, plugin):
    home, reports = collection.home, collection.reports.values()
    records = sum(report.records.total() for report in reports)
    elsewhere = sum(counts["rejected"] for counts in (schedules, artifacts, *plugin.values()))
    rejected = sum(report.rejected.total() for report in reports) + elsewhere
    counts = {
        "records": amounts.format_amount("new records", records),
        "agents": amounts.format_amount("agents", len(reports)),
    }
    counts["rejected"] = amounts.format_amount("rejected lines", rejected)
    return {
        "message": _("%(records)s from %(agents)s, %(rejected)s.") % counts,
        "source": str(home.root),
        "bytes_read": collection.bytes_read,
        "records": records,
        "rejected": rejected,
        "agents": {
            agent_id: collect_report.build_agent_json(report) for agent_id, report in collection.reports.items()
        },
        "schedules": schedules,
        "artifacts": artifacts,
        **plugin,
        "databases": unread_parts.find_parts(home.root),
        "notes": home.notes,
        "lost": collection.lost,
        # Sentences about parts of the home that were not read: the import is then incomplete.
        "unread": [*home.problems, *(oddity.sentence for oddity in home.oddities if oddity.is_unread)],
        "again": {agent_id: again.as_json() for agent_id, again in collection.made_again.items()},
        "still_held": opt_out_report.build_report(collection.made_again),
    }


@contextmanager
def _pause_cycle_collector():
    """Pause the cycle collector: records have no reference cycles.

    Searching millions of them took a fifth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def exclusive_run(progress):
    """Run one import at a time in a home; the lock ends with its process."""
    (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)

    def report_waiting():
        progress.update(0, None, _("Another import is running. Waiting until that import has ended."))

    return locks.lock(locks.COLLECTING, before_waiting=report_waiting)


JOB = Kind(
    run=run,
    label=gettext_lazy("Import"),
    audit_text=gettext_lazy("started an import"),
    cancel_text=gettext_lazy("Records imported so far are kept, and the next import continues from there."),
    describe_result=collect_report.in_words,
    page="overview:agent_list",
    schedule=Schedule(
        "schedule.collectMinutes",
        MINUTE_MS,
        lambda: {"source": str(settings.STATE_DIR)},
        lambda: settings.STATE_DIR.is_dir(),
    ),
)
