"""The database file and the Django alias of each agent."""

import hashlib
import os
import shutil
import threading
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from openclaw_web import amounts, reasons
from openclaw_web.disk import publication
from openclaw_web.errors import UnusableFile
from openclaw_web.sqlite import connection_tuning, creation, damaged_files, files, known_migrations, upkeep
from openclaw_web.sqlite.connection_tuning import settings_lock

from . import connection_cache

# Page size of a new agent's file. Records are often longer than half of SQLite's default page of 4,096 bytes, which
# then holds only one.
PAGE_BYTES = 8_192
KEPT_SECONDS = 60
FILES = "agents/*/agent/openclaw-agent.sqlite"  # every file of an agent in a home, registered or not
_current: set[str] = set()
_files: set[str] = set()  # aliases that were registered here


class UnusableAgent(UnusableFile):
    """An agent's file is missing, or cannot be used."""


class UnknownAgent(UnusableAgent, LookupError):
    """There is no file for this agent."""

    status = 404

    def __init__(self, agent_id):
        super().__init__(agent_id)
        self.sentence = _("There is no agent %(name)s.") % {"name": agent_id}


class AgentExists(ValueError):
    """There already is a file for this agent."""


class OldAgentFile(UnusableAgent, RuntimeError):
    """An agent's file cannot be used: it has another schema, or cannot be read."""

    status = 503
    is_of_store = True


class LostAgentFile(OldAgentFile):
    """The file of a registered agent is missing; no empty one is created in its place."""

    def __init__(self, agent_id, noted):
        super().__init__(f"{describe_missing(agent_id, noted)} {describe_recovery(agent_id)}")


def describe_missing(agent_id: str, noted: int) -> str:
    """Say that an agent's file is missing; `noted` is how many records it held."""
    words = {"agent": agent_id, "noted": amounts.format_amount("records", noted)}
    return _("The database of agent %(agent)s is missing, and %(noted)s with it.") % words


def describe_recovery(agent_id: str) -> str:
    """Say how to recover an agent's file that is missing or damaged."""
    return _(
        "Restore a backup, or import the agent again: on the Doctor page, or in a terminal with "
        "“openclaw-web backup restore FILE” or “openclaw-web collect --again --agent %(agent)s”."
    ) % {"agent": agent_id}


def describe_replacement(agent_id: str) -> str:
    """Say how to recover a damaged file of an agent, and what only it holds."""
    return _(
        "Restore a backup: openclaw-web backup restore FILE --replace. Or import the agent again into a new database: "
        "openclaw-web collect --again --agent %(agent)s. The damaged one is kept; what was entered here, such as "
        "verdicts, is only in it and in backups."
    ) % {"agent": agent_id}


def get_path(agent_id):
    """Return the path of an agent's file, whether or not it exists."""
    return _build_path(settings.HOME_DIR, agent_id)


@lru_cache(maxsize=2_000)
def _build_path(home, agent_id):
    return home / "agents" / agent_id / "agent" / "openclaw-agent.sqlite"


def get_alias(agent_id):
    """Return the alias of an agent's file, registered with Django on first use.

    Raises UnknownAgent without a file, and OldAgentFile when `migrate_agents` has not brought it up to date.
    """
    name = f"agent_{agent_id}"
    _ensure_registered(name, agent_id)
    if name not in _current:
        applied = _read_migrations(name, agent_id)
        if known_migrations.is_other_version(applied):
            raise OldAgentFile(describe_other_version(agent_id, applied))
        if known_migrations.list_agent_migrations() - applied:
            sentence = _(
                "The database of agent %(agent)s is not up to date. Run openclaw-web serve, which creates a backup and "
                "updates it."
            )
            raise OldAgentFile(sentence % {"agent": agent_id})
        _current.add(name)
    return name


def find_alias(agent_id: str) -> str | None:
    """Return the alias of an agent's file; None when it is missing or cannot be used."""
    try:
        return str(get_alias(agent_id))
    except UnusableAgent:
        return None


