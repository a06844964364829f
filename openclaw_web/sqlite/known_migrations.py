"""Migrations that this version knows, to recognize files of other versions."""

from collections.abc import Iterable
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


def is_other_version(seen: Iterable[Migration]) -> bool:
    """Whether another version of this program made a file with these migrations."""
    return not list_migrations().issuperset(seen)


def is_newer_version(seen: Iterable[Migration], known: frozenset[Migration] | None = None) -> bool:
    """Whether a newer version updated a file: all migrations are there, and others.

    `known` are those that the file has after an update by this version; None: all.
    """
    return set(seen) > (list_migrations() if known is None else known) and is_other_version(seen)


def describe_way_back() -> str:
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
    """Raise Refused for a home whose global file was made by another version."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    if is_newer_version(applied):
        sentence = _("This home was updated by a newer version than this one (%(version)s).")
        raise Refused(f"{sentence % {'version': settings.VERSION}} {describe_way_back()}")
    if is_other_version(applied):
        raise Refused(_("This home was created by another version; keep it and import again into a new one."))
