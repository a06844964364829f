from jobs.progress import listener_on
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb

from ...exporting import jobs, report
from ...exporting.exports import read_reasons
from ...exporting.options import FORMATS, ROW_CHARACTERS, TASKS


class Command(Verb):
    help = "Write approved samples into training files."
    examples = (
        "export --format alpaca --name first",
        "export --format sharegpt --name mei-replies --agent main --min-quality 0.7 --split 0.9",
        "export --format alpaca --name first --json --quiet | jq -r .folder",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = report.SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument("--format", required=True, choices=[name.value for name in FORMATS])
        parser.add_argument("--task", default="reply", choices=[name.value for name in TASKS])
        parser.add_argument("--name", required=True, help="what the export is called")
        parser.add_argument("--all", action="store_true", help="also samples nobody has judged; rejected ones never")
        parser.add_argument("--split", type=float, default=0.8, metavar="SHARE", help="training share, 0 to 1 (0.8)")
        parser.add_argument("--seed", default="0", help="another seed, another split")
        parser.add_argument("--agent", help="only this agent's samples")
        parser.add_argument("--min-quality", type=float, metavar="SCORE", help="only samples scored this or more")
        parser.add_argument("--row-characters", type=int, default=ROW_CHARACTERS, metavar="N", help="the longest row")
        parser.add_argument("--keep-text", action="store_true", help="keep words before a tool call, as a thought")
        parser.add_argument(
            "--include-flagged",
            action="store_true",
            help="also rows with outputs that may hold secrets (logged)",
        )

    def run(self, quiet, **options):
        names = ("name", "format", "task", "seed", "agent", "min_quality", "row_characters", "keep_text")
        names += ("include_flagged",)
        choices = {name: options[name] for name in names}
        choices |= {"only_approved": not options["all"], "train_split": options["split"]}
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            export, job = jobs.make_here(by="command line", listener=listener, **choices)
        if export.state != export.State.READY:
            status = REFUSED if job.state == job.State.REFUSED else FAILED
            self.fail(report.sentence(export, job), status, reasons=read_reasons(export))
        self.answer(report.facts(export), report.in_words(export))
