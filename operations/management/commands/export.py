from django.core.management.base import BaseCommand, CommandError

from datasets.export_options import FORMATS, ROW_CHARACTERS, TASKS
from openclaw_web.errors import Refused
from operations import export_report, exports
from operations.progress import Terminal


class Command(BaseCommand):
    help = "Write approved samples into training files."

    def add_arguments(self, parser):
        parser.add_argument("--format", required=True, choices=[name.value for name in FORMATS])
        parser.add_argument("--task", default="reply", choices=[name.value for name in TASKS])
        parser.add_argument("--name", required=True, help="what the export is called")
        parser.add_argument("--all", action="store_true", help="also samples nobody has judged; rejected ones never")
        parser.add_argument("--split", type=float, default=0.8, metavar="SHARE", help="training share, 0 to 1")
        parser.add_argument("--seed", default="0", help="another seed, another split")
        parser.add_argument("--agent", help="only this agent's samples")
        parser.add_argument("--min-quality", type=float, metavar="SCORE", help="only samples scored this or more")
        parser.add_argument("--row-characters", type=int, default=ROW_CHARACTERS, help="the longest row")
        parser.add_argument("--keep-text", action="store_true", help="keep words before a tool call, as a thought")
        parser.add_argument("--json", action="store_true", help="print the result as one JSON object")

    def handle(self, **options):
        names = ("name", "format", "task", "seed", "agent", "min_quality", "row_characters", "keep_text")
        choices = {name: options[name] for name in names}
        choices |= {"only_approved": not options["all"], "train_split": options["split"]}
        terminal = Terminal(self.stderr)
        try:
            export, job = exports.make_here(by="command line", listener=terminal, **choices)
        except Refused as exc:
            raise CommandError(exc.sentence, returncode=2) from exc
        terminal.close()
        words = export_report.as_json(export, job) if options["json"] else export_report.in_words(export, job)
        self.stdout.write(words)
        if export.state != export.State.READY:
            raise SystemExit(1)
