from agents.commands import DONE, INTERRUPTED, WRONG_USE, Verb
from agents.templatetags.formatting import at, duration
from operations.models import JobRun

COLUMNS = ("id", "kind", "state", "done", "total", "message", "attempts", "started_by")
MOST = 1_000
TIMES = ("created_at", "started_at", "heartbeat_at", "finished_at")


class Command(Verb):
    help = "List the latest runs of jobs, newest first."
    examples = ("jobs", "jobs --limit 5", "jobs --json | jq '.jobs[] | select(.state == \"failed\") | .id'")
    statuses = (DONE, WRONG_USE, INTERRUPTED)
    schema = "openclaw-web.jobs.v1"

    def add_arguments(self, parser):
        parser.add_argument("--limit", type=int, default=20, metavar="N", help="how many, 1 to 1,000 (20)")

    def run(self, limit, **options):
        if not 1 <= limit <= MOST:
            self.fail(f"--limit must be 1 to {MOST:,}.", WRONG_USE)
        runs = list(JobRun.objects.order_by("-created_at", "-id").defer("log", "result_json")[:limit])
        facts = [{name: getattr(job, name) for name in COLUMNS + TIMES} for job in runs]
        self.answer({"jobs": facts}, "\n".join(map(self.as_line, runs)))

    def as_line(self, job):
        queued = at(job.created_at).strftime("%Y-%m-%d %H:%M:%S")
        how_far = f"{job.done:,}" if job.percent is None else f"{job.percent} %"
        columns = (queued, f"{job.kind:<8}", f"{job.state:<8}", f"{how_far:>7}", f"{duration(job.duration_ms):>12}")
        return "  ".join((*columns, job.message)).rstrip()
