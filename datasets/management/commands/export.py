from dataclasses import fields

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import Progress, open_listener
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb

from ...dedup.split_plan import DUPLICATES, ONE
from ...exporters.conversations.histories import EDITED, HISTORIES
from ...exporters.conversations.turns import KEEP, LIST, PARALLEL, TOOL_CALLS
from ...exporters.formats.gate import LINES, OUTPUTS
from ...exporters.training_rows import LEAVE_OUT, TOOL_RESULTS
from ...exports import jobs, report
from ...exports.builder.export_count import count_export
from ...exports.exports import rehearse
from ...exports.options import FORMATS, PROMPT_CHARACTERS, ROW_CHARACTERS, TASKS, Options


class Command(Verb):
    help = gettext_lazy("Write approved samples to training files.")
    examples = (
        "export --format alpaca --name first",
        "export --format sharegpt --name mei-replies --agent main --min-quality 0.7 --split 0.9",
        "export --format sharegpt --history session --dry-run",
        "export --format alpaca --name first --json --quiet | jq -r .folder",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = report.SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument("--format", required=True, choices=[name.value for name in FORMATS])
        parser.add_argument("--task", default="reply", choices=[name.value for name in TASKS])
        parser.add_argument("--name", help=_("name of the export"))
        parser.add_argument(
            "--dry-run", action="store_true", help=_("count how many samples fit these options; export nothing")
        )
        reviewed = parser.add_mutually_exclusive_group()
        reviewed.add_argument(
            "--all", action="store_true", help=_("also samples not reviewed yet; never rejected samples")
        )
        reviewed.add_argument("--only-approved", action="store_true", help=_("only approved samples (the default)"))
        parser.add_argument(
            "--split",
            "--train-split",
            type=float,
            default=0.8,
            metavar="SHARE",
            help=_("share used for training, 0 to 1 (0.8)"),
        )
        parser.add_argument(
            "--validation-split", type=float, default=0.0, metavar="SHARE", help=_("share used for validation (0)")
        )
        parser.add_argument(
            "--duplicates",
            choices=DUPLICATES,
            default=ONE,
            help=_(
                "samples that say the same, or nearly: one of each group, or all, in the same part of the split (one)"
            ),
        )
        parser.add_argument("--seed", default="0", help=_("the same seed and samples give the same split (0)"))
        parser.add_argument("--agent", help=_("only samples of this agent"))
        parser.add_argument(
            "--min-quality", type=float, metavar="SCORE", help=_("only samples with at least this score")
        )
        self._add_rows(parser)
        self._add_prompts(parser)

    def _add_rows(self, parser):
        """Add the options of a row's content."""
        parser.add_argument(
            "--row-characters", type=int, default=ROW_CHARACTERS, metavar="N", help=_("longest row, in characters")
        )
        parser.add_argument(
            "--keep-text", action="store_true", help=_("keep the text before a tool call, as a thought")
        )
        parser.add_argument(
            "--history",
            choices=HISTORIES,
            default=EDITED,
            help=_("what stands before a reply: approved turns with edits, one row per session, or turns not learned"),
        )
        parser.add_argument(
            "--gate-output",
            choices=OUTPUTS,
            default=LINES,
            help=_("task gate: the decision as three lines or as JSON (lines)"),
        )
        self._add_tools(parser)
        self._add_included(parser)

    def _add_tools(self, parser):
        """Add the options of tool calls."""
        parser.add_argument(
            "--tool-calls",
            choices=TOOL_CALLS,
            default=KEEP,
            help=_("tool calls and results: in the rows, or left out with the turns whose reply rests on them (keep)"),
        )
        parser.add_argument(
            "--tool-results",
            choices=TOOL_RESULTS,
            default=LEAVE_OUT,
            help=_("Alpaca replies that rest on tool results: left out, or with the results as input (leave_out)"),
        )

    def _add_included(self, parser):
        """Add the options that include samples and texts which are otherwise left out."""
        parser.add_argument(
            "--include-injected",
            action="store_true",
            help=_("also turns that OpenClaw started itself, such as scheduled tasks, and silent replies"),
        )
        parser.add_argument("--include-cut-off", action="store_true", help=_("also replies that were cut off"))
        parser.add_argument(
            "--include-unrecognized",
            action="store_true",
            help=_("also messages in lines like OpenClaw's own that are not known"),
        )
        parser.add_argument(
            "--include-interrupted", action="store_true", help=_("also answers that ended with a tool call")
        )
        parser.add_argument(
            "--include-pictures", action="store_true", help=_("also questions that came with a picture or file")
        )
        parser.add_argument(
            "--include-flagged",
            action="store_true",
            help=_("also rows with texts that may contain secrets (logged)"),
        )

    def _add_prompts(self, parser):
        """Add the options of prompts and tools in ShareGPT rows."""
        parser.add_argument(
            "--prompt-characters",
            type=int,
            default=PROMPT_CHARACTERS,
            metavar="N",
            help=_("longest system prompt or tool list, in characters; 0 leaves out all (32768)"),
        )
        parser.add_argument(
            "--parallel-calls",
            choices=PARALLEL,
            default=LIST,
            help=_("parallel tool calls as one list, or split, one after the other, for GLM-4 (list)"),
        )

    def run(self, quiet, **options):
        names = ["name", *(field.name for field in fields(Options))]
        choices = {name: options[name] for name in names if name in options}
        choices |= {"only_approved": not options["all"], "train_split": options["split"]}
        if not choices["name"] and not options["dry_run"]:
            self.fail(_("Use --name to name the export, or --dry-run to count samples."), WRONG_USE)
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            if options["dry_run"]:
                self._count(choices, Progress(listener))
                return
            export, job = jobs.make_here(by="command line", listener=listener, **choices)
        if export.state != export.State.READY:
            status = REFUSED if job.state == job.State.REFUSED else FAILED
            self.fail(report.describe_failure(export, job), status, reasons=export.reasons)
        self.answer(report.build_receipt(export), report.describe_export(export))

    def _count(self, choices, progress):
        """Answer with the rows that an export with these options would have."""
        choices.pop("name")
        export_count = count_export(Options(**choices))
        export_count.take_numbers(rehearse(Options(**choices), progress))
        self.answer(report.build_count_receipt(export_count), report.describe_count(export_count))
