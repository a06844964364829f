"""Checks our own store without changing it: databases, schemas, registry, permissions and artifacts."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import databases
from agents.database_copies import find_leftovers
from agents.models import Agent, AgentDatabase
from agents.services import AGENT_ID
from openclaw_web.sqlite import damaged_files, failures, inspection, known_migrations
from openclaw_web.sqlite.failures import OLD_HOME
from openclaw_web.sqlite.integrity import count_rows

from ..findings import NOTE, Finding, format_names
from . import contents, integrity_checks
from .losses import IMPORT_AGAIN

FOLDER_MODE, FILE_MODE = 0o700, 0o600
NAMED = 20  # maximum of files that a finding names
# Folders that everybody may read: they hold no personal data.
PUBLIC = frozenset({"static"})


def check_store(progress: Any, *, is_deep: bool = False) -> Iterator[Finding]:
    """Yield every finding about the store. `is_deep` reads every index, reference and stored content."""
    progress.update(0, None, _("Checking the store"))
    state = inspection.inspect_file(Path(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"]), is_deep=is_deep)
    yield from _check_global(state)
    if state.damage or has_pending_migrations(state, is_global=True):  # its content cannot be trusted
        return
    healthy = []
    agents = list(Agent.objects.order_by("agent_id"))
    for agent in agents:
        findings = list(_check_agent(agent, is_deep))
        yield from findings
        if not any(finding.check in ("integrity", "registry", "schema") for finding in findings):
            healthy.append(agent)
    yield from _check_registry(agents)
    known = []
    for agent in healthy:
        mistyped = integrity_checks.find_mistyped(agent)
        yield from integrity_checks.run_checks(agent, mistyped, is_deep=is_deep)
        if not mistyped.keys() & {"ledger", "artifacts"}:
            known.append(agent)
    yield from integrity_checks.run_checks(
        None, integrity_checks.find_mistyped(None) if is_deep else {}, is_deep=is_deep
    )
    yield from contents.check_contents(known, is_complete=len(known) == len(agents), is_deep=is_deep)
    yield from _check_permissions()
    home = settings.HOME_DIR
    paths = [
        *(path for path in (home / "agents").glob("*/agent/openclaw-agent.[0-9]*-[0-9]*")),
        *damaged_files.find_kept(home, databases.FILES),
        *find_leftovers(),
        *home.parent.glob(f"{home.name}.before-restore-*"),
    ]
    for path in sorted(paths)[:NAMED]:
        name = path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
        sentence = _("%(path)s was left by an interrupted operation, or is an earlier copy that was kept.") % {
            "path": name
        }
        yield Finding("leftover", sentence, name, level=NOTE)


def describe_comparison(*, is_deep: bool) -> str:
    """Describe the extent of a check of the store itself."""
    if is_deep:
        return _("Every artifact, export and archive was compared with its hash.")
    return _(
        "Not checked: totals, turns and other rows of sessions. Artifacts, exports, archives and backups were"
        " compared by name and size, not by content."
    )


def _check_global(state):
    path = "state/openclaw.sqlite"
    if state.damage:
        words = {"why": state.damage[:300]}
        sentence = _("The global database is damaged: %(why)s.") % words
        yield Finding("integrity", f"{sentence} {failures.describe_way_out(settings.HOME_DIR)}", path)
        return
    if has_pending_migrations(state, is_global=True):
        yield Finding("schema", str(OLD_HOME), path)
        return
    for name, sql in inspection.build_triggers().items():
        if state.triggers.get(name) != sql:
            sentence = _("The trigger %(name)s, which protects rows from changes, is missing or different.")
            yield Finding("trigger", sentence % {"name": name}, path, repair="triggers")


def _check_agent(agent, is_deep):
    file, path = databases.get_path(agent.agent_id), agent.agent_db_path
    place = {"path": path, "agent": agent.agent_id}
    if databases.is_missing(agent.agent_id):
        lost = databases.LostAgentFile(agent.agent_id, AgentDatabase.get_record_count(agent.agent_id))
        yield Finding("registry", lost.sentence, repair=IMPORT_AGAIN, **place)
        return
    state = inspection.inspect_file(file, is_deep=is_deep)
    if state.damage or not state.tables:
        yield _build_damage_finding(agent, file, state, place)
        return
    if known_migrations.is_other_version(state.migrations):
        yield Finding("schema", databases.describe_other_version(agent.agent_id, state.migrations), **place)
    elif has_pending_migrations(state, is_global=False):
        sentence = _("The database of agent %(agent)s is not up to date.") % {"agent": agent.agent_id}
        yield Finding("schema", sentence, repair="migrate_agents", **place)


def _build_damage_finding(agent, file, state, place):
    words = {"agent": agent.agent_id, "why": (state.damage or damaged_files.describe_blank())[:300]}
    sentence = _("The database of agent %(agent)s is damaged: %(why)s.") % words
    if damaged_files.is_blank(file):
        return Finding("integrity", sentence, repair=IMPORT_AGAIN, **place)
    if damaged_files.find_damage(file):  # else an index that only a deep check reads, or a file of somebody else
        sentence += f" {databases.describe_replacement(agent.agent_id)}"
    return Finding("integrity", sentence, **place)


def has_pending_migrations(state: inspection.FileState, *, is_global: bool) -> bool:
    """Whether a file lacks migrations of this program."""
    # Every file records every migration; those of apps without tables in it changed nothing.
    required = (
        known_migrations.list_migrations() - known_migrations.list_agent_migrations()
        if is_global
        else known_migrations.list_agent_migrations()
    )
    return not state.migrations.issuperset(required)


def find_agent_files() -> Iterator[tuple[str, Path]]:
    """Every database of an agent in the home with the agent's name, registered or not."""
    for file in sorted(settings.HOME_DIR.glob(databases.FILES)):
        if AGENT_ID.fullmatch(file.parent.parent.name):
            yield file.parent.parent.name, file


