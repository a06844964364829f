"""Migrations that this version knows, to recognize files of other versions."""

from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pkgutil import iter_modules

from django.apps import apps
from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
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


def is_other_version(seen: Iterable[Migration]) -> bool:
    """Whether another version of this program made a file with these migrations."""
    return not list_migrations().issuperset(seen)


def refuse_other_version(connection: BaseDatabaseWrapper) -> None:
    """Raise Refused for a home whose global file was made by another version."""
    if is_other_version(MigrationRecorder(connection).applied_migrations()):
        raise Refused(_("This home was created by another version; keep it and import again into a new one."))
