from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db import DEFAULT_DB_ALIAS, connections


class PeopleConfig(AppConfig):
    name = "people"

    def ready(self):
        register(_refuse_another, Tags.database)


def _refuse_another(databases, **_):
    """Refuse a home of other tables: `migrate` checks databases before it compares their migrations."""
    from openclaw_web.sqlite import known_migrations  # imported here, because only a migration needs it

    if DEFAULT_DB_ALIAS in (databases or ()):
        known_migrations.refuse_other_version(connections[DEFAULT_DB_ALIAS])
    return []
