"""The files of an agent's workspace and their versions, as pages and the API read them."""

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
SESSIONS_ASKED = 50  # for a session that says what its prompt held


@dataclass(slots=True)
class File:
    """One file of a workspace. `in_prompt` is what the last session that says so did with it: "read", "cut", "missing"
    or "" when no session says; without a version it was never seen and has no size and no time.
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
    """The table that holds the versions of a file."""
    return FileSnapshot if name in MEMORY_FILES else WorkspaceFile


def find_versions(agent: Agent, name: str):
    """The versions of one file, without their contents."""
    return get_model(name).objects.using(agent.db).filter(file_name=name).defer("content")


def find_version(agent: Agent, version_id: str):
    """One version with its content, of whatever file; None when there is none."""
    found = FileSnapshot.objects.using(agent.db).filter(id=version_id).first()
    return found or WorkspaceFile.objects.using(agent.db).filter(id=version_id).first()


def find_previous(version):
    """What the same file held before `version`, with its content; None where that is the first one."""
    held = services.find_held_versions(version._state.db, version.file_name).filter(created_at__lte=version.created_at)
    return held.exclude(created_at=version.created_at, id__gte=version.id).order_by(*ORDER).first()


def find_newest(agent: Agent, name: str):
    """The newest version that a file held, with its content; None when there is none."""
    return services.find_held_versions(agent.db, name).order_by(*ORDER).first()


def find_memory_names(agent: Agent) -> list[str]:
    """The memory files of which there is a version, in the order of MEMORY_FILES."""
    seen = facets.read_values(agent.db, ["file_name"], FileSnapshot._meta.db_table)["file_name"]
    return [name for name in MEMORY_FILES if name in seen]


def count_versions(versions) -> int:
    """How many versions there are, one more than COUNTED_UP_TO at most."""
    return versions.order_by().values("id")[: COUNTED_UP_TO + 1].count()


def read_first_files(agent: Agent) -> list[File]:
    """The five memory files, seen or not, and the files that every session reads, as far as they were seen."""
    summed = (_with_sizes(agent, model, _summed(agent, model, True)) for model in (FileSnapshot, WorkspaceFile))
    seen = {row["file_name"]: row for rows in summed for row in rows}
    files = [File(**_named(seen[name])) if name in seen else File(name) for name in ALWAYS_FIRST]
    files = [file for file in files if file.version_count or file.is_memory]
    said = _said_of_prompts(agent)
    for file in files:
        file.in_prompt = said.get(file.name, "")
    return files


def read_other_files(agent: Agent, *, notes: bool | None = None, **place: Any) -> Page:
    """A page of the other files, the latest name first: notes of days are named after them. `place`: see page_of.

    `notes`: only the daily notes, or only what is none.
    """
    rows = _summed(agent, WorkspaceFile, False)
    if notes is not None:
        rows = rows.filter(file_name__startswith=NOTES) if notes else rows.exclude(file_name__startswith=NOTES)
    found = page_of(rows, order=("-file_name",), **place)
    page = Page(File(**_named(row)) for row in _with_sizes(agent, WorkspaceFile, found))
    page.next, page.previous = found.next, found.previous
    return page


def count_notes(agent: Agent) -> int:
    """How many daily notes there are, one more than COUNTED_UP_TO at most."""
    rows = WorkspaceFile.objects.using(agent.db).filter(file_name__startswith=NOTES)
    return rows.values("file_name").distinct()[: COUNTED_UP_TO + 1].count()


def _summed(agent, model, is_first):
    rows = model.objects.using(agent.db)
    rows = rows.filter(file_name__in=ALWAYS_FIRST) if is_first else rows.exclude(file_name__in=ALWAYS_FIRST)
    return rows.values("file_name").annotate(version_count=Count("*"), changed_at=Max("created_at"))


def _with_sizes(agent, model, summed):
    """Summed rows of files with the size of the newest version of each: not read for each version they had."""
    rows = list(summed)
    names, moments = ([row[key] for row in rows] for key in ("file_name", "changed_at"))
    newest = model.objects.using(agent.db).filter(file_name__in=names, created_at__in=moments)
    columns = ("id", "file_name", "created_at", "size_bytes")
    sizes = {(name, at): size for _id, name, at, size in sorted(newest.values_list(*columns))}
    return [row | {"size_bytes": sizes[row["file_name"], row["changed_at"]]} for row in rows]


def _named(row):
    return {"name": row["file_name"], **{key: row[key] for key in ("version_count", "changed_at", "size_bytes")}}


def _said_of_prompts(agent):
    """What the last session that has a report about its prompt says of each file."""
    latest = (
        Session.objects.using(agent.db).order_by("-last_activity_at", "-id").values_list("prompt_report_id", flat=True)
    )
    report_id = next(filter(None, latest[:SESSIONS_ASKED]), None)
    report = PromptReport.objects.using(agent.db).filter(id=report_id).first() if report_id else None
    files = report.report.get("files") if report else None
    named = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return {file["name"]: _state(file) for file in named if isinstance(file.get("name"), str)}


def _state(file):
    if file.get("missing") is True:
        return "missing"
    return "cut" if file.get("truncated") is True else "read"
