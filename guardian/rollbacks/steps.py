"""What a rollback, or a write of our own guardian, does to one file, and how an intent remembers it."""

from dataclasses import dataclass, field
from typing import Any

from ulid import ULID

from .rollback_plan import hash_content

NOBODY = {"by": "", "reason": "", "at": 0, "own_id": "", "place": ""}


@dataclass(frozen=True, slots=True)
class Reversal:
    """A write that is taken back as a whole. `restored_id`: the version that comes back with it, where one does.

    `effect`: what was accepted to happen to the file's place in the prompt; empty: nothing happens to it.
    """

    audit_id: str
    rollback_id: str
    way: str
    restored_id: str | None = None
    effect: str = ""


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """A write of our own guardian: the run that it comes from, and the columns that its row has of it."""

    run_id: str
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntentDetails:
    """Who wants a rollback, why, and what is taken back; `own_id` is the rollback's own id as a write, `place` the
    workspace.

    With `own` it is no rollback but a write of our guardian; with `is_put` what an agent wrote is put into the file.
    """

    by: str
    reason: str
    at: int
    own_id: str
    place: str
    takes: tuple[Reversal, ...] = ()
    own: OwnWrite | None = None
    is_put: bool = False

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "IntentDetails":
        """As an intent holds it; without a place, which nobody can open, when that is no JSON."""
        own, takes = told.get("own"), tuple(Reversal(**take) for take in told.get("takes", ()))
        return cls(**NOBODY | told | {"takes": takes, "own": OwnWrite(**own) if own else None})


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a rollback: what it holds and will hold (None: no file), and the writes that this takes back.

    `audit_ids` are those it is about; of a write of which only a hunk goes there is no `Take`.
    """

    name: str
    now: bytes | None
    wanted: bytes | None
    audit_ids: tuple[str, ...]
    takes: tuple[Reversal, ...]
    own: OwnWrite | None = None
    is_put: bool = False
    own_id: str = field(default_factory=lambda: str(ULID()))  # its own as a write

    @property
    def now_hash(self) -> str:
        """The hash of what it holds; empty: no file."""
        return hash_content(self.now)
