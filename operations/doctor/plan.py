"""The plan: what `doctor --fix` would do, and everything that is not as it should be. Nothing is written."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.claims import find_root, resolve_names
from agents.database_copies import Copies
from agents.layout import home_configuration
from agents.layout.home_agents import read_home
from agents.models import Agent
from agents.sources import SourceBook
from collecting import collect, migration_runs
from collecting.inclusion import includes_deleted
from collecting.report import DATABASE_REASONS
from jobs import kinds as job_kinds
from ledger import consent
from ledger.outputs import output_stash
from openclaw_web import amounts, clock
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from . import ignored_sessions, report
from .findings import FINDING, Finding
from .sources import deep_comparison, home_sources, import_preview, index_keys, places, row_comparison, source_findings
from .sources.census import Census, CensusTaker
from .sources.deep_comparison import Comparison
from .sources.home_sources import LEFT, UNCHANGED, Source
from .sources.skipped_places import find_skipped_places
from .store import losses, own_store
from .store.losses import Counts

TRANSCRIPTS = "transcript_events"
UNREADABLE = ("integrity", "schema")
LISTED = 500  # sources, rejected records and findings of a receipt


@dataclass(slots=True)
class Plan:
    """What was found. Without a home of OpenClaw there are no sources, and `problem` says why."""

    root: Path
    problem: str = ""
    is_deep: bool = False
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
    def to_read(self) -> list[Source]:
        return [source for source in self.sources if source.is_to_read]

    @property
    def findings(self) -> int:
        """How many things a person should know of."""
        return len([one for one in self.store if one.level == FINDING]) + len(self.to_read) + bool(self.problem)


def run_check(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """The plan as a receipt with a sentence; a job's function."""
    with Copies() as copies:
        made = build_plan(params, progress, copies)
    return as_receipt(made) | {"verb": "look", "message": describe_plan(made), "run": None}


def build_plan(params: dict[str, Any], progress: Any, copies: Copies) -> Plan:
    """Look at everything. `params`: `source`, `as`, `include_deleted`, `deep`, and `counts` (false: do
    not count the store). Databases are looked at in `copies`.
    """
    root = find_root(params.get("source") or settings.STATE_DIR)
    plan = Plan(root, is_deep=bool(params.get("deep")))
    plan.store = list(own_store.check_store(progress, is_deep=plan.is_deep))
    if any(one.check in UNREADABLE and one.path == "state/openclaw.sqlite" for one in plan.store):
        plan.problem = _("The sources were not compared with the store.")
        return plan
    counted = list(_count(plan, progress)) if params.get("counts", True) else []
    try:
        check_home(plan, params, progress, copies)
    except Refused as refused:
        plan.problem = str(refused.sentence)
    for agent_id in counted:
        plan.store += losses.build_loss_findings(agent_id, plan.counts, is_deep=plan.is_deep)
    plan.store += _unreadable(plan)
    plan.store = [_claimed(plan, one) for one in plan.store]
    return plan


def _claimed(plan, finding):
    """A finding that claims no repair when that is an import from another home than the one that is looked at."""
    is_elsewhere = finding.repair == losses.IMPORT_AGAIN and finding.agent and finding.agent not in plan.names.values()
    return replace(finding, repair="") if is_elsewhere else finding


def _count(plan, progress):
    """Count the rows of every agent whose file can be read, or is gone; the ids of these agents."""
    unusable = {one.agent for one in plan.store if one.check in UNREADABLE}
    for agent_id in Agent.objects.order_by("agent_id").values_list("agent_id", flat=True):
        if agent_id not in unusable:
            progress.update(0, None, _("Counting the records of %(agent)s") % {"agent": agent_id})
            losses.count_records(agent_id, places.find_alias(agent_id), plan.counts)
            yield agent_id


def _unreadable(plan):
    for source in plan.sources:
        if plan.is_deep and source.problem and not source.is_to_read:
            words = {"path": source.name, "why": source.problem.rstrip(".")}
            yield Finding("unreadable", _("%(path)s was not compared: %(why)s.") % words, source.name)
        for table, number in sorted(source.lost.items()) if source.agent not in plan.counts.gone else ():
            words = {"path": source.name, "count": f"{number:,}", "table": table}
            sentence = _("Rows of %(table)s imported from %(path)s that are missing: %(count)s.") % words
            yield Finding("lost_rows", sentence, source.name, repair=losses.IMPORT_AGAIN, agent=source.agent)


