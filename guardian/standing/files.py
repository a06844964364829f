"""The memory files of a workspace that OpenClaw may put into prompts, as they are now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db.models import OuterRef, Subquery

from agents.homes import NotReadable, open_regular
from agents.models import Agent
from ledger.models import IndexedFile, PromptReport, Session
from openclaw_web.sqlite.json_columns import decode

from ..collectors.workspace import LOWER_CASE
from ..files import MEMORY_FILES, MOST_BYTES
from ..models import FileSnapshot
from ..services import hash_content

# The files that OpenClaw leaves out of prompts when their record says untrusted.
GUARDED = ("MEMORY.md", "USER.md")
MOST_DATABASES = 10  # of one agent that hold memory indexes


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """A memory file as it is now.

    `chars` as OpenClaw counts them, `changed_at` in milliseconds.
    """

    is_there: bool = False
    is_readable: bool = True
    is_linked: bool = False  # a link, or a file with a second name
    sha256: str = ""
    chars: int = 0
    changed_at: int = 0


def get_spellings(name: str) -> tuple[str, ...]:
    """Return the names that a file may have in a workspace, the usual one first."""
    return (name, LOWER_CASE) if name == MEMORY_FILES[0] else (name,)


def read_files(agent: Agent, names: Sequence[str]) -> dict[str, CurrentFile]:
    """Read files of the agent's workspace, or their newest stored versions.

    Stored versions are used where the workspace is not on this machine.
    """
    folder = Path(agent.workspace) if agent.workspace else None
    if folder is None or not folder.is_dir():
        versions = FileSnapshot.objects.using(agent.db)
        newest = versions.filter(file_name=OuterRef("file_name")).order_by("-created_at", "-id").values("id")[:1]
        rows = {row.file_name: row for row in versions.filter(file_name__in=names, id=Subquery(newest))}
        return {name: _from_version(rows[name]) if name in rows else CurrentFile() for name in names}
    return {name: _read_file(folder, name) for name in names}


def _read_file(folder, name):
    for spelling in get_spellings(name):
        path = folder / spelling
        is_linked = False
        try:
            stat = path.lstat()
            is_linked = path.is_symlink() or stat.st_nlink > 1
            with open_regular(folder, path) as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            continue
        except (NotReadable, OSError):
            return CurrentFile(is_there=True, is_readable=False, is_linked=is_linked)
        return CurrentFile(True, True, False, hash_content(data), count_chars(data), stat.st_mtime_ns // 1_000_000)
    return CurrentFile()


def _from_version(row):
    return CurrentFile(True, True, False, row.content_hash, count_chars(row.content.encode()), row.created_at)


def count_search_chunks(agent: Agent, name: str) -> int | None:
    """Return how many chunks of a file the agent's memory search holds; None without any."""
    rows, database = IndexedFile.objects.using(agent.db), ""
    for _number in range(MOST_DATABASES):  # one step in the index for each database
        later_databases = rows.filter(database__gt=database).order_by("database").values_list("database", flat=True)
        if (database := later_databases.first() or "") == "":
            return None
        counts = rows.filter(database=database, source="memory", path=name).values_list("chunk_count", flat=True)
        if (count := next(iter(counts[:1]), None)) is not None:
            return count
    return None


def count_chars(data: bytes) -> int:
    """Count the characters of a file as OpenClaw does: UTF-16 units, without blanks at the end."""
    return len(data.decode(errors="replace").rstrip().encode("utf-16-le")) // 2


