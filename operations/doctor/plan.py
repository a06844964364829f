"""The plan: what `doctor --fix` would do, and everything that is not as it should be. Nothing is written."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from agents import amounts, configuration, home_configuration
from agents.database_copies import Copies
from agents.homes import read_home
from agents.sources import SourceBook, names_here
from ledger import stashing
from openclaw_web.errors import Refused
from operations import collect
from operations.collect_report import OF_DATABASES

from . import ignoring, looking, own_store, runs, sources
from .findings import FINDING, Finding
from .secrets import places_left
from .sources import LEFT, UNCHANGED, Source

TRANSCRIPTS = "transcript_events"
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

    @property
    def to_read(self) -> list[Source]:
        return [source for source in self.sources if source.is_to_read]

    @property
    def findings(self) -> int:
        """How many things a person should know of."""
        return len([one for one in self.store if one.level == FINDING]) + len(self.to_read) + bool(self.problem)


def look(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """The plan as a receipt with a sentence; a job's function."""
    with Copies() as copies:
        made = make(params, progress, copies)
    return as_receipt(made) | {"verb": "look", "message": sentence_of(made), "run": None}


def make(params: dict[str, Any], progress: Any, copies: Copies) -> Plan:
    """Look at everything. `params`: `source`, `as`, `include_deleted`, `deep`. Databases are looked at in `copies`."""
    plan = Plan(Path(params.get("source") or settings.STATE_DIR).expanduser().absolute())
    plan.is_deep = bool(params.get("deep"))
    plan.store = list(own_store.look(progress, is_deep=plan.is_deep))
    if not any(one.check in ("integrity", "schema") and one.path == "state/openclaw.sqlite" for one in plan.store):
        try:
            look_at_home(plan, params, progress, copies)
        except Refused as refused:
            plan.problem = str(refused.sentence)
    else:
        plan.problem = _("The sources were not compared with the store.")
    return plan


def look_at_home(plan: Plan, params: dict[str, Any], progress: Any, copies: Copies) -> None:
    """Look at the sources of a plan only. Raises Refused when there is no home of OpenClaw to collect."""
    if plan.root.resolve() == settings.HOME_DIR.resolve():
        raise Refused(_("%(path)s is OpenClaw Web's own home. Name OpenClaw's with --source.") % {"path": plan.root})
    home = read_home(plan.root)
    plan.store += [Finding("configuration", problem, path=home_configuration.NAME) for problem in home.problems]
    plan.names = names_here(home, as_name=params.get("as"))
    plan.collection = collection = collect.Collection(
        home=home,
        agents={},
        book=SourceBook(plan.root),
        opted_out=frozenset(configuration.get("collector.optedOutSenders")),
        include_deleted=bool(params.get("include_deleted")),
        progress=progress,
        stashes_outputs=configuration.get(stashing.SETTING),
        copies=copies,
        ignored=runs.ignored_sessions(plan.root),
    )
    for found in home.agents:
        plan.sources += sources.of_agent(collection, found, plan.names[found.home_name])
    plan.sources += sources.of_home(collection, plan.names.values())
    _look_inside(plan, progress)
    _look_for_skipped(plan, home)
    left_out = ignoring.rows().filter(root=str(plan.root)).order_by("agent_id", "source_key")
    plan.ignored = [ignoring.as_json(row) for row in left_out]


def _look_inside(plan, progress):
    total, done = sum(source.size for source in plan.to_read), 0
    for source in plan.to_read:
        progress.update(done, total, _("Looking into %(file)s") % {"file": source.name})
        looking.inside(plan.collection, source, plan.rejected)
        done += source.size
    if total:
        progress.update(total, total, _("Looked into everything that is new"))


def _look_for_skipped(plan, home):
    told = runs.skipped_tables(str(plan.root))
    workspaces = {found.workspace for found in home.agents if found.workspace}
    folders = [found.folder for found in home.agents if found.folder]
    read = {source.file for source in plan.sources}
    places = places_left(plan.root, workspaces, folders, read, home.notes)
    plan.skipped = [{"path": one["path"], "table": "", "why": one["why"]} for one in places]
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
        "skipped": plan.skipped[:LISTED],
        "skipped_count": len(plan.skipped),
        "ignored": plan.ignored[:LISTED],
        "ignored_count": len(plan.ignored),
        "store": [one.as_json() for one in plan.store[:LISTED]],
        "findings": plan.findings,
    }


def sentence_of(plan: Plan) -> str:
    """How it is, in one sentence; when nothing was found, what was compared for that in another."""
    if not plan.findings:
        return _("Nothing is new and nothing is wrong.") + f" {own_store.compared(is_deep=plan.is_deep)}"
    wrong = sum(one.level == FINDING for one in plan.store) + bool(plan.problem)
    words = {"new": amounts.of("sources", len(plan.to_read)), "wrong": amounts.of("other findings", wrong)}
    lost = sum(one["reason"] in OF_DATABASES for one in plan.rejected)
    words["rejected"] = amounts.of("rejected lines", len(plan.rejected) - lost)
    if lost:
        words["rejected"] += ", " + amounts.of("unreadable databases", lost)
    return _("To read: %(new)s, with %(rejected)s. %(wrong)s.") % words


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
        "notes": plan.collection.home.notes if plan.collection else [],
    }


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
