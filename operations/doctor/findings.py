"""Findings of the doctor: a sentence each, and whether `--fix` repairs it."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite.integrity import WrongRows

# A finding makes the doctor end with 1, a note does not.
FINDING, NOTE = "finding", "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that the doctor found. Programs may rely on the word `check`."""

    check: str
    sentence: str
    path: str = ""
    level: str = FINDING
    repair: str = ""  # the name of a function of operations.doctor.repairs; empty: a person has to look
    agent: str = ""

    def as_json(self) -> dict[str, Any]:
        names = ("check", "level", "sentence", "path", "agent")
        return {name: getattr(self, name) for name in names} | {"is_repairable": bool(self.repair)}


def format_names(rows: WrongRows) -> str:
    """Names of the first rows, and the number of the others."""
    rest = rows.count - len(rows.first)
    return listed([*rows.first, *([_("%(count)s more") % {"count": f"{rest:,}"}] if rest else [])])


def format_place(agent_id: str) -> str:
    """The owner of rows in a sentence: an agent, or this site."""
    return _("agent %(agent)s") % {"agent": agent_id} if agent_id else _("this site")
