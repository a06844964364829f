"""The plan of `doctor --fix`, and all findings. It writes nothing."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents.claims import find_root, resolve_names
from agents.database_copies import Copies
from agents.layout import home_configuration
from agents.layout.home_agents import read_home
from agents.models import Agent
from agents.sources import SourceBook
from collecting import collect, migration_runs
from collecting.inventory.deleted_sessions import includes_deleted
from collecting.report import DATABASE_REASONS
from jobs import kinds as job_kinds
from ledger import consent
from ledger.outputs import output_stash
from openclaw_web import amounts, clock
from openclaw_web.disk import room
from openclaw_web.errors import Refused
from openclaw_web.sentences import join_sentences
from openclaw_web.sqlite import tables
from people.configuration import setting_values as configuration

from . import ignored_sessions, report
from .findings import FINDING, Finding
from .sources import (
    home_sources,
    import_preview,
    index_keys,
    new_rows,
    places,
    session_comparison,
    source_comparison,
    source_findings,
)
from .sources.census import Census, CensusTaker
from .sources.home_sources import LEFT, UNCHANGED, Source
from .sources.session_comparison import Comparison
from .sources.skipped_places import find_skipped_places
from .store import losses, own_store
from .store.losses import Counts

TRANSCRIPTS = "transcript_events"
UNREADABLE = ("integrity", "schema")
MISTYPED = ("ledger_types", "artifacts_types")
LISTED = 500  # maximum of sources, rejected records and findings in a receipt


@dataclass(slots=True)
class Plan:
    """Findings of a check. Without an OpenClaw home it has no sources, and `problem` says why."""

    root: Path
    problem: str = ""
    is_deep: bool = False
    is_mending: bool = False  # rows beside sessions are made those of their sources
    collection: Any = None
    names: dict[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    ignored: list[dict[str, Any]] = field(default_factory=list)
    store: list[Finding] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    compared: Comparison = field(default_factory=Comparison)
    census: Census = field(default_factory=Census)

    @property
    def mistyped(self) -> set[str]:
        """Agents with values of the wrong type, which cannot be compared."""
        return {finding.agent for finding in self.store if finding.check in MISTYPED}

    @property
    def to_read(self) -> list[Source]:
        return [source for source in self.sources if source.is_to_read]

    @property
    def findings(self) -> int:
        """The number of findings that a person should see."""
        return (
            len([finding for finding in self.store if finding.level == FINDING])
            + len(self.to_read)
            + bool(self.problem)
        )


def run_check(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Return the plan as a receipt with a sentence. The function of a job."""
    with room.refuse_when_full(settings.HOME_DIR, _("The check did not come to its end.")), Copies() as copies:
        doctor_plan = build_plan(params, progress, copies)
    return as_receipt(doctor_plan) | {"verb": "look", "message": describe_plan(doctor_plan), "run": None}


def build_plan(params: dict[str, Any], progress: Any, copies: Copies) -> Plan:
    """Check the store and the sources.

    `params`: `source`, `as`, `include_deleted`, `deep`, and `counts` (false: the store is not counted). Databases are
    read from `copies`.
    """
    root = find_root(params.get("source") or settings.STATE_DIR)
    plan = Plan(root, is_deep=bool(params.get("deep")))
    plan.store = list(own_store.check_store(progress, is_deep=plan.is_deep))
    if any(finding.check in UNREADABLE and finding.path == "state/openclaw.sqlite" for finding in plan.store):
        plan.problem = _("The sources were not compared with the store.")
        return plan
    counted = list(_count_records(plan, progress)) if params.get("counts", True) else []
    try:
        check_home(plan, params, progress, copies)
    except Refused as refused:
        plan.problem = str(refused.sentence)
    _compare_sessions(plan, counted, progress, copies)
    for agent_id in counted:
        plan.store += losses.build_loss_findings(agent_id, plan.counts, is_deep=plan.is_deep)
    plan.store += _find_unreadable(plan)
    plan.store = [_check_repair(plan, finding) for finding in plan.store]
    return plan


def _check_repair(plan, finding):
    """The finding, without its repair when that is an import from another home."""
    is_import = finding.repair == losses.IMPORT_AGAIN and finding.check != tables.OF_SESSIONS
    is_elsewhere = is_import and finding.agent and finding.agent not in plan.names.values()
    return replace(finding, repair="") if is_elsewhere else finding


def _count_records(plan, progress):
    """Count the rows of agents whose files are readable or missing; yields their ids."""
    unusable = {finding.agent for finding in plan.store if finding.check in UNREADABLE}
    for agent_id in Agent.objects.order_by("agent_id").values_list("agent_id", flat=True):
        if agent_id not in unusable:
            progress.update(0, None, _("Counting the records of %(agent)s") % {"agent": agent_id})
            losses.count_records(agent_id, databases.find_alias(agent_id), plan.counts)
            yield agent_id


