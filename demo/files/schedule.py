"""Scheduled jobs of the demo: their definitions, when they ran, and the log of each run."""

import json
from dataclasses import dataclass

from .. import moments, prices
from ..chance import Chance
from ..moments import DAY, HOUR
from ..slots import Slots

MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Job:
    """A scheduled job: it first runs `first_ms` after midnight, then every `every_ms`.

    Midnight is local; the last `kept_runs` runs have a transcript.
    """

    key: str
    agent: str
    name: str
    message: str
    schedule: dict
    first_ms: int
    every_ms: int
    kept_runs: int
    model: str
    description: str = ""
    summaries: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    not_on_mondays: bool = False

    def id(self, seed):
        """The job's id."""
        return Chance.from_words(seed, "job", self.key).uuid()


def daily(at, *, tz="Asia/Singapore"):
    """A schedule for each day at HH:MM."""
    hour, minute = at.split(":")
    return {"kind": "cron", "expr": f"{int(minute)} {int(hour)} * * *", "tz": tz}


JOBS = (
    Job(
        "morning",
        "main",
        "Morning orders",
        "Summarise the orders for today: loaves and buns by slot, anything unusual, what Ben must know before the "
        "second bake. Six lines at most.",
        {"kind": "cron", "expr": "30 6 * * 0,2-6", "tz": "Asia/Singapore"},
        6 * HOUR + 30 * MINUTE,
        DAY,
        8,
        "anthropic/claude-haiku-4-5",
        "For the kitchen, before the shop opens",
        (
            "[[38..96]] orders today, [[3..9]] for the cafés. Busiest slot 08:30–10:00. Nothing unusual.",
            "[[38..96]] orders. One cake order for the afternoon, candles asked for. Rye is short by [[1..4]] loaves.",
            "A quiet one: [[22..37]] orders, no wholesale. Good day to clean the deck oven.",
        ),
        not_on_mondays=True,
    ),
    Job(
        "stock",
        "main",
        "Stock watch 库存巡检",
        "Check the stock levels. Say nothing unless something is below its reorder point.",
        {"kind": "every", "everyMs": 6 * HOUR, "anchorMs": 0},
        3 * HOUR,
        6 * HOUR,
        4,
        "ollama/qwen3:14b",
        "",
        ("All above their reorder points.", "库存正常。", "Below reorder point: [[pandan paste|black sesame|eggs]]."),
        ("connect ECONNREFUSED 127.0.0.1:11434",),
    ),
    Job(
        "backup",
        "main",
        "Nightly backup check",
        "Check that last night's database dump of the shop exists, is larger than 40 MB and restores.",
        daily("04:10"),
        4 * HOUR + 10 * MINUTE,
        DAY,
        3,
        "openai/gpt-5-mini",
        "",
        ("Dump of [[41..58]] MB, restores cleanly in [[38..71]] s.",),
        ("529 overloaded: try again later", "cron: job execution timed out"),
    ),
    Job(
        "usage",
        "main",
        "Weekly usage",
        "Run this and paste the full JSON into your answer, so that nothing is lost:\n"
        "openclaw sessions list --json\n"
        "Then say in two sentences which session grew most.",
        {"kind": "every", "everyMs": 7 * DAY, "anchorMs": 0},
        4 * DAY + 8 * HOUR,
        7 * DAY,
        3,
        "openai/gpt-5-mini",
        "For Arjun",
        ("The order desk grew most, as every week.",),
    ),
    Job(
        "papers",
        "research",
        "晨间文献速递",
        "Look for new preprints and papers on sourdough starters, staling and lactic acid bacteria. "
        "List what is new since yesterday with one sentence each, in Chinese.",
        daily("07:15"),
        7 * HOUR + 15 * MINUTE,
        DAY,
        6,
        "anthropic/claude-sonnet-4-5",
        "周宁早上看",
        ("今天新增 [[1..4]] 篇，其中 [[1|2]] 篇值得细读。", "今天没有新的相关文献。"),
        ("429 rate limited by the search provider",),
    ),
)
REMINDER = "Send the newsletter draft to Mei for approval 📮"