def create(agent_id):
    """Create the file of a new agent, and return its alias.

    It is a copy of an empty, fully migrated template. Raises AgentExists when the file exists, also when another
    process has just created it.
    """
    target = get_path(agent_id)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    shutil.copyfile(_template(), draft)
    publication.restrict(draft, 0o600)
    try:
        with damaged_files.hold_place(target):
            publication.publish(draft, target)
    except FileExistsError as exc:
        raise AgentExists(agent_id) from exc
    finally:
        draft.unlink(missing_ok=True)
    return get_alias(agent_id)


def migrate(agent_id):
    """Bring one agent's file up to the current schema."""
    name = f"agent_{agent_id}"
    _ensure_registered(name, agent_id)
    applied = _read_migrations(name, agent_id)
    if known_migrations.is_other_version(applied):
        raise OldAgentFile(describe_other_version(agent_id, applied))
    _migrate(name)


def is_outdated(agent_id: str) -> bool:
    """Whether an agent's file can be read and only lacks migrations of this version."""
    name = f"agent_{agent_id}"
    try:
        _ensure_registered(name, agent_id)
        applied = _read_migrations(name, agent_id)
    except UnusableAgent:
        return False
    return not known_migrations.is_other_version(applied) and bool(known_migrations.list_agent_migrations() - applied)


def is_missing(agent_id: str) -> bool:
    """Whether there is no file of an agent; False where this process may not look."""
    try:
        get_path(agent_id).stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return False


def is_damaged(agent_id: str) -> bool:
    """Whether an agent's file is damaged or blank, and not merely busy, outdated or not readable."""
    return is_on_disk(agent_id) and bool(damaged_files.find_damage(get_path(agent_id)))


def is_blank(agent_id: str) -> bool:
    """Whether an agent's file has no table, such as one of 0 bytes."""
    return is_on_disk(agent_id) and damaged_files.is_blank(get_path(agent_id))


def is_unsettled(agent_id: str) -> bool:
    """Whether a damaged file was moved aside, and the new one is not prepared yet."""
    return is_on_disk(agent_id) and damaged_files.is_unsettled(get_path(agent_id))


def move_damaged_aside(agent_id: str) -> None:
    """Rename an agent's file when it is damaged, and leave its place free."""
    name = f"agent_{agent_id}"
    if is_damaged(agent_id):
        if name in connections.settings:
            connections[name].close()
        _current.discard(name)
        damaged_files.move_aside(get_path(agent_id))


def settle(agent_id: str) -> list[str]:
    """End the exchange of a damaged file, and say where the old one is."""
    sentence = _(
        "The database of agent %(agent)s was damaged. It is kept in %(path)s, and the agent was imported again into a "
        "new one. What was entered here, such as verdicts, is only in the old one and in backups. To return to a "
        "backup: openclaw-web backup restore FILE --replace"
    )
    paths = damaged_files.settle(get_path(agent_id)) if is_on_disk(agent_id) else []
    return [sentence % {"agent": agent_id, "path": path} for path in paths]


def get_schema_version():
    """Return how many agent migrations this code knows: `schema_version` of `agent_databases`."""
    return len(known_migrations.list_agent_migrations())


def remove_alias(name):
    """Close this thread's connection to an alias, and remove the alias."""
    connections[name].close()
    del connections[name]
    _current.discard(name)
    _files.discard(name)
    connection_cache.unwatch(name)
    with settings_lock:
        connections.settings = {k: v for k, v in connections.settings.items() if k != name}


@contextmanager
def open_scratch_database(file):
    """Create an empty agent's file at `file` for the time of the block; yields its alias.

    It belongs to no agent, and is removed at the end.
    """
    name = f"agent__{file.stem}"
    shutil.copyfile(_template(), file)
    _register(name, file)
    try:
        yield name
    finally:
        remove_alias(name)
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)