def _compare_sessions(plan, counted, progress, copies):
    """Compare all sessions; without `--deep` only those that lost records.

    Agents with values of the wrong type are not compared.
    """
    mistyped = plan.mistyped
    collection = plan.collection or build_collection(None, {}, {}, progress, copies)
    agents = collection.home.agents if collection.home else ()
    of_home = {plan.names[home_agent.home_name]: home_agent for home_agent in agents}
    for agent_id in counted:
        lost = [loss for loss in plan.counts.get_agent_losses(agent_id) if loss.in_sources is None]
        if plan.is_deep and agent_id in mistyped:
            plan.compared.unreadable[agent_id] = _("it has values of the wrong type")
        if agent_id in plan.counts.gone | mistyped or not (plan.is_deep or lost):
            continue
        with collect.exclusive_run(progress):  # an import in between would look like a difference
            collection.book = SourceBook(plan.root)
            try:
                if plan.is_deep:
                    home_agent = of_home.get(agent_id)
                    session_comparison.compare_agent(collection, home_agent, agent_id, plan.counts, plan.compared)
                elif agent_id in of_home:
                    session_comparison.count_restorable(
                        collection, of_home[agent_id], agent_id, lost, plan.compared.unreadable
                    )
            except Refused as refused:
                plan.compared.unreadable[agent_id] = str(refused.sentence)
    plan.store += session_comparison.build_findings(plan.compared, plan.counts)


def _find_unreadable(plan):
    for source in plan.sources:
        if plan.is_deep and source.problem and not source.is_to_read:
            words = {"path": source.name, "why": source.problem.rstrip(".")}
            yield Finding("unreadable", _("%(path)s was not compared: %(why)s.") % words, source.name)


def check_home(plan: Plan, params: dict[str, Any], progress: Any, copies: Copies) -> None:
    """Check only the sources of a plan.

    Raises Refused when there is no home of OpenClaw to import.
    """
    if plan.root.resolve() == settings.HOME_DIR.resolve():
        raise Refused(
            _("%(path)s is OpenClaw Web's own home. Choose the OpenClaw folder instead.") % {"path": plan.root}
        )
    home = read_home(plan.root)
    plan.store += [Finding("configuration", problem, path=home_configuration.NAME) for problem in home.problems]
    plan.names = resolve_names(home, as_name=params.get("as"))
    plan.collection = collection = build_collection(home, plan.names, params, progress, copies)
    home_sources.follow_reported_workspaces(collection, plan.names)
    plan.store += home_sources.build_place_findings(home, plan.names)
    for home_agent in home.agents:
        plan.sources += home_sources.find_agent_sources(collection, home_agent, plan.names[home_agent.home_name])
    plan.sources += home_sources.find_home_sources(collection, plan.names.values())
    _inspect_sources(plan, progress)
    plan.store += source_findings.build_schema_findings(home.root, plan.sources)
    plan.store += source_findings.build_foreign_decision_notes(home.root)
    odd = [place.path for place in home.oddities if place.is_unread]
    plan.census = CensusTaker(plan.root, home.agents, plan.names, plan.sources).take(odd)
    plan.store += source_findings.build_file_findings(plan.census)
    _find_skipped(plan, home)
    excluded = ignored_sessions.rows().filter(root=str(plan.root)).order_by("agent_id", "source_key")
    plan.ignored = [ignored_sessions.as_json(row) for row in excluded]


def build_collection(
    home: Any, names: dict[str, str], params: dict[str, Any], progress: Any, copies: Copies
) -> collect.Collection:
    """An import of this home that is not made; without a home, one of stored records alone."""
    return collect.Collection(
        home=home,
        agents={name: Agent(agent_id=agent_id) for name, agent_id in names.items()},
        book=SourceBook(home.root) if home else None,
        opted_out=consent.read_opted_out(),
        include_deleted=includes_deleted(params),
        progress=progress,
        stashes_outputs=configuration.is_on(output_stash.SETTING),
        copies=copies,
        ignored=migration_runs.find_ignored_sessions(home.root) if home else {},
    )


def _inspect_sources(plan, progress):
    total, done = sum(source.size for source in plan.to_read), 0

    def report_bytes(count):
        nonlocal done
        done += count
        progress.update(min(done, total), total)

    counter = new_rows.RowCounter(plan.collection, plan.rejected, sorted(plan.names.values()))
    of_home = [source for source in plan.sources if not source.home_agent]
    counter.read_tool_ends(of_home)
    for home_agent in plan.collection.home.agents:
        agent_id = plan.names[home_agent.home_name]
        own = [source for source in plan.sources if source.home_agent == home_agent.home_name]
        _compare_keys(plan, agent_id, index_keys.read_file_keys(plan.collection, home_agent, own))
        if plan.is_deep or counter.tool_ends[home_agent.home_name] or any(source.is_to_read for source in own):
            progress.update(done, total, _("Checking the sources of %(agent)s") % {"agent": agent_id})
            _inspect_agent(plan, counter, home_agent, agent_id, own, report_bytes)
    counter.count_home(of_home)
    if plan.is_deep:
        with _comparing(plan) as comparer:
            comparer.compare_home(of_home)
    if total:
        progress.update(total, total, _("Checked everything new"))


