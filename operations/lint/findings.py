"""What is wrong in schedules and files of an agent, page by page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, OuterRef, Subquery

from agents.models import Agent
from artifacts.lint import Hit
from automation.models import CronJob
from automation.prompt_lint import FILE, JOB, MAX_HITS, Finding, lint_job, lint_named_text
from guardian.models import FileSnapshot, WorkspaceFile
from guardian.versions import ORDER
from openclaw_web.lists.paging import Page, page_of

JOBS = 1_000  # looked at on the first page
FILES = 100  # of a page
BUDGET_BYTES = 4_000_000  # of the files of a page


@dataclass(slots=True)
class FindingsPage:
    """What a page of files, and on the first one the jobs, came to."""

    files: Page
    findings: list[Finding] = field(default_factory=list)
    job_count: int = 0
    has_more_jobs: bool = False


def read_page(agent: Agent, **place: Any) -> FindingsPage:
    """The findings of a page of an agent's files by name, each in its newest version; before them those of the jobs.

    `place` is as `page_of` takes it; a page ends early when its files are big.
    """
    place.setdefault("size", FILES)
    rows = _newest(agent, WorkspaceFile)
    files = page_of(rows, order=("file_name",), **place, budget=BUDGET_BYTES, weigh=lambda row: row["size_bytes"] or 0)
    looked = FindingsPage(files)
    if files.previous is None and not place.get("after"):
        jobs = list(_jobs(agent)[: JOBS + 1])
        looked.job_count, looked.has_more_jobs = len(jobs[:JOBS]), len(jobs) > JOBS
        looked.findings += [found for job in jobs[:JOBS] for found in lint_job(job)]
        looked.findings += _in_files(agent, FileSnapshot, _newest(agent, FileSnapshot))
    looked.findings += _in_files(agent, WorkspaceFile, files)
    return looked


def find_all(agent: Agent) -> Iterator[Finding]:
    """All findings of an agent: jobs by name, then files by name."""
    for job in _jobs(agent).iterator(500):
        yield from lint_job(job, most=None)
    for model in (FileSnapshot, WorkspaceFile):
        after = None
        while True:
            rows = page_of(_newest(agent, model), order=("file_name",), after=after, size=FILES)
            yield from _in_files(agent, model, rows, most=None)
            if rows.next is None:
                break
            after = rows.next


def as_hits(findings: Iterable[Finding]) -> Iterator[Hit]:
    """Findings as those of files on disk: `file` is `cron/<id of the job>` or the file's name in the workspace."""
    for found in findings:
        file = f"cron/{found.id}" if found.kind == JOB else found.id
        yield Hit(file, found.hit.line, found.hit.rule, found.hit.text, found.hit.better)


def _jobs(agent):
    return CronJob.objects.filter(agent_id=agent.agent_id).exclude(id="").defer("job_json").order_by("name", "id")


def _newest(agent, model):
    """Every file of a table by name, with its newest version."""
    same = model.objects.filter(file_name=OuterRef("file_name")).order_by(*ORDER)
    newest = {name: Subquery(same.values(name)[:1]) for name in ("id", "size_bytes")}
    rows = model.objects.using(agent.db).values("file_name")
    return rows.annotate(versions=Count("id"), newest_id=newest["id"], size_bytes=newest["size_bytes"])


def _in_files(agent, model, rows, *, most=MAX_HITS):
    ids = [row["newest_id"] for row in rows]
    files = model.objects.using(agent.db).filter(id__in=ids).order_by("file_name").only("file_name", "content")
    return [
        finding
        for file in files.iterator(10)
        for finding in lint_named_text(FILE, file.file_name, file.file_name, file.content, agent.agent_id, most)
    ]
