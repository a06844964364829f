from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import open_listener
from openclaw_web.commands.groups import Failed, WrongUse
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb

from ...exports import report
from ...verbs import destination, export, export_options


class Command(Verb):
    help = gettext_lazy("Write approved samples to training files.")
    examples = (
        "export --format alpaca --name first",
        "export --format alpaca -o ./sft-data.jsonl",
        "export --format sharegpt --name mei-replies --agent main --min-quality 0.7 --split 0.9",
        "export --format sharegpt --history session --dry-run",
        "export --format alpaca --name first --json --quiet | jq -r .folder",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = report.SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        export_options.add_arguments(parser)
        destination.add_arguments(parser)

    def run(self, quiet, **options):
        if not (options["name"] or options["dry_run"] or options["output"]):
            self.fail(_("Use --name to name the export, or --dry-run to count samples."), WRONG_USE)
        try:
            with open_listener(self.stderr, is_quiet=quiet) as listener:
                outcome = export.make(options, listener)
        except (WrongUse, Failed) as failure:
            status = WRONG_USE if isinstance(failure, WrongUse) else FAILED
            self.fail(failure.sentence, status, reasons=failure.reasons)
        self.answer(outcome.receipt, outcome.words)
