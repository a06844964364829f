"""The files of an agent's workspace and their versions, for pages and the API."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max

from agents.models import Agent
from ledger.lists import facets
from ledger.models import PromptReport, Session
from openclaw_web.lists.paging import Page, page_of

from . import services
from .files import MEMORY_FILES
from .models import FileSnapshot, WorkspaceFile

ALWAYS_FIRST = (*MEMORY_FILES, "AGENTS.md", "HEARTBEAT.md")
ORDER = ("-created_at", "-id")
NOTES = "memory/"  # the folder of daily notes
COUNTED_UP_TO = 1_000
SESSIONS_ASKED = 50  # for a session with a report about its prompt


@dataclass(slots=True)
class File:
    """One file of a workspace.

    `in_prompt` is the state of the file in the newest session with a report: "read", "cut", "missing", or "" when no
    session has one. A file without versions was never seen, and has no size and no time.
    """

    name: str
    version_count: int = 0
    changed_at: int | None = None
    size_bytes: int | None = None
    in_prompt: str = ""
    standing: Any = None  # with OpenClaw, of a memory file

    @property
    def is_memory(self):
        """Whether memory writes go to it."""
        return self.name in MEMORY_FILES


def get_model(name: str) -> type[FileSnapshot] | type[WorkspaceFile]:
    """Return the table that holds the versions of a file."""
    return FileSnapshot if name in MEMORY_FILES else WorkspaceFile


def find_versions(agent: Agent, name: str):
    return get_model(name).objects.using(agent.db).filter(file_name=name).defer("content")


def find_version(agent: Agent, version_id: str):
    """Return one version of any file with its content; None when there is none."""
    snapshot = FileSnapshot.objects.using(agent.db).filter(id=version_id).first()
    return snapshot or WorkspaceFile.objects.using(agent.db).filter(id=version_id).first()


def find_previous(version):
    """Return the version before this one, with its content; None for the first one."""
    held_versions = services.find_held_versions(version._state.db, version.file_name).filter(
        created_at__lte=version.created_at
    )
    return held_versions.exclude(created_at=version.created_at, id__gte=version.id).order_by(*ORDER).first()


def find_newest(agent: Agent, name: str):
    """Return the newest version that a file held, with its content; None without one."""
    return services.find_held_versions(agent.db, name).order_by(*ORDER).first()


def find_memory_names(agent: Agent) -> list[str]:
    """Return the memory files that have a version, in the order of MEMORY_FILES."""
    seen = facets.read_values(agent.db, ["file_name"], FileSnapshot._meta.db_table)["file_name"]
    return [name for name in MEMORY_FILES if name in seen]


def read_first_files(agent: Agent) -> list[File]:
    """Return the five memory files, and the known files that every session reads.

    The memory files are there even if they were never seen.
    """
    summed = (_add_sizes(agent, model, _sum_versions(agent, model, True)) for model in (FileSnapshot, WorkspaceFile))
    seen = {row["file_name"]: row for rows in summed for row in rows}
    files = [File(**_file_fields(seen[name])) if name in seen else File(name) for name in ALWAYS_FIRST]
    files = [file for file in files if file.version_count or file.is_memory]
    prompt_states = _read_prompt_states(agent)
    for file in files:
        file.in_prompt = prompt_states.get(file.name, "")
    return files


def read_other_files(agent: Agent, *, notes: bool | None = None, **place: Any) -> Page:
    """Return a page of the other files, the latest name first.

    The names of daily notes are their days. `place`: see page_of. `notes`: only the daily notes, or only the other
    files.
    """
    rows = _sum_versions(agent, WorkspaceFile, False)
    if notes is not None:
        rows = rows.filter(file_name__startswith=NOTES) if notes else rows.exclude(file_name__startswith=NOTES)
    row_page = page_of(rows, order=("-file_name",), **place)
    page = Page(File(**_file_fields(row)) for row in _add_sizes(agent, WorkspaceFile, row_page))
    page.next, page.previous = row_page.next, row_page.previous
    return page


def count_notes(agent: Agent) -> int:
    """Count the daily notes, up to one more than COUNTED_UP_TO."""
    rows = WorkspaceFile.objects.using(agent.db).filter(file_name__startswith=NOTES)
    return rows.values("file_name").distinct()[: COUNTED_UP_TO + 1].count()


def _sum_versions(agent, model, is_first):
    rows = model.objects.using(agent.db)
    rows = rows.filter(file_name__in=ALWAYS_FIRST) if is_first else rows.exclude(file_name__in=ALWAYS_FIRST)
    return rows.values("file_name").annotate(version_count=Count("*"), changed_at=Max("created_at"))


def _add_sizes(agent, model, summed):
    """Add to summed rows of files the size of the newest version of each.

    Sizes are not read for every version.
    """
    rows = list(summed)
    names, moments = ([row[key] for row in rows] for key in ("file_name", "changed_at"))
    newest = model.objects.using(agent.db).filter(file_name__in=names, created_at__in=moments)
    columns = ("id", "file_name", "created_at", "size_bytes")
    sizes = {(name, at): size for _id, name, at, size in sorted(newest.values_list(*columns))}
    return [row | {"size_bytes": sizes[row["file_name"], row["changed_at"]]} for row in rows]


def _file_fields(row):
    return {"name": row["file_name"], **{key: row[key] for key in ("version_count", "changed_at", "size_bytes")}}


def _read_prompt_states(agent):
    """Return the state of each file in the newest session with a prompt report."""
    latest = (
        Session.objects.using(agent.db).order_by("-last_activity_at", "-id").values_list("prompt_report_id", flat=True)
    )
    report_id = next(filter(None, latest[:SESSIONS_ASKED]), None)
    report = PromptReport.objects.using(agent.db).filter(id=report_id).first() if report_id else None
    files = report.report.get("files") if report else None
    named = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return {file["name"]: _read_state(file) for file in named if isinstance(file.get("name"), str)}


def _read_state(file):
    if file.get("missing") is True:
        return "missing"
    return "cut" if file.get("truncated") is True else "read"