@contextmanager
def _comparing(plan):
    """Compare sources with the store while nothing is imported: that would look like a difference."""
    with collect.exclusive_run(plan.collection.progress):
        collection = replace(plan.collection, book=SourceBook(plan.root))
        try:
            yield source_comparison.SourceComparer(collection, plan.names, plan.compared, plan.is_mending)
        except Refused as refused:
            plan.compared.unreadable[str(plan.root)] = str(refused.sentence)


def _inspect_agent(plan, counter, home_agent, agent_id, own, report_bytes):
    for source in own:
        if source.is_to_read and source.kind in ("transcript", "leftover"):
            import_preview.fill_version(plan.collection, source)
    with places.open_agent_places(
        plan.collection, home_agent, agent_id, own, plan.rejected, is_deep=plan.is_deep
    ) as agent_places:
        import_preview.count_new_records(agent_places, plan.rejected, report_bytes)
        counter.count_agent(agent_places, own, home_agent.workspaces)
        if plan.is_deep and agent_id not in plan.mistyped:
            with _comparing(plan) as comparer:
                comparer.compare_agent(agent_places, home_agent, own)
        if agent_places.database is not None and not agent_places.of_database.is_to_read:
            _compare_keys(plan, agent_id, index_keys.read_database_keys(agent_places.database))


def _compare_keys(plan, agent_id, keys):
    """Find the index entries that lead to no records.

    Entries of an index that was not read yet are not compared here.
    """
    if db := databases.find_alias(agent_id):
        excluded = plan.collection.ignored.get(agent_id, frozenset())
        plan.store += source_findings.build_key_findings(
            agent_id, index_keys.find_keys_without_records(plan.root, agent_id, db, keys, excluded)
        )


def _find_skipped(plan, home):
    skipped_tables = migration_runs.read_skipped_tables(str(plan.root))
    workspaces = {folder for home_agent in home.agents for folder in home_agent.workspaces}
    folders = [home_agent.folder for home_agent in home.agents if home_agent.folder]
    read = {source.file for source in plan.sources}
    skipped_places = find_skipped_places(plan.root, workspaces, folders, read, home.notes)
    plan.skipped = [{"path": place["path"], "table": "", "why": place["why"]} for place in skipped_places]
    for source in plan.sources:
        tables = skipped_tables.get(source.name, []) if source.skipped_tables is None else source.skipped_tables
        plan.skipped += [{"path": source.name, "table": table["name"], "why": table["why"]} for table in tables]
        if source.state == LEFT:
            plan.skipped.append({"path": source.name, "table": "", "why": source.why})


