from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import pre_migrate


class PeopleConfig(AppConfig):
    name = "people"

    def ready(self):
        pre_migrate.connect(_refuse_half_migrated, sender=self)


def _refuse_half_migrated(using, **_):
    from openclaw_web.sqlite import adopted  # only who migrates loads what migrations need

    if using == DEFAULT_DB_ALIAS:
        adopted.refuse_half_migrated(connections[using])
