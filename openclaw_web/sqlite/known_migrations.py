"""Migrations that this version knows, to recognize files of other versions."""

from collections.abc import Set as AbstractSet
from functools import cache
from importlib.util import find_spec
from pkgutil import iter_modules

from django.apps import apps
from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from ..errors import Refused

Migration = tuple[str, str]  # app, name
# Migrations of 0.1.0 that were replaced until commit 8ffc5f0e, and the last commit that reads a file with each.
LAST_READERS: dict[Migration, str] = {
    ("agents", "0001_tables"): "6b660e73",
    ("ledger", "0002_orders_of_lists"): "6b660e73",
    ("ledger", "0001_initial"): "f645b437",
    ("datasets", "0001_0a575a9e"): "ac772095",
    ("datasets", "0001_c0c49fd8"): "ea2d25c4",
    ("datasets", "0001_6243a094"): "8d6f16fc",
}


@cache
def list_migrations() -> frozenset[Migration]:
    """List every migration of this program and of Django's apps, without importing one."""
    known: set[Migration] = set()
    for app in apps.get_app_configs():
        spec = find_spec(f"{app.name}.migrations")
        folders = spec.submodule_search_locations if spec else []
        known |= {(app.label, module.name) for module in iter_modules(folders) if module.name[0] not in "_~"}
    return frozenset(known)


@cache
def list_agent_migrations() -> frozenset[Migration]:
    """List the migrations that create the tables of an agent's file."""
    return frozenset(migration for migration in list_migrations() if migration[0] in settings.AGENT_APPS)


def find_missing(connection: BaseDatabaseWrapper) -> set[Migration]:
    """The migrations of this version that the global database lacks."""
    return set(list_migrations() - MigrationRecorder(connection).applied_migrations().keys())


def find_last_reader(applied: AbstractSet[Migration]) -> str | None:
    """The last commit that reads a file with replaced migrations; None for any other file."""
    for migration, commit in LAST_READERS.items():
        if migration in applied:
            return commit
    # An agent's file of that time names no unknown migration; findings are created before the ledger.
    is_without_findings = ("ledger", "0001_a4a0b922") in applied and ("findings", "0001_e9f483ee") not in applied
    return LAST_READERS["datasets", "0001_0a575a9e"] if is_without_findings else None


def is_other_version(applied: AbstractSet[Migration]) -> bool:
    """Whether this program does not read a file with these migrations, also after an update."""
    return not list_migrations() >= applied or find_last_reader(applied) is not None


def describe_other_version(name: str, applied: AbstractSet[Migration], known: AbstractSet[Migration]) -> str:
    """Say why a home, a backup or a database (`name`) is refused, and what to do.

    `known` are the migrations that it has after an update by this version.
    """
    words = {"name": name, "version": settings.VERSION, "commit": find_last_reader(applied)}
    if words["commit"]:
        too_old = _(
            "%(name)s is of version 0.1.0, commit %(commit)s or before, and is read by that version only. Keep it. An "
            "import into a new home (OPENCLAW_WEB_HOME) brings the sessions back, but not what is only here: "
            "verdicts, gate decisions, corrections, rollbacks, datasets, exports, people with their tokens, settings "
            "and the audit log."
        )
        return too_old % words
    if applied > known:
        sentence = _("%(name)s is of a newer version than this one (%(version)s).") % words
        return f"{sentence} {_describe_way_back()}"
    return _("%(name)s is of another version; keep it and import again into a new home.") % words


def _describe_way_back():
    """Say what to do with a file that a newer version updated.

    The newest backup that fits is named.
    """
    backup = import_string(settings.RESTORABLE_BACKUP)()
    if backup is None:
        return _("Install that version again, or restore a backup that was created before the update.")
    return _(
        "Install that version again, or restore the backup from before the update: "
        "openclaw-web backup restore %(path)s --replace"
    ) % {"path": backup}


def refuse_other_version(connection: BaseDatabaseWrapper) -> None:
    """Raise Refused for a home whose global file this program does not read."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    if is_other_version(applied):
        raise Refused(describe_other_version(_("This home"), applied, list_migrations()))
