"""`openclaw-web migrate`: Django's, which leaves homes that are not ours as they are."""

from typing import Any

from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS, connections

from ...sqlite import known_migrations


class Command(Migrate):
    def handle(self, *args: Any, **options: Any) -> Any:
        """Refuse a home that is not ours before Django looks whether its migrations fit together."""
        if options["database"] == DEFAULT_DB_ALIAS:
            known_migrations.refuse_other_version(connections[DEFAULT_DB_ALIAS])
        return super().handle(*args, **options)
