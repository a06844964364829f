"""Collect: read an OpenClaw home into the store. What the page's button, the command and the watcher run."""

import gc
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import database_loss, omissions, skipped_sources, unread_parts
from agents.claims import ClaimResult, claim_agents, find_root, follow_reported_workspaces, resolve_names
from agents.database_copies import Copies
from agents.homes import Home
from agents.layout import openclaw_version
from agents.layout.home_agents import read_home
from agents.models import Agent, CollectorSource
from agents.services import is_lost
from agents.sources import SourceBook
from datasets import turn_facts
from jobs.kinds import MINUTE_MS, Kind, Schedule
from ledger import consent
from ledger.outputs import output_stash
from ledger.rebuild import repeats
from openclaw_web import amounts
from openclaw_web.clock import now_ms
from openclaw_web.disk import locks, reserve, room
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import connection_tuning
from overview import future_times, memory_standings, memory_sums, summaries
from people.configuration import setting_values as configuration

from . import agent_reimport as collect_again
from . import opt_out_report, watcher_state
from . import report as collect_report
from .inclusion import includes_deleted
from .inventory import folders, index_entries
from .migration_runs import find_ignored_sessions
from .stages import agent_files as collect_agent
from .stages import decisions, home_state, mem_store, writes
from .stages import schedules as collect_schedules
from .stages.damage import contain_damage, run_without_damaged


@dataclass(slots=True)
class AgentReport:
    """What a collect found for one agent."""

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
    skipped: list[skipped_sources.SkippedItem] = field(default_factory=list)  # what was found and not read
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Collection:
    """One collect under way: the home, its agents here, what was read before, and what it found so far."""

    home: Home
    agents: dict[str, Agent]  # by the home's names
    book: SourceBook
    opted_out: frozenset[str]
    include_deleted: bool
    progress: Any
    stashes_outputs: bool
    copies: Copies
    ignored: dict[str, frozenset[str]] = field(default_factory=dict)  # by agent: sessions that were undone
    lost: dict[str, str] = field(default_factory=dict)  # agents whose file is gone: what is said of it
    only: str | None = None  # the one agent that is read
    is_again: bool = False  # sessions are made anew afterwards:
    again: frozenset[str] | None = None  # these, or all
    made_again: dict[str, collect_again.ReimportTotals] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)  # agents with another workspace than at the last import
    reports: dict[str, AgentReport] = field(default_factory=dict)
    indexes: dict[Path, Any] = field(default_factory=dict)  # session indexes that were read, once each
    shared: dict[Path, Any] = field(default_factory=dict)  # folders that agents share, None for others
    elsewhere: list[Any] = field(default_factory=list)  # their entries whose transcripts lie with other agents
    total_bytes: int = 0
    bytes_read: int = 0
    # What is being read, an agent or the state database: bytes planned for it, and where it began.
    stage_bytes: int = 0
    stage_done: int = 0
    stage_read: int = 0

    def add_bytes(self, count: int) -> None:
        """Tell whoever watches how far it is: never past the plan, although files grow while they are read."""
        self.bytes_read += count
        self._tell(min(self.bytes_read - self.stage_read, self.stage_bytes))

    def begin(self, planned: int, message: str = "") -> None:
        """Go on with what `planned` bytes are to be read of; what came before is done, however much it was."""
        self.stage_done += self.stage_bytes
        self.stage_bytes, self.stage_read = planned, self.bytes_read
        self._tell(0, message)

    def _tell(self, of_stage, message=""):
        self.progress.update(self.stage_done + of_stage, self.total_bytes or None, message)


def run(params: dict[str, Any], progress: Any, copies: Copies | None = None) -> dict[str, Any]:
    """Collect `params["source"]` (default: the configured home); returns what was found, as JSON-able values.

    `params` may hold `as` (another name for the agents), `include_deleted`, and `agent` (read only this one). Raises
    Refused when there is nothing to read, a name is taken, a session is nowhere or the disk is full. Running it again
    is harmless and reads only what is new. With `again`, sessions are made anew from their sources after that: those in
    `session` (ids or keys), else all. `copies` are those that a watcher keeps of databases.
    """
    source = find_root(params.get("source") or settings.STATE_DIR)
    if source.resolve() == settings.HOME_DIR.resolve():
        raise Refused(_("%(path)s is OpenClaw Web's own home. Choose the OpenClaw folder instead.") % {"path": source})
    room.check(settings.HOME_DIR, 2 * reserve.TO_READ)  # the last of it is for who makes room
    kept = room.refuse_when_full(
        settings.HOME_DIR, _("Imported records are kept. Free some disk space, then import again.")
    )
    with (
        kept,
        exclusive_run(progress),
        _no_cycle_collector(),
        nullcontext(copies) if copies else Copies() as own_copies,
    ):
        home = read_home(source)
        _check_sessions(home, params, own_copies, progress)
        collection = _collection(home, _claimed(home, params), params, own_copies, progress)
        openclaw_version.note_version(home.root, home.version)
        result = _collect(collection)
        watcher_state.forget_refusal(home.root)
        return result


