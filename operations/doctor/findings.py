"""What a doctor says: one sentence about one thing, and whether `--fix` mends it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web.pages.formatting import listed

# A finding makes the doctor end with 1, a note does not.
FINDING, NOTE = "finding", "note"
NAMED = 3  # rows that a sentence names


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. `check` is a word that programs may rely on."""

    check: str
    sentence: str
    path: str = ""
    level: str = FINDING
    repair: str = ""  # the name of a function of operations.doctor.repairs; empty: a person has to look
    agent: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "level": self.level,
            "sentence": self.sentence,
            "path": self.path,
            "agent": self.agent,
            "is_repairable": bool(self.repair),
        }


def about_rows(
    check: str, sentence: str, agent: Agent, names: Iterable[str], *, level: str = FINDING, repair: str = ""
) -> Finding:
    """A finding about rows of an agent: `sentence` has their `count`, the `agent`, and some of them as `named`."""
    names = list(names)
    named = names[:NAMED] + ([_("%(count)s more") % {"count": f"{len(names) - NAMED:,}"}] if len(names) > NAMED else [])
    words = {"count": f"{len(names):,}", "agent": agent.agent_id, "named": listed(named)}
    return Finding(check, sentence % words, level=level, repair=repair, agent=agent.agent_id)
