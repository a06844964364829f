"""The folder that an admin types on the page, and what an import would find in it. Nothing is stored here."""

import stat
from dataclasses import dataclass
from pathlib import Path

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import homes
from agents.layout.home_agents import read_home
from agents.layout.places import find_access_problem
from guardian.files import MEMORY_FILES
from openclaw_web.errors import Refused

LONGEST_PATH = 1_000  # characters
MOST_AGENTS = 200  # shown


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent of a folder: its transcripts, whether it has a database, and its memory files by name."""

    name: str
    transcripts: int
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
    """The folder of an OpenClaw on this machine."""

    folder = forms.CharField(label=gettext_lazy("Folder"), max_length=LONGEST_PATH)


def find_home(folder: str) -> FoundHome:
    """Check what is in a folder, without opening transcripts.

    Raises Refused when it is no real folder that this process may read, or no home of OpenClaw.
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
    notes = [*home.problems, *home.notes]
    agents = [_look_at(agent, notes) for agent in home.agents[:MOST_AGENTS]]
    return FoundHome(str(root), agents, len(home.agents), notes)


def _look_at(agent, notes):
    names = [name for folder in agent.session_folders for name in homes.list_names(folder, notes)]
    files = {name for place in agent.workspaces for name in MEMORY_FILES if homes.stat_regular(place / name)}
    return FoundAgent(
        agent.home_name,
        sum(".jsonl" in name for name in names),
        bool(agent.databases),
        str(agent.workspace or agent.written),
        tuple(name for name in MEMORY_FILES if name in files),
        tuple(name for name in MEMORY_FILES if name not in files),
    )
