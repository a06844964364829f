from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.verbs import export, find, record, replay, run, stats
from guardian.verbs import correct, propose, rollback, rules
from guardian.verbs import export as export_of_writes
from guardian.verbs import find as find_writes
from guardian.verbs import record as tell_of_writes
from guardian.verbs import retry as retry_write
from openclaw_web.commands.groups import Branch, Group


class Command(Group):
    help = gettext_lazy("Show and record decisions of the Reflection plugin.")
    examples = ("reflection gate list --limit 5", "reflection gate record decisions.jsonl")
    schema = "openclaw-web.reflection.v1"
    verbs = {
        "gate": Branch(
            gettext_lazy("Decisions of memory_gate."),
            {
                "list": find.ListVerb(),
                "show": find.ShowVerb(),
                "stats": stats,
                "export": export,
                "record": record,
                "run": run,
                "replay": replay,
            },
        ),
        "guardian": Branch(
            gettext_lazy("Writes to the memory files of an agent."),
            {
                "list": find_writes.ListVerb(),
                "show": find_writes.ShowVerb(),
                "diff": find_writes.DiffVerb(),
                "history": find_writes.HistoryVerb(),
                "rollback": rollback,
                "correct": correct,
                "retry": retry_write,
                "export": export_of_writes,
                "record": tell_of_writes,
                "run": propose,
                "rules": rules,
            },
        ),
    }

    def add_common_arguments(self, parser):
        parser.add_argument("--agent", default="main", help=_("agent that is meant (%(default)s)"))
