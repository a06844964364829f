from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import pre_migrate


class PeopleConfig(AppConfig):
    name = "people"

    def ready(self):
        pre_migrate.connect(_refuse_another, sender=self)


def _refuse_another(using, **_):
    from openclaw_web.sqlite import known_migrations  # imported here, because only a migration needs it

    if using == DEFAULT_DB_ALIAS:
        known_migrations.refuse_other_version(connections[using])
