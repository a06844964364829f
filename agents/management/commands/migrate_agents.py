from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from openclaw_web import reasons
from openclaw_web.commands.verbs import DONE, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, Verb

from ... import databases, services
from ...models import Agent


class Command(Verb):
    help = gettext_lazy("Bring the database of every agent up to the current schema.")
    examples = ("migrate_agents", "migrate_agents --json")
    statuses = (DONE, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = "openclaw-web.migrate_agents.v1"

    def run(self, verbosity, **options):
        migrated, failed = [], []
        for agent in Agent.objects.order_by("agent_id"):
            try:
                databases.migrate(agent.agent_id)
                services.refresh_database_row(agent)
            except Exception as exc:  # noqa: BLE001 - one damaged file must not keep the others old
                failed.append({"id": agent.agent_id, "reason": reasons.describe_error(exc)})
            else:
                migrated.append(agent.agent_id)
        facts = {"schema_version": databases.get_schema_version(), "migrated": migrated}
        line = _("%(agent)s: schema %(version)s")
        values = {"version": facts["schema_version"]}
        words = "\n".join(line % {"agent": agent_id, **values} for agent_id in migrated if verbosity)
        if failed:
            names = ", ".join(row["id"] for row in failed)
            sentence = ngettext(
                "%(count)s agent database was not migrated: %(names)s",
                "%(count)s agent databases were not migrated: %(names)s",
                len(failed),
            )
            self.end_partly(facts, words, sentence % {"count": len(failed), "names": names}, failed)
        self.answer(facts, words)