def _collection(home, claimed, params, copies, progress):
    return Collection(
        home=home,
        agents=claimed.agents,
        lost=claimed.lost,
        book=SourceBook(home.root),
        opted_out=consent.read_opted_out(),
        include_deleted=includes_deleted(params),
        progress=progress,
        stashes_outputs=configuration.is_on(output_stash.SETTING),
        copies=copies,
        ignored=find_ignored_sessions(home.root),
        only=_only(home, params, claimed),
        again=frozenset(params["session"]) if params.get("session") else None,
        is_again=bool(params.get("again")),
    )


def _check_sessions(home, params, copies, progress):
    """A session that is nowhere is refused before anything is collected: not even a lost file is made anew for it."""
    if params.get("again") and params.get("session"):
        looking = _collection(replace(home, notes=[]), ClaimResult({}, {}), params, copies, progress)
        collect_again.check_sessions(looking, _names(home, params), AgentReport())


def _names(home, params):
    """The names here of the agents that are to be read, by those of the home. Raises Refused for one it has not."""
    only, folder = params.get("agent"), _renamed(home, params)
    names = resolve_names(home, as_name=params.get("as"), folder=folder)
    only = names.get(folder, only)
    if only and only not in names.values():
        words = {"agent": only, "names": listed(names.values())}
        raise Refused(_("This OpenClaw folder has no agent %(agent)s. Its agents: %(names)s.") % words)
    return {name: agent_id for name, agent_id in names.items() if only in (None, agent_id)}


def _renamed(home, params):
    """The folder of the one agent that gets another name, where `agent` names a folder; None: `as` is about all."""
    folders = {agent.home_name for agent in home.agents}
    return params["agent"] if params.get("as") and params.get("agent") in folders else None


def _only(home, params, claimed):
    folder = _renamed(home, params)
    return claimed.agents[folder].agent_id if folder in claimed.agents else params.get("agent")


def _claimed(home, params):
    """The agents of the home. To be collected again, one whose file is gone gets an empty one, to be filled now."""
    names = _names(home, params).values()
    anew = frozenset(one for one in names if params.get("again") and is_lost(one))
    claimed = claim_agents(home, as_name=params.get("as"), folder=_renamed(home, params), anew=anew)
    follow_reported_workspaces(home, {name: agent.agent_id for name, agent in claimed.agents.items()})
    for agent_id in anew:
        collect_again.prepare_agent(home.root, agent_id)
    return claimed


def _collect(collection):
    here = [found for found in collection.home.agents if _is_chosen(collection, found)]
    plans = {}
    for found in here:
        with contain_damage(collection, found):
            plans[found.home_name] = [(part, collect_agent.plan_agent(collection, part)) for part in found.parts]
    others = home_state.count_bytes_to_read(collection), mem_store.count_bytes_to_read(collection)
    planned = {name: sum(plan.bytes_to_read for _part, plan in parts) for name, parts in plans.items()}
    collection.total_bytes = sum(planned.values()) + sum(others)
    for found in here:
        if found.home_name in plans:
            with contain_damage(collection, found):
                agent_id = collection.agents[found.home_name].agent_id
                collection.begin(planned[found.home_name], _("Importing %(agent)s") % {"agent": agent_id})
                with collection.agents[found.home_name].keeping_db():
                    _collect_agent(collection, found, plans[found.home_name])
    _note_unreached(collection)
    if not collection.opted_out:  # whose conversation another agent's index names is not asked then
        for agent in index_entries.store_other_keys(collection.home.root, collection.agents, collection.elsewhere):
            summaries.refresh(agent)
    collection.begin(others[0])
    schedules = run_without_damaged(collection, collect_schedules.collect)
    run_without_damaged(collection, lambda collection: home_state.collect(collection, schedules))
    collection.begin(others[1])
    artifacts = run_without_damaged(collection, mem_store.collect)
    plugin = {"gate": run_without_damaged(collection, decisions.collect)}
    plugin["guardian"] = run_without_damaged(collection, writes.collect)
    run_without_damaged(collection, _refresh_standings)
    told = (schedules, artifacts, *plugin.values())
    if any(counts["rejected"] for counts in told):  # they are counted in the sums of agents
        for found in filter(lambda found: _is_chosen(collection, found), here):
            summaries.refresh(collection.agents[found.home_name])
    collection.begin(0)
    return _result(collection, schedules, artifacts, plugin)


def _refresh_standings(collection):
    """Compare the memory files of each agent with its records and its newest prompt, and count its writes again."""
    for agent in collection.agents.values():
        if agent.agent_id in collection.reports and agent.agent_id not in collection.lost:
            memory_standings.refresh_standings(agent)
            memory_sums.refresh(agent)


