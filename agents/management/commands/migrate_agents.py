from django.core.management.base import BaseCommand, CommandError

from agents import databases, services
from agents.models import Agent


class Command(BaseCommand):
    help = "Bring every agent's file up to the current schema."

    def handle(self, **options):
        failed = []
        for agent in Agent.objects.order_by("agent_id"):
            try:
                databases.migrate(agent.agent_id)
                services.refresh_database_row(agent)
            except Exception as exc:  # noqa: BLE001 - one damaged file must not keep the others old
                failed.append(agent.agent_id)
                self.stderr.write(f"{agent}: {type(exc).__name__}: {exc}")
            else:
                if options["verbosity"]:
                    self.stdout.write(f"{agent}: schema {databases.schema_version()}")
        if failed:
            raise CommandError(f"{len(failed)} agent file(s) were not migrated: {', '.join(failed)}")
