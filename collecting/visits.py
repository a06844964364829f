"""Tells which agents an import need not read: nothing that their last visit looked at has changed since."""

import hashlib
from collections import Counter
from dataclasses import fields
from typing import Any

from django.db import connections

from agents import databases, visits
from agents.models import Agent
from agents.skipped_sources import Reason
from agents.sources import get_file_state
from episodes.capture import switches
from guardian.collectors import workspace
from ledger import rules
from ledger.models import Session
from openclaw_web.sqlite import known_migrations
from people.configuration import setting_values as configuration

from .inventory.folders import FileListing, find_odd_places, find_places
from .inventory.shared_folders import find_shared_folder
from .stages import extras

CONFIGURATION = "openclaw.json"
# Columns of a report that are the same for the same files.
REPEATED = ("transcripts", "opted_out_sessions", "unnamed_sessions", "ignored_sessions", "sessions_indexed", "files")
INDEXED = {"sessions_indexed"}  # only while somebody is opted out: then each import reads the index


def describe_conditions(collection: Any) -> list[Any]:
    """The conditions that decide, besides its files, what an import reads of an agent."""
    config = collection.home.root / CONFIGURATION
    return [
        *(rules.VERSION, sorted(known_migrations.list_agent_migrations()), collection.home.version),
        *(collection.include_deleted, configuration.read_changed_settings()),
        get_file_state(config.stat()) if config.exists() else None,
    ]


def compute_digest(collection: Any, home_agent: Any, listings: list[FileListing], conditions: list[Any]) -> str:
    """Compute the digest of everything that an import looks at; empty for an agent that it always visits."""
    places = [place for part in home_agent.parts for place in find_places(part)]
    if any(find_shared_folder(collection, place) for place in places):
        return ""
    notes: list[str] = []
    memory = collection.home.root / extras.MEMORY_FOLDER / f"{home_agent.home_name}.sqlite"
    bundles = home_agent.workspace.joinpath(*extras.BUNDLES) if home_agent.workspace else memory
    if collection.is_again or memory.exists() or bundles.exists():
        return ""
    seen = [
        *(conditions, home_agent, sorted(collection.ignored.get(collection.agents[home_agent.home_name].agent_id, ()))),
        find_odd_places(collection.home, home_agent.home_name),
        list(workspace.find_entries(home_agent.workspaces, notes)),
    ]
    digest = hashlib.sha256(repr(seen).encode())
    for listing in listings:
        for file in listing.files:
            digest.update(repr((file.name, get_file_state(file.stat))).encode())
        digest.update(repr([(item.path, item.reason) for item in listing.skipped]).encode())
    return "" if notes else digest.hexdigest()


def restore_report(report: Any, visit: dict[str, Any]) -> Any:
    """Fill a report with what the last visit, which found nothing new, had reported."""
    for name, value in visit["report"].items():
        setattr(report, name, Counter(value) if isinstance(getattr(report, name), Counter) else value)
    return report


def note_visits(collection: Any, digests: dict[str, str]) -> None:
    """Note the visits that found nothing new and left nothing to try again, by agent."""
    noted = {}
    for name, agent in collection.agents.items():
        report, digest = collection.reports.get(agent.agent_id), digests.get(agent.agent_id)
        if not digest or agent.agent_id in collection.lost or not _is_quiet(collection, report):
            continue
        waiting = Session.objects.using(agent.db).filter(rules=rules.AGAIN)
        if waiting.exists() or switches.read_capture(agent.db).is_on:  # of events that are in no file of the agent
            continue
        if databases.is_on_disk(agent.agent_id):
            connections[agent.db].close()  # the last connection writes the log into the file
        noted[agent.agent_id] = {
            "place": [str(collection.home.root), name],
            "file": visits.read_state(agent.agent_id),
            "digest": digest,
            "report": {column: getattr(report, column) for column in REPEATED},
        }
    visits.note_visits(noted)


def list_visited(collection: Any) -> list[Agent]:
    """The agents to look at after all sources were read: those that were visited, or written into meanwhile."""
    chosen = [agent for agent in collection.agents.values() if agent.agent_id in collection.reports]
    return [
        agent
        for agent in chosen
        if agent.agent_id not in collection.lost
        and not visits.is_unchanged(agent.agent_id, collection.unchanged.get(agent.agent_id, {"file": []}))
    ]


def _is_quiet(collection, report):
    """Whether the next import of the same files would report the same."""
    repeated = {*REPEATED, "skipped", "future"} if collection.opted_out else {*REPEATED, "skipped", "future"} - INDEXED
    counts = [getattr(report, field.name) for field in fields(report) if field.name not in repeated]
    has_failed = any(item.reason == Reason.FAILED for item in report.skipped)
    has_read = any(name != "unchanged" and not name.startswith("skipped_") for name in report.transcripts)
    return not (any(counts) or has_failed or has_read or any(report.future.values()))