def _collect_agent(collection, found, plans):
    agent = collection.agents[found.home_name]
    report = collection.reports[agent.agent_id] = AgentReport()
    connection_tuning.expect_many_writes(agent.db)
    for part, plan in plans:
        collect_agent.collect(collection, part, agent, plan, report)
    short = frozenset().union(*(plan.short for _part, plan in plans))
    if collection.is_again or short:
        wanted = _wanted_again(collection, short)
        collection.made_again[agent.agent_id] = collect_again.reimport_sessions(
            collection, found, agent, report, wanted
        )
        for _part, plan in plans:
            plan.settle()
    accounted = [plan for _part, plan in plans]
    if short:
        _note_skipped(collection, found, agent, accounted, report)
        accounted[-1] = collect_agent.read_remaining(collection, found, agent, short, report)
    _note_skipped(collection, found, agent, accounted, report)
    if problem := database_loss.problem_of(agent):
        collection.lost[agent.agent_id] = problem
    repeats.mark_repeats(agent.db, is_forced=collection.is_again or bool(short))
    turn_facts.mark_repeated(agent)
    connection_tuning.expect_few_writes(agent.db)
    summaries.refresh(agent, collected_at=now_ms())
    report.future = future_times.count_in_file(agent.db)


def _note_skipped(collection, found, agent, plans, report):
    odd = folders.find_odd_places(collection.home, found.home_name)
    collect_agent.merge_outcomes(agent, plans, report, odd)
    skipped_sources.replace_skipped(collection.home.root, agent.agent_id, report.skipped)
    omissions.store_omissions(agent.agent_id, report.skipped)


def _note_unreached(collection):
    """Name the places of agents that were imported before and of which nothing can be reached now."""
    here = {found.home_name for found in collection.home.agents}
    names = {one.agent for one in collection.home.oddities if one.is_unread} - here
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=str(collection.home.root))
    for row in claims.filter(path__in=names):
        if collection.only in (None, row.agent_id):
            odd = folders.find_odd_places(collection.home, row.path)
            skipped_sources.replace_skipped(collection.home.root, row.agent_id, odd)


def _wanted_again(collection, short):
    """The sessions that are made again: those asked for, or all (None), and those that need it."""
    if not collection.is_again:
        return short
    return None if collection.again is None else collection.again | short


def _is_chosen(collection, found):
    agent = collection.agents.get(found.home_name)
    return agent is not None and collection.only in (None, agent.agent_id)


def _result(collection, schedules, artifacts, plugin):
    reports = collection.reports.values()
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
        "source": str(collection.home.root),
        "bytes_read": collection.bytes_read,
        "records": records,
        "rejected": rejected,
        "agents": {agent_id: _as_json(report) for agent_id, report in collection.reports.items()},
        "schedules": schedules,
        "artifacts": artifacts,
        **plugin,
        "databases": unread_parts.find_parts(collection.home.root),
        "notes": collection.home.notes,
        "lost": collection.lost,
        "unread": _unread(collection.home),
        "again": {agent_id: again.as_json() for agent_id, again in collection.made_again.items()},
        "still_held": opt_out_report.build_report(collection.made_again),
    }


def _unread(home):
    """What of the home was not read because of where it is, as sentences: the import was not whole."""
    return [*home.problems, *(one.sentence for one in home.oddities if one.is_unread)]


def _as_json(report):
    return {
        "transcripts": dict(sorted(report.transcripts.items())),
        "records": dict(sorted(report.records.items())),
        "rejected": dict(sorted(report.rejected.items())),
        "withheld": dict(sorted(report.withheld.items())),
        "unknown_envelopes": report.unknown_envelopes,
        "repeated": report.repeated,
        "unfinished": report.unfinished,
        "opted_out_sessions": report.opted_out_sessions,
        "unnamed_sessions": report.unnamed_sessions,
        "ignored_sessions": report.ignored_sessions,
        "sessions_indexed": report.sessions_indexed,
        "file_versions": report.file_versions,
        "steps": report.steps,
        "cut_prompts": report.cut_prompts,
        "indexed_files": report.indexed_files,
        **(report.future or future_times.NO_COUNTS),
        "contents": report.contents,
        "files": report.files,
        "notes": report.notes,
    }


@contextmanager
def _no_cycle_collector():
    """Records hold no reference cycles; walking through millions of them to find none took a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def exclusive_run(progress):
    """One collect at a time in a home; the lock goes with its process, however that ends."""
    (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)

    def say_so():
        progress.update(0, None, _("Another import is running. Waiting until that import has ended."))

    return locks.lock(locks.COLLECTING, before_waiting=say_so)


JOB = Kind(
    run=run,
    label=gettext_lazy("Import"),
    started=gettext_lazy("started an import"),
    kept=gettext_lazy("Records imported so far are kept, and the next import continues from there."),
    done=collect_report.in_words,
    page="overview:agent_list",
    every=Schedule(
        "schedule.collectMinutes",
        MINUTE_MS,
        lambda: {"source": str(settings.STATE_DIR)},
        lambda: settings.STATE_DIR.is_dir(),
    ),
)