def _check_registry(agents):
    known = {agent.agent_id for agent in agents}
    for name, file in find_agent_files():
        if name not in known:
            sentence = _("The database of agent %(agent)s is not registered.") % {"agent": name}
            path = file.relative_to(settings.HOME_DIR).as_posix()
            yield Finding("unregistered", sentence, path, repair="register", agent=name)
    rows = dict(AgentDatabase.objects.values_list("agent_id", "path"))
    for agent in agents:
        expected_path = databases.get_path(agent.agent_id).relative_to(settings.HOME_DIR).as_posix()
        if rows.get(agent.agent_id) != expected_path or agent.agent_db_path != expected_path:
            sentence = _("The registry gives another location than %(path)s.") % {"path": expected_path}
            yield Finding("registry_row", sentence, expected_path, repair="register", agent=agent.agent_id)


def _check_permissions():
    wrong, links = [], []
    for path, mode in read_modes(settings.HOME_DIR):
        if stat.S_ISLNK(mode):
            links.append(path)
        elif is_wrong_mode(mode):
            wrong.append(path)
    if wrong:
        words = {"count": len(wrong), "paths": format_names(count_rows(wrong))}
        sentence = ngettext(
            "%(count)s file or folder does not have private permissions: %(paths)s.",
            "%(count)s files or folders do not have private permissions: %(paths)s.",
            len(wrong),
        )
        yield Finding("permissions", sentence % words, wrong[0], repair="permissions")
    if links:
        sentence = _("The home contains links that OpenClaw Web did not create: %(paths)s.") % {
            "paths": format_names(count_rows(links))
        }
        yield Finding("links", sentence, links[0], level=NOTE)


def is_wrong_mode(mode: int) -> bool:
    """Whether others may access a file or folder of this mode, or its owner may not."""
    own_mode = FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE
    bits = stat.S_IMODE(mode)
    return bool(bits & 0o077) or (bits & own_mode) != own_mode


def read_modes(home: Path) -> Iterator[tuple[str, int]]:
    """Yield (path in the home, mode) of everything private, the home first."""
    yield ".", home.stat().st_mode
    for folder, folders, files in os.walk(home):
        if Path(folder) == home:
            folders[:] = [name for name in folders if name not in PUBLIC]
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118 - there are 100,000 of them
            with suppress(FileNotFoundError):
                yield os.path.relpath(path, home), os.lstat(path).st_mode
