"""The content of OpenClaw folders: of one that an admin types, and of imported ones. Nothing is stored here."""

import stat
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from django import forms
from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import homes, unread_parts
from agents.claims import resolve_names
from agents.layout.home_agents import read_home
from agents.layout.places import find_access_problem
from agents.models import Agent, CollectorSource, SkippedSource
from guardian.files import MEMORY_FILES
from guardian.standing import State
from openclaw_web.errors import Refused
from overview.models import AgentSummary, MemoryStanding

from .inventory.words import REASON_WORDS

LONGEST_PATH = 1_000  # characters
MOST_AGENTS = 200  # shown


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent of a folder: its transcripts or imported sessions, and its memory files by name."""

    name: str
    count: int
    has_database: bool
    workspace: str
    memory_files: tuple[str, ...]
    missing_files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundHome:
    """The content of a folder: `notes` are sentences about what is not read, and about a broken configuration."""

    root: str
    agents: list[FoundAgent]
    agent_count: int
    notes: list[str]


class FolderForm(forms.Form):
    """The folder of an OpenClaw on this machine, and another name for its agents."""

    folder = forms.CharField(label=gettext_lazy("Folder"), max_length=LONGEST_PATH)
    name = forms.CharField(label=gettext_lazy("Another name for its agents"), max_length=100, required=False)


def find_home(folder: str, as_name: str = "") -> FoundHome:
    """Check what is in a folder, without opening transcripts; its agents have the names that an import gives them.

    Raises Refused when it is no real folder that this process may read, or no home of OpenClaw, and when another folder
    has an agent of such a name. `as_name` is another name, as for `resolve_names`.
    """
    root = Path(folder)
    if not root.is_absolute() or ".." in root.parts or "\0" in folder:
        raise Refused(_("Write the whole path of the folder, from / on, without “..”."))
    for part in reversed((root, *root.parents)):
        try:
            mode = part.lstat().st_mode
        except OSError as exc:
            raise Refused(find_access_problem(part) or _("There is no folder %(path)s.") % {"path": folder}) from exc
        if not stat.S_ISDIR(mode):
            raise Refused(_("%(path)s is a link or no folder. Write the path of the folder itself.") % {"path": part})
    home = read_home(root)
    names = resolve_names(home, as_name=as_name or None)
    notes = [*home.problems, *home.notes]
    agents = [_look_at(agent, names[agent.home_name], notes) for agent in home.agents[:MOST_AGENTS]]
    return FoundHome(str(root), agents, len(home.agents), notes)


def _look_at(agent, name, notes):
    paths = [path for folder in agent.session_folders for path in homes.list_names(folder, notes)]
    files = {name for place in agent.workspaces for name in MEMORY_FILES if homes.stat_regular(place / name)}
    return FoundAgent(
        name,
        sum(".jsonl" in path for path in paths),
        bool(agent.databases),
        str(agent.workspace or agent.written),
        *_split(files),
    )


def read_imported_homes() -> list[FoundHome]:
    """Read what imports found in each folder, from the rows that they stored and the files that are still there."""
    sources = CollectorSource.objects.order_by("root", "path")
    counts = dict(AgentSummary.objects.values_list("agent_id", "session_count"))
    workspaces = dict(Agent.objects.values_list("agent_id", "workspace"))
    databases = set(sources.filter(kind=CollectorSource.Kind.DATABASE).values_list("agent_id", flat=True))
    agents, files = defaultdict(list), defaultdict(set)
    for name, file in MemoryStanding.objects.exclude(state=State.MISSING).values_list("agent_id", "file_name"):
        files[name].add(file)
    read = sources.filter(kind=CollectorSource.Kind.WORKSPACE_FILE).exclude(path__contains="/memory/")
    for name, root, path in read.values_list("agent_id", "root", "path"):
        if Path(root, path).is_file():  # prompts may be of another workspace than the one that has the file
            files[name].add(Path(path).name)
    for root, name in sources.filter(kind=CollectorSource.Kind.AGENT).values_list("root", "agent_id"):
        about = (counts.get(name, 0), name in databases, workspaces.get(name, ""))
        agents[root].append(FoundAgent(name, *about, *_split(files[name])))
    return [FoundHome(root, rows[:MOST_AGENTS], len(rows), _describe_unread(root)) for root, rows in agents.items()]


def count_left_out() -> list[tuple[str, str, int]]:
    """Count what the last imports skipped: reasons with their words, the most frequent first."""
    reasons = SkippedSource.objects.values_list("reason").annotate(count=Count("source_key"))
    return [(reason, REASON_WORDS.get(reason, reason), count) for reason, count in reasons.order_by("-count", "reason")]


def has_plugin_files() -> bool:
    """Return whether an import read a log or a database of the Reflection plugin."""
    logs = (CollectorSource.Kind.REFLECTION_LOG, CollectorSource.Kind.GUARDIAN_LOG)
    return CollectorSource.objects.filter(Q(kind__in=logs) | Q(path__endswith="/reflection.db")).exists()


def _describe_unread(root):
    sentences = (unread_parts.describe_unread(*parts) for parts in unread_parts.find_parts(Path(root)).items())
    return [sentence for sentence in sentences if sentence]


def _split(files):
    """Return the memory files that are among some files, and those that are not."""
    present = tuple(name for name in MEMORY_FILES if name in files)
    return present, tuple(name for name in MEMORY_FILES if name not in files)