def build_empty(file):
    """Write a fully migrated, empty agent file, without a `-wal`, so that it can be copied."""
    name = "agent__template"
    _register(name, file, is_new=True)
    try:
        creation.make_tables(connections[name], settings.AGENT_APPS)
        import_string(settings.AGENT_TRIGGERS)(name)
        connection_tuning.shorten_log(name)
    finally:
        remove_alias(name)


def is_on_disk(agent_id):
    """Return whether an agent's file has to be at `get_path`.

    An alias of the settings may have its file elsewhere.
    """
    name = f"agent_{agent_id}"
    return name in _files or name not in connections.settings


def _ensure_registered(name, agent_id):
    """Register the alias of an agent's file.

    Raises UnknownAgent without a file, also when it was removed since.
    """
    if is_on_disk(agent_id):
        try:
            identity = connection_cache.get_file_identity(get_path(agent_id))
        except PermissionError as exc:  # its folder is another user's
            raise OldAgentFile(describe_unread(agent_id, reasons.describe_error(exc))) from exc
        if identity is None:
            raise UnknownAgent(agent_id)
        connection_cache.close_if_replaced(name, identity)
    if name not in connections.settings:
        _register(name, get_path(agent_id))


def _register(name, file, *, is_new=False):
    # Replace the mapping, never change it: other threads iterate over it at
    # the start and end of every request.
    with settings_lock:
        entry = {
            **connections.settings["default"],
            "NAME": files.file_uri(file, "rwc" if is_new else "rw"),
            "ATOMIC_REQUESTS": False,
            "CONN_MAX_AGE": KEPT_SECONDS,
        }
        if is_new:
            entry["OPTIONS"] = entry["OPTIONS"] | {"page_bytes": PAGE_BYTES}
        connections.settings = {**connections.settings, name: entry}
        _files.add(name)
        connection_cache.watch(name, file)


def _migrate(name):
    # Does the same as the command migrate, which would read the migrations again for each app.
    executor = MigrationExecutor(connections[name])
    executor.migrate([key for key in executor.loader.graph.leaf_nodes() if key[0] in settings.AGENT_APPS])
    import_string(settings.AGENT_TRIGGERS)(name)
    with suppress(DatabaseError):  # a full disk: the next removal of a session gives them back
        upkeep.give_back_free_pages(name)  # of tables that were written anew
    connections[name].close()


def _read_migrations(name, agent_id):
    """Return the migrations that were applied to an agent's file.

    Raises OldAgentFile for a file that cannot be read.
    """
    try:
        return set(MigrationRecorder(connections[name]).migration_qs.values_list("app", "name"))
    except DatabaseError as exc:
        blank = damaged_files.is_blank(get_path(agent_id))
        reason = damaged_files.describe_blank() if blank else reasons.describe_error(exc)
        raise OldAgentFile(describe_unread(agent_id, reason)) from exc


def describe_unread(agent_id: str, reason: str) -> str:
    """Say that an agent's file cannot be opened, or is no database."""
    sentence = _("The database of agent %(agent)s was not read: %(reason)s. Check the file and its permissions.")
    return sentence % {"agent": agent_id, "reason": reason}


def describe_other_version(agent_id, applied):
    """Return the sentence about a file with migrations of another version of this program."""
    database = _("The database of agent %(agent)s") % {"agent": agent_id}
    return known_migrations.describe_other_version(database, applied, known_migrations.list_agent_migrations())


def _template():
    """Return an empty agent file for the current migrations, built once."""
    version = hashlib.sha256(repr((PAGE_BYTES, sorted(known_migrations.list_agent_migrations()))).encode()).hexdigest()[
        :12
    ]
    target: Path = settings.HOME_DIR / "state" / f"agent-template-{version}.sqlite"
    with settings_lock:
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = target.with_suffix(f".{os.getpid()}")
            build_empty(draft)
            publication.restrict(draft, 0o600)
            draft.replace(target)
            for other in target.parent.glob("agent-template-*.sqlite"):  # with other tables
                if other != target:
                    other.unlink(missing_ok=True)
    return target