def as_receipt(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values: output of `--json`, stored with a run."""
    return {
        "source": {
            "root": str(plan.root),
            "problem": plan.problem,
            "layout": layout_of(plan.sources),
            "bytes": sum(source.size for source in plan.sources),
            "bytes_to_read": sum(source.size for source in plan.to_read),
            "notes": _find_notes(plan.collection.home) if plan.collection else [],
        },
        "agents": [_build_agent_facts(plan, name, agent_id) for name, agent_id in plan.names.items()],
        "sources": [entry.as_json() for entry in _sort_sources(plan)[:LISTED]],
        "source_count": len(plan.sources),
        "to_read": len(plan.to_read),
        "rejected": plan.rejected[:LISTED],
        "rejected_count": len(plan.rejected),
        "files": source_findings.census_to_json(plan.census),
        "skipped": plan.skipped[:LISTED],
        "skipped_count": len(plan.skipped),
        "ignored": plan.ignored[:LISTED],
        "ignored_count": len(plan.ignored),
        "store": [entry.as_json() for entry in plan.store[:LISTED]],
        "compared": build_comparison(plan),
        "losses": [entry.as_json() for entry in [*plan.counts.losses.values()][:LISTED]],
        "loss_count": len(plan.counts.losses),
        "lost_records": sum(entry.missing + entry.different for entry in plan.counts.losses.values()),
        "rows": plan.compared.as_json(),
        "row_count": plan.compared.row_count,
        "findings": plan.findings,
    }


def describe_plan(plan: Plan) -> str:
    """Summarise the plan: its state, and the extent of the comparison."""
    extents = [compared_words(plan)]
    if plan.collection:
        extents.append(source_findings.describe_census(plan.census))
    if plan.is_deep:
        has_unread = any(finding.agent and finding.check in UNREADABLE for finding in plan.store)
        extents.append(session_comparison.describe_extent(plan.compared, has_unread=has_unread))
    extents.append(own_store.describe_comparison(is_deep=plan.is_deep))
    if not plan.findings:
        return join_sentences([_("Nothing new and no problems found."), *extents])
    wrong = sum(entry.level == FINDING for entry in plan.store) + bool(plan.problem)
    new = sum(source.records for source in plan.to_read if source.target == TRANSCRIPTS)
    words = {
        "new": amounts.format_amount("sources", len(plan.to_read)),
        "wrong": amounts.format_amount("other findings", wrong),
    }
    lost = sum(entry["reason"] in DATABASE_REASONS for entry in plan.rejected)
    words["records"] = amounts.format_amount("new records", new)
    words["rejected"] = amounts.format_amount("rejected lines", len(plan.rejected) - lost)
    if lost:
        words["rejected"] += ", " + amounts.format_amount("unreadable databases", lost)
    return join_sentences([_("To import: %(new)s, with %(records)s and %(rejected)s. %(wrong)s.") % words, *extents])


def compared_words(plan: Plan) -> str:
    """Describe the extent of the comparison."""
    if plan.is_deep:
        words = {"records": amounts.format_amount("records", plan.compared.records)}
        words["sources"] = amounts.format_amount("sources", len(plan.compared.sources))
        return _("Compared: %(records)s in %(sources)s with the stored records.") % words
    words = {"records": amounts.format_amount("records", plan.counts.records)}
    words["sessions"] = amounts.format_amount("sessions", plan.counts.sessions)
    sentence = _(
        "Counted: %(records)s of %(sessions)s, compared with the counts noted at import; the content was"
        " not compared with the sources."
    )
    return sentence % words


def build_comparison(plan: Plan) -> dict[str, Any]:
    """The extent of the comparison, for programs.

    `how` is `counts` (compared with the counts at import) or `records` (compared with the sources).
    """
    return {
        "how": "records" if plan.is_deep else "counts",
        "at": clock.now_ms(),
        "sessions": plan.compared.sessions if plan.is_deep else plan.counts.sessions,
        "records": plan.compared.records if plan.is_deep else plan.counts.records,
        "sources": len(plan.compared.sources),
        "kept": plan.compared.only_stored,
        "not_counted": plan.counts.not_noted.total(),
        "tables_left_out": tables.list_not_compared(is_deep=plan.is_deep),
        "skipped": dict(+plan.compared.skipped),
        "unreadable": [{"path": path, "why": why} for path, why in sorted(plan.compared.unreadable.items())][:LISTED],
    }


def _sort_sources(plan):
    """Sources by interest: those to read, those that are left out, the others."""
    order = {UNCHANGED: 2, LEFT: 1}
    return sorted(plan.sources, key=lambda source: order.get(source.state, 0))


def _find_notes(home):
    """Notes about a home that are not findings."""
    odd_sentences = {oddity.sentence for oddity in home.oddities}
    return [note for note in home.notes if note not in odd_sentences]


def _build_agent_facts(plan, name, agent_id):
    own = [source for source in plan.sources if source.home_agent == name]
    states = Counter(source.state for source in own)
    return {
        "agent": agent_id,
        "home_name": name,
        "layout": layout_of(own),
        "versions": sorted({f"{source.kind} {source.version}" for source in own if source.version}),
        "sources": {state: states[state] for state in ("new", "changed", "unchanged", "left")},
        "records": sum(source.records for source in own if source.target == TRANSCRIPTS),
        "rejected": sum(source.rejected for source in own),
        "bytes": sum(source.size for source in own),
        "bytes_to_read": sum(source.size for source in own if source.is_to_read),
    }


def layout_of(sources: list[Source]) -> str:
    """The layout of the sources: `files`, `hybrid`, `database`, `migrated` or `none`.

    `hybrid` is files with a state database.
    """
    has_agent_database = any(source.target == TRANSCRIPTS and source.kind == "database" for source in sources)
    has_files = any(source.kind == "transcript" and not source.name.endswith(".zst") for source in sources)
    if has_agent_database:
        is_migrated = has_files or any(
            source.kind == "leftover" or source.name.endswith(".migrated") for source in sources
        )
        return "migrated" if is_migrated else "database"
    if any(source.target == "task_runs" for source in sources):
        return "hybrid"
    return "files" if has_files else "none"


JOB = job_kinds.Kind(
    run=run_check,
    label=gettext_lazy("Doctor: check"),
    audit_text=gettext_lazy("started a Doctor check"),
    cancel_text=gettext_lazy("Nothing was changed."),
    describe_result=report.in_words,
    page="operations:doctor",
)
