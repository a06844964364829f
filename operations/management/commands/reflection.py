from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from datasets.verbs import collect, findings, import_set, judge, quality, releases, review, score
from datasets.verbs import coverage as coverage_of_samples
from datasets.verbs import export as export_of_samples
from datasets.verbs import find as find_samples
from datasets.verbs import stats as stats_of_samples
from gate.verbs import export, find, record, replay, run, stats
from gate.verbs import test as test_gate
from guardian.verbs import correct, propose, rollback, rules
from guardian.verbs import export as export_of_writes
from guardian.verbs import find as find_writes
from guardian.verbs import record as tell_of_writes
from guardian.verbs import retry as retry_write
from guardian.verbs import test as test_guardian
from openclaw_web.commands.groups import Branch, Group


class Command(Group):
    help = gettext_lazy("Show and record decisions, writes and samples of the Reflection plugin.")
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
                "test": test_gate,
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
                "test": test_guardian,
            },
        ),
        "dataset": Branch(
            gettext_lazy("Samples, their exports and releases."),
            {
                "collect": collect.CollectVerb(),
                "what-if": collect.WhatIfVerb(),
                "list": find_samples,
                "approve": judge.ApproveVerb(),
                "reject": judge.RejectVerb(),
                "review": review.ReviewVerb(),
                "agreement": review.AgreementVerb(),
                "export": export_of_samples,
                "stats": stats_of_samples,
                "quality": quality,
                "findings": findings,
                "score": score,
                "import": import_set,
                "release": releases.ReleaseVerb(),
                "verify": releases.VerifyVerb(),
                "diff": releases.DiffVerb(),
                "coverage": coverage_of_samples,
            },
        ),
    }

    def add_common_arguments(self, parser):
        if "dataset" in parser.prog.split():  # samples are of all agents; verbs that can be narrowed say so
            return
        parser.add_argument("--agent", default="main", help=_("agent that is meant (%(default)s)"))
