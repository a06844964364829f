import orjson
from django.core.management.base import BaseCommand

from agents.templatetags.formatting import at, duration
from operations.models import JobRun

COLUMNS = ("id", "kind", "state", "done", "total", "message", "attempts", "started_by")
TIMES = ("created_at", "started_at", "heartbeat_at", "finished_at")


class Command(BaseCommand):
    help = "List the latest runs of jobs, newest first."

    def add_arguments(self, parser):
        parser.add_argument("--json", action="store_true", help="print one JSON object a line")
        parser.add_argument("--limit", type=int, default=20, help="how many (20)")

    def handle(self, **options):
        runs = JobRun.objects.order_by("-created_at", "-id").defer("log", "result_json")[: options["limit"]]
        for job in runs:
            self.stdout.write(self.as_json(job) if options["json"] else self.as_line(job))

    def as_json(self, job):
        return orjson.dumps({name: getattr(job, name) for name in COLUMNS + TIMES}).decode()

    def as_line(self, job):
        queued = at(job.created_at).strftime("%Y-%m-%d %H:%M:%S")
        how_far = f"{job.done:,}" if job.percent is None else f"{job.percent} %"
        columns = (queued, f"{job.kind:<8}", f"{job.state:<8}", f"{how_far:>7}", f"{duration(job.duration_ms):>12}")
        return "  ".join((*columns, job.message)).rstrip()
