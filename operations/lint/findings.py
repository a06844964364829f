"""Findings in schedules and files of an agent, by page."""

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

JOBS = 1_000  # maximum of jobs that the first page checks
FILES = 100  # of a page
BUDGET_BYTES = 4_000_000  # of the files of a page


@dataclass(slots=True)
class FindingsPage:
    """The findings of a page of files; those of the jobs are on the first page."""

    files: Page
    findings: list[Finding] = field(default_factory=list)
    job_count: int = 0
    has_more_jobs: bool = False


def read_page(agent: Agent, **place: Any) -> FindingsPage:
    """The findings of a page of files by name, after those of the jobs.

    Files are checked in their newest version; the first page includes the jobs. `place` is as for `page_of`; a page
    ends early when its files are big.
    """
    place.setdefault("size", FILES)
    rows = _find_newest(agent, WorkspaceFile)
    files = page_of(rows, order=("file_name",), **place, budget=BUDGET_BYTES, weigh=lambda row: row["size_bytes"] or 0)
    result = FindingsPage(files)
    if files.previous is None and not place.get("after"):
        jobs = list(_find_jobs(agent)[: JOBS + 1])
        result.job_count, result.has_more_jobs = len(jobs[:JOBS]), len(jobs) > JOBS
        result.findings += [finding for job in jobs[:JOBS] for finding in lint_job(job)]
        result.findings += _lint_files(agent, FileSnapshot, _find_newest(agent, FileSnapshot))
    result.findings += _lint_files(agent, WorkspaceFile, files)
    return result


def find_all(agent: Agent) -> Iterator[Finding]:
    """Yield all findings of an agent: jobs by name, then files by name."""
    for job in _find_jobs(agent).iterator(500):
        yield from lint_job(job, most=None)
    for model in (FileSnapshot, WorkspaceFile):
        after = None
        while True:
            rows = page_of(_find_newest(agent, model), order=("file_name",), after=after, size=FILES)
            yield from _lint_files(agent, model, rows, most=None)
            if rows.next is None:
                break
            after = rows.next


def as_hits(findings: Iterable[Finding]) -> Iterator[Hit]:
    """Convert findings to those of files on disk.

    `file` is `cron/<id of the job>`, or the file's name in the workspace.
    """
    for finding in findings:
        file = f"cron/{finding.id}" if finding.kind == JOB else finding.id
        yield Hit(file, finding.hit.line, finding.hit.rule, finding.hit.text, finding.hit.better)


def _find_jobs(agent):
    return CronJob.objects.filter(agent_id=agent.agent_id).exclude(id="").defer("job_json").order_by("name", "id")


def _find_newest(agent, model):
    """The files of a table by name, each with its newest version."""
    same = model.objects.filter(file_name=OuterRef("file_name")).order_by(*ORDER)
    newest = {name: Subquery(same.values(name)[:1]) for name in ("id", "size_bytes")}
    rows = model.objects.using(agent.db).values("file_name")
    return rows.annotate(versions=Count("id"), newest_id=newest["id"], size_bytes=newest["size_bytes"])


def _lint_files(agent, model, rows, *, most=MAX_HITS):
    ids = [row["newest_id"] for row in rows]
    files = model.objects.using(agent.db).filter(id__in=ids).order_by("file_name").only("file_name", "content")
    return [
        finding
        for file in files.iterator(10)
        for finding in lint_named_text(FILE, file.file_name, file.file_name, file.content, agent.agent_id, most)
    ]
