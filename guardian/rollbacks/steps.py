"""Steps of a rollback or of a guardian's write, and how intents store them."""

from dataclasses import dataclass, field
from typing import Any

from ulid import ULID

from .rollback_plan import hash_content

NOBODY = {"by": "", "reason": "", "at": 0, "own_id": "", "place": ""}


@dataclass(frozen=True, slots=True)
class Reversal:
    """A write that is taken back as a whole.

    `restored_id` is the version that comes back with it, where one does. `effect` is what was accepted to happen to the
    file's place in the prompt; empty: nothing happens to it.
    """

    audit_id: str
    rollback_id: str
    way: str
    restored_id: str | None = None
    effect: str = ""


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """A write of the built-in guardian: its run, and the columns from that run."""

    run_id: str
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntentDetails:
    """Details of an intent: its author, its reason and the writes it takes back.

    `own_id` is the rollback's own id as a write, `place` the workspace. With `own` it is no rollback but a write of the
    built-in guardian; with `is_put` what an agent wrote is put into the file.
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
    def from_json(cls, stored: dict[str, Any]) -> "IntentDetails":
        """Read the details that an intent stores as JSON.

        Where that is no JSON the details have no place, so that nobody can open one.
        """
        own, takes = stored.get("own"), tuple(Reversal(**take) for take in stored.get("takes", ()))
        return cls(**NOBODY | stored | {"takes": takes, "own": OwnWrite(**own) if own else None})


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a rollback, and the writes that it takes back.

    `now` and `new_content` are what the file holds and will hold (None: no file). `audit_ids` are the writes that it is
    about; a write of which only a hunk is taken out has no `Reversal`.
    """

    name: str
    now: bytes | None
    new_content: bytes | None
    audit_ids: tuple[str, ...]
    takes: tuple[Reversal, ...]
    own: OwnWrite | None = None
    is_put: bool = False
    own_id: str = field(default_factory=lambda: str(ULID()))  # its id as a write

    @property
    def now_hash(self) -> str:
        """The hash of what it holds; empty: no file."""
        return hash_content(self.now)