class Log:
    """The runs of every job, in the order they are known."""

    def __init__(self, seed, since_ms, until_ms):
        self.seed, self.since_ms, self.until_ms = seed, since_ms, until_ms
        self.runs = {job.key: [] for job in JOBS}

    def times(self, job):
        """The moments at which a job ran, oldest first."""
        midnight = self.since_ms // DAY * DAY - 8 * HOUR
        count = (self.until_ms - midnight) // job.every_ms + 1
        planned = (midnight + job.first_ms + number * job.every_ms for number in range(count))
        times = [ms for ms in planned if self.since_ms <= ms < self.until_ms - 30 * MINUTE]
        return [ms for ms in times if not (job.not_on_mondays and moments.is_closed(ms))]

    def pruned(self, job):
        """Enter the runs whose transcripts are gone by now."""
        chance = Chance.from_words(self.seed, "runs", job.key)
        for ms in self.times(job)[: -job.kept_runs]:
            failed = job.errors and chance.random() < 0.06
            took_ms = chance.between(4, 40)
            slots = Slots(chance, lambda ms=ms: ms)
            text = slots.fill(chance.choice(job.errors if failed else job.summaries))
            self.enter(job, chance.uuid(), ms, took_ms, text, is_error=failed, model=prices.MODELS[job.model])

    def enter(self, job, session_id, ms, took_ms, text, *, is_error, model, usage=None):
        """Enter one run."""
        run = {"ts": ms + took_ms, "jobId": job.id(self.seed), "action": "finished"}
        run["status"] = "error" if is_error else "ok"
        if is_error:
            run["error"] = text
        run |= {"summary": text, "delivered": not is_error}
        run["deliveryStatus"] = "not-delivered" if is_error else "delivered"
        run["sessionId"] = session_id
        run["sessionKey"] = f"agent:{job.agent}:cron:{job.id(self.seed)}:run:{session_id}"
        run |= {"runAtMs": ms, "durationMs": took_ms, "nextRunAtMs": ms + job.every_ms}
        run |= {"model": model.id, "provider": model.provider}
        if not is_error and usage:
            run["usage"] = {
                "input_tokens": usage["input"] + usage["cacheRead"] + usage["cacheWrite"],
                "output_tokens": usage["output"],
                "total_tokens": usage["totalTokens"],
            }
        self.runs[job.key].append(run)

    def write(self, root):
        """Write cron/jobs.json and cron/runs/; return the number of jobs and of runs."""
        folder = root / "cron" / "runs"
        folder.mkdir(parents=True)
        reminder_id, reminder = self._build_reminder()
        logs = {job.id(self.seed): sorted(self.runs[job.key], key=lambda run: run["ts"]) for job in JOBS}
        logs[reminder_id] = [reminder]
        jobs = [self._build_definition(job, logs[job.id(self.seed)]) for job in JOBS] + [
            self._build_one_time_job(reminder_id, reminder)
        ]
        _dump(root / "cron" / "jobs.json", {"version": 1, "jobs": jobs})
        for job_id, runs in logs.items():
            lines = "".join(json.dumps(run, ensure_ascii=False, separators=(",", ":")) + "\n" for run in runs)
            (folder / f"{job_id}.jsonl").write_text(lines, encoding="utf-8", newline="\n")
        return len(jobs), sum(map(len, logs.values()))

    def _build_definition(self, job, runs):
        last = runs[-1]
        failures = next((i for i, run in enumerate(reversed(runs)) if run["status"] == "ok"), len(runs))
        state = {"nextRunAtMs": last["nextRunAtMs"], "lastRunAtMs": last["runAtMs"], "lastRunStatus": last["status"]}
        state |= {"lastStatus": last["status"], "lastDurationMs": last["durationMs"]}
        state |= {"lastDelivered": last["delivered"], "lastDeliveryStatus": last["deliveryStatus"]}
        state["consecutiveErrors"] = failures
        if last["status"] == "error":
            state["lastError"] = last["error"]
        definition = {"id": job.id(self.seed), "agentId": job.agent, "name": job.name}
        if job.description:
            definition["description"] = job.description
        created = self.since_ms - 12 * DAY
        schedule = job.schedule | ({"anchorMs": created} if "anchorMs" in job.schedule else {})
        definition |= {"enabled": True, "createdAtMs": created, "updatedAtMs": last["ts"], "schedule": schedule}
        definition |= {"sessionTarget": "isolated", "wakeMode": "now"}
        definition["payload"] = {"kind": "agentTurn", "message": job.message, "model": job.model, "timeoutSeconds": 300}
        return definition | {"delivery": {"mode": "announce"}, "state": state}

    def _build_reminder(self):
        ms = self.since_ms + 9 * DAY + 3 * HOUR
        run = {"ts": ms + 3, "jobId": (job_id := Chance.from_words(self.seed, "reminder").uuid()), "action": "finished"}
        run |= {"status": "skipped", "error": "disabled", "summary": REMINDER, "deliveryStatus": "not-requested"}
        return job_id, run | {"runAtMs": ms, "durationMs": 3}

    def _build_one_time_job(self, job_id, run):
        at = moments.format_iso(run["runAtMs"])
        state = {"lastError": "disabled", "lastRunAtMs": run["runAtMs"], "lastRunStatus": "skipped"}
        state |= {"lastStatus": "skipped", "lastDurationMs": 3, "consecutiveErrors": 0}
        definition = {"id": job_id, "agentId": "main", "name": "Newsletter reminder", "enabled": False}
        definition |= {"createdAtMs": self.since_ms, "updatedAtMs": run["ts"], "deleteAfterRun": False}
        definition |= {"schedule": {"kind": "at", "at": at}, "sessionTarget": "main", "wakeMode": "now"}
        return definition | {"payload": {"kind": "systemEvent", "text": REMINDER}, "state": state}


def _dump(path, content):
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8", newline="\n")
