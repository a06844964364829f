"""What a doctor says: one sentence about one thing, and whether `--fix` mends it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

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


def first_of(names: Iterable[str]) -> list[str]:
    """The first of some names, and how many more there are."""
    names = list(names)
    rest = len(names) - NAMED
    return names[:NAMED] + ([_("%(count)s more") % {"count": f"{rest:,}"}] if rest > 0 else [])