def check_home(plan: Plan, params: dict[str, Any], progress: Any, copies: Copies) -> None:
    """Look at the sources of a plan only. Raises Refused when there is no home of OpenClaw to collect."""
    if plan.root.resolve() == settings.HOME_DIR.resolve():
        raise Refused(
            _("%(path)s is OpenClaw Web's own home. Choose the OpenClaw folder instead.") % {"path": plan.root}
        )
    home = read_home(plan.root)
    plan.store += [Finding("configuration", problem, path=home_configuration.NAME) for problem in home.problems]
    plan.names = resolve_names(home, as_name=params.get("as"))
    plan.collection = collection = collect.Collection(
        home=home,
        agents={},
        book=SourceBook(plan.root),
        opted_out=consent.read_opted_out(),
        include_deleted=includes_deleted(params),
        progress=progress,
        stashes_outputs=configuration.is_on(output_stash.SETTING),
        copies=copies,
        ignored=migration_runs.find_ignored_sessions(plan.root),
    )
    home_sources.follow_reported_workspaces(collection, plan.names)
    plan.store += home_sources.build_place_findings(home, plan.names)
    for found in home.agents:
        plan.sources += home_sources.find_agent_sources(collection, found, plan.names[found.home_name])
    plan.sources += home_sources.find_home_sources(collection, plan.names.values())
    _look_inside(plan, progress)
    plan.store += source_findings.build_schema_findings(home.root, plan.sources)
    plan.store += source_findings.build_foreign_decision_notes(home.root)
    odd = [place.path for place in home.oddities if place.is_unread]
    plan.census = CensusTaker(plan.root, home.agents, plan.names, plan.sources).take(odd)
    plan.store += source_findings.build_file_findings(plan.census)
    _look_for_skipped(plan, home)
    left_out = ignored_sessions.rows().filter(root=str(plan.root)).order_by("agent_id", "source_key")
    plan.ignored = [ignored_sessions.as_json(row) for row in left_out]


def _look_inside(plan, progress):
    total, done = sum(source.size for source in plan.to_read), 0

    def hear(count):
        nonlocal done
        done += count
        progress.update(min(done, total), total)

    looker = row_comparison.RowComparer(plan.collection, plan.rejected, plan.is_deep, sorted(plan.names.values()))
    for found in plan.collection.home.agents:
        agent_id = plan.names[found.home_name]
        own = [source for source in plan.sources if source.home_agent == found.home_name]
        _compare_keys(plan, agent_id, index_keys.read_file_keys(plan.collection, found, own))
        lost = plan.counts.of_agent(agent_id)
        if plan.is_deep or lost or any(source.is_to_read for source in own):
            progress.update(done, total, _("Checking the sources of %(agent)s") % {"agent": agent_id})
            _look_into_agent(plan, looker, found, agent_id, own, hear, lost)
    looker.compare_home([source for source in plan.sources if not source.home_agent])
    if total:
        progress.update(total, total, _("Checked everything new"))


def _look_into_agent(plan, looker, found, agent_id, own, hear, lost):
    for source in own:
        if source.is_to_read and source.kind in ("transcript", "leftover"):
            import_preview.fill_version(plan.collection, source)
    is_deep = plan.is_deep or bool(lost)
    with places.open_agent_places(plan.collection, found, agent_id, own, plan.rejected, is_deep=is_deep) as looked:
        import_preview.count_new_records(looked, plan.rejected, hear)
        looker.of_agent(looked, own, found.workspace)
        if plan.is_deep:
            deep_comparison.compare_agent(looked, plan.counts, plan.compared)
        import_preview.count_restorable(looked, [loss for loss in lost if loss.in_sources is None])
        if looked.database is not None and not looked.of_database.is_to_read:
            _compare_keys(plan, agent_id, index_keys.read_database_keys(looked.database))


def _compare_keys(plan, agent_id, keys):
    """Find the index entries that lead to no records; those of an index that is new are new as well."""
    if db := places.find_alias(agent_id):
        apart = plan.collection.ignored.get(agent_id, frozenset())
        plan.store += source_findings.build_key_findings(
            agent_id, index_keys.find_keys_without_records(plan.root, agent_id, db, keys, apart)
        )


def _look_for_skipped(plan, home):
    told = migration_runs.read_skipped_tables(str(plan.root))
    workspaces = {found.workspace for found in home.agents if found.workspace}
    folders = [found.folder for found in home.agents if found.folder]
    read = {source.file for source in plan.sources}
    left = find_skipped_places(plan.root, workspaces, folders, read, home.notes)
    plan.skipped = [{"path": one["path"], "table": "", "why": one["why"]} for one in left]
    for source in plan.sources:
        tables = told.get(source.name, []) if source.skipped_tables is None else source.skipped_tables
        plan.skipped += [{"path": source.name, "table": table["name"], "why": table["why"]} for table in tables]
        if source.state == LEFT:
            plan.skipped.append({"path": source.name, "table": "", "why": source.why})


