from django.core.management.base import BaseCommand, CommandError

from openclaw_web.errors import Refused
from operations import collect_report, jobs, watching
from operations.progress import Terminal


class Command(BaseCommand):
    help = "Read an OpenClaw home into the store. Running it again reads only what is new."

    def add_arguments(self, parser):
        parser.add_argument("--source", help="OpenClaw's home (default: OPENCLAW_STATE_DIR, else ~/.openclaw)")
        parser.add_argument("--as", dest="as_name", metavar="NAME", help="another name for this home's agents")
        parser.add_argument("--watch", action="store_true", help="keep running and collect whenever something changes")
        parser.add_argument("--include-deleted", action="store_true", help="also read deleted and reset sessions")
        parser.add_argument("--json", action="store_true", help="print the result as one JSON object")

    def handle(self, **options):
        params = {"source": options["source"], "as": options["as_name"], "include_deleted": options["include_deleted"]}
        params = {name: value for name, value in params.items() if value}
        if options["watch"]:
            self._watch(params)
            return
        terminal = Terminal(self.stderr)
        job = jobs.run_now("collect", params, by="command line", listener=terminal)
        terminal.close()
        result = collect_report.result_of(job)
        if result is None:
            raise CommandError(job.message, returncode=2)
        self.stdout.write(collect_report.as_json(result) if options["json"] else collect_report.in_words(result))
        if result["rejected"]:
            raise SystemExit(1)

    def _watch(self, params):
        try:
            watching.watch(params, say=self.stdout.write)
        except Refused as exc:
            raise CommandError(exc.sentence, returncode=2) from exc