# Kinds of sessions whose prompts leave out memory files for reasons of their own.
OTHER_KINDS = ("cron", "subagent", "hook", "acp", "group", "channel", "room", "thread")
OTHER_PARTS = frozenset({"cron", "subagent", "hook", "acp", "heartbeat", "boot"})
GROUPS = ("group", "channel", "room", "thread")  # no set: a damaged entry may hold a list
ALWAYS_LISTED = frozenset({"AGENTS.md", "SOUL.md"})  # of a whole prompt, even where they are missing
SESSIONS_ASKED, REPORTS_READ, SESSIONS_COMPARED = 200, 5, 1_000
COLUMNS = ("id", "session_key", "metadata", "last_activity_at", "prompt_report_id")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file in a report."""

    raw_chars: int = 0
    injected_chars: int = 0
    is_cut: bool = False
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """The files of one prompt by name, with its time in milliseconds and its session."""

    at: int
    session_id: str
    session_key: str
    files: dict[str, FileEntry] = field(default_factory=dict)


def find_newest_report(agent: Agent) -> PromptFiles | None:
    """Return the newest report of an ordinary session in the agent's workspace; None without one."""
    rows = Session.objects.using(agent.db).filter(prompt_report__isnull=False).exclude(origin__in=OTHER_KINDS)
    rows = rows.order_by("-last_activity_at", "-id").values_list(*COLUMNS)[:SESSIONS_ASKED]
    prompts = sorted(filter(None, (_read_prompt(agent, *row) for row in rows)), key=itemgetter(0), reverse=True)
    for at, session_id, session_key, report_id in prompts[:REPORTS_READ]:
        report = PromptReport.objects.using(agent.db).filter(id=report_id).first()
        files = read_report_files(report.report) if report else {}
        if not ALWAYS_LISTED.isdisjoint(files):
            return PromptFiles(at, session_id, session_key, files)
    return None


def list_prompt_files(agent: Agent, session: Session, usual: Sequence[str]) -> Sequence[str]:
    """The files in the prompts of a session: those of its report, else the usual ones of an ordinary session.

    None of a sandbox or another workspace, whose files are not the agent's.
    """
    metadata = decode(session.metadata) if session.metadata else {}
    if _find_prompt(agent, metadata) is None:
        return ()
    report = session.prompt_report.report if session.prompt_report else {}
    if isinstance(report.get("files"), list):
        return [name for name, entry in _read_entries(report) if not entry.is_missing]
    is_usual = session.origin not in OTHER_KINDS and _is_ordinary(session.session_key, metadata)
    return usual if is_usual else ()


def was_in_workspace(agent: Agent, at: int | None) -> bool:
    """Return whether the prompt nearest to a moment was in the agent's present workspace.

    True where no prompt says otherwise.
    """
    rows = Session.objects.using(agent.db).filter(prompt_report__isnull=False).order_by("-last_activity_at", "-id")
    distances = []
    for metadata in rows.values_list("metadata", flat=True)[:SESSIONS_COMPARED]:
        prompt = decode(metadata).get("prompt") if metadata else None
        if isinstance(prompt, dict) and isinstance(prompt.get("at"), int) and prompt.get("workspace"):
            distances.append((abs(prompt["at"] - (at or 0)), prompt["workspace"]))
    nearest = min(distances, default=(0, agent.reported_workspace))
    return not agent.reported_workspace or nearest[1] == agent.reported_workspace


def _read_prompt(agent, session_id, session_key, metadata, last_activity_at, report_id):
    """Return the time of a session's last prompt, the session, and its report.

    None unless the prompt is an ordinary one.
    """
    metadata_fields = decode(metadata) if metadata else {}
    prompt = _find_prompt(agent, metadata_fields)
    if prompt is None or not _is_ordinary(session_key, metadata_fields):
        return None
    at = prompt.get("at")
    return at if isinstance(at, int) and at > 0 else last_activity_at, session_id, session_key or "", report_id


def _is_ordinary(session_key, metadata):
    return OTHER_PARTS.isdisjoint((session_key or "").split(":")) and metadata.get("chatType") not in GROUPS


def _find_prompt(agent, metadata):
    """A session's last prompt; None when it was in a sandbox or another workspace."""
    prompt = metadata.get("prompt") if isinstance(metadata.get("prompt"), dict) else {}
    workspace = prompt.get("workspace")
    is_elsewhere = bool(workspace and agent.reported_workspace and workspace != agent.reported_workspace)
    return None if is_elsewhere or prompt.get("isSandboxed") else prompt


def read_report_files(report: dict[str, Any]) -> dict[str, FileEntry]:
    """Return the files of a report about a prompt, by name."""
    return dict(_read_entries(report))


def _read_entries(report: dict[str, Any]):
    files = report.get("files")
    for item in files if isinstance(files, list) else ():
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            numbers = (_read_number(item.get("rawChars")), _read_number(item.get("injectedChars")))
            yield item["name"], FileEntry(*numbers, item.get("truncated") is True, item.get("missing") is True)


def _read_number(value):
    return value if isinstance(value, int) and value >= 0 else 0