def as_receipt(plan: Plan) -> dict[str, Any]:
    """The plan as JSON-able values: what `--json` prints, and what a run keeps."""
    return {
        "source": _source(plan),
        "agents": [_agent(plan, name, agent_id) for name, agent_id in plan.names.items()],
        "sources": [one.as_json() for one in _interesting(plan)[:LISTED]],
        "source_count": len(plan.sources),
        "to_read": len(plan.to_read),
        "rejected": plan.rejected[:LISTED],
        "rejected_count": len(plan.rejected),
        "files": source_findings.census_to_json(plan.census),
        "skipped": plan.skipped[:LISTED],
        "skipped_count": len(plan.skipped),
        "ignored": plan.ignored[:LISTED],
        "ignored_count": len(plan.ignored),
        "store": [one.as_json() for one in plan.store[:LISTED]],
        "compared": build_comparison(plan),
        "losses": [one.as_json() for one in [*plan.counts.losses.values()][:LISTED]],
        "loss_count": len(plan.counts.losses),
        "lost_records": sum(one.missing + one.different for one in plan.counts.losses.values()),
        "findings": plan.findings,
    }


def describe_plan(plan: Plan) -> str:
    """How it is, in one sentence, and what was compared for that in others."""
    files = f" {source_findings.describe_census(plan.census)}" if plan.collection else ""
    compared = f"{compared_words(plan)}{files} {own_store.describe_comparison(is_deep=plan.is_deep)}"
    if not plan.findings:
        return _("Nothing new and no problems found.") + f" {compared}"
    wrong = sum(one.level == FINDING for one in plan.store) + bool(plan.problem)
    new = sum(source.records for source in plan.to_read if source.target == TRANSCRIPTS)
    words = {
        "new": amounts.format_amount("sources", len(plan.to_read)),
        "wrong": amounts.format_amount("other findings", wrong),
    }
    lost = sum(one["reason"] in DATABASE_REASONS for one in plan.rejected)
    words["records"] = amounts.format_amount("new records", new)
    words["rejected"] = amounts.format_amount("rejected lines", len(plan.rejected) - lost)
    if lost:
        words["rejected"] += ", " + amounts.format_amount("unreadable databases", lost)
    return _("To import: %(new)s, with %(records)s and %(rejected)s. %(wrong)s.") % words + f" {compared}"


def compared_words(plan: Plan) -> str:
    """What was compared, and with what."""
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
    """What was compared, for programs: `how` is `counts` (with what was noted) or `records` (with the sources)."""
    return {
        "how": "records" if plan.is_deep else "counts",
        "at": clock.now_ms(),
        "sessions": plan.compared.sessions if plan.is_deep else plan.counts.sessions,
        "records": plan.compared.records if plan.is_deep else plan.counts.records,
        "sources": len(plan.compared.sources),
        "kept": plan.compared.kept,
        "not_counted": plan.counts.not_noted.total(),
        "unreadable": [{"path": path, "why": why} for path, why in sorted(plan.compared.unreadable.items())][:LISTED],
    }


def _interesting(plan):
    """Sources in the order in which a person wants to know of them: what will be read, what is left, the rest."""
    order = {UNCHANGED: 2, LEFT: 1}
    return sorted(plan.sources, key=lambda source: order.get(source.state, 0))


def _source(plan):
    return {
        "root": str(plan.root),
        "problem": plan.problem,
        "layout": layout_of(plan.sources),
        "bytes": sum(source.size for source in plan.sources),
        "bytes_to_read": sum(source.size for source in plan.to_read),
        "notes": _notes(plan.collection.home) if plan.collection else [],
    }


def _notes(home):
    """What is said of a home and is no finding."""
    said = {one.sentence for one in home.oddities}
    return [note for note in home.notes if note not in said]


def _agent(plan, name, agent_id):
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


def layout_of(found: list[Source]) -> str:
    """`files`, `hybrid` (files with a state database), `database`, `migrated` or `none`: what is there decides."""
    has_agent_database = any(source.target == TRANSCRIPTS and source.kind == "database" for source in found)
    has_files = any(source.kind == "transcript" and not source.name.endswith(".zst") for source in found)
    if has_agent_database:
        is_migrated = has_files or any(
            source.kind == "leftover" or source.name.endswith(".migrated") for source in found
        )
        return "migrated" if is_migrated else "database"
    if any(source.target == "task_runs" for source in found):
        return "hybrid"
    return "files" if has_files else "none"


JOB = job_kinds.Kind(
    run=run_check,
    label=gettext_lazy("Doctor: check"),
    started=gettext_lazy("started a Doctor check"),
    kept=gettext_lazy("Nothing was changed."),
    done=report.in_words,
    page="operations:doctor",
)
