"""Scheduled tasks, their runs and background work as texts of the search."""

from django.db.models import Count, Max, Sum
from django.db.models.functions import Length
from django.urls import reverse

from search.sources import Item
from search.table_source import TableSource

from .models import CronJob, CronRunLog, TaskRun


def _declare(name, model, moment, texts, address, *, key="id"):
    """A table of which each row may change: it has a new version when its rows or the length of their texts do."""

    def build(_db, rows, is_hit):
        items = []
        for row in rows:
            text = "\n".join(filter(None, (row[column] for column in texts)))
            item = Item(row[key], row[moment] or 0, "task", {"task": text}, facts={"agent": row["agent_id"]})
            if is_hit:
                item.title, item.href = text[:80], address(row)
            items.append(item)
        return items

    def read_version(db):
        sizes = {f"size_{column}": Sum(Length(column)) for column in texts}
        numbers = model.objects.using(db).aggregate(count=Count("*"), last=Max(moment), **sizes)
        return "-".join(str(value or 0) for value in numbers.values())

    columns = (*texts, moment, "agent_id", *(("job_id",) if model is CronRunLog else ()))
    return TableSource(name, model, columns, build, is_global=True, key=key, read_version=read_version)


def _get_job_address(row):
    return reverse("automation:cron_detail", args=[row["agent_id"], row.get("job_id") or row["id"]])


def _get_background_address(row):
    return reverse("automation:background_list", args=[row["agent_id"]])


JOBS = _declare("cron_job", CronJob, "updated_at", ("name", "prompt"), _get_job_address)
RUNS = _declare("cron_run", CronRunLog, "ts", ("summary", "error"), _get_job_address, key="place")
TASKS = _declare(
    *("task_run", TaskRun, "created_at", ("label", "task", "error", "progress_summary", "terminal_summary")),
    _get_background_address,
    key="task_id",
)
