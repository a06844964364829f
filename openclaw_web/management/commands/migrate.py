"""`openclaw-web migrate`: Django's, which leaves homes of other versions as they are."""

from typing import Any

from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS, connections

from ...sqlite import known_migrations


class Command(Migrate):
    def handle(self, *args: Any, **options: Any) -> Any:
        """Refuse a home of another version before Django looks whether its migrations fit together."""
        if options["database"] == DEFAULT_DB_ALIAS:
            known_migrations.refuse_other_version(connections[DEFAULT_DB_ALIAS])
        return super().handle(*args, **options)
