"""What a rollback does to one file, and how an intent remembers it."""

from dataclasses import asdict, dataclass

import orjson

from .planning import hash_of


@dataclass(frozen=True, slots=True)
class Take:
    """A write that is taken back as a whole. `restored_id`: the version that comes back with it, where one does."""

    audit_id: str
    rollback_id: str
    way: str
    restored_id: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants a rollback, why, and what is taken back; `own_id` is the rollback's own id as a write."""

    by: str
    reason: str
    at: int
    own_id: str
    takes: tuple[Take, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Asked":
        """As an intent holds it."""
        told = orjson.loads(text)
        return cls(**told | {"takes": tuple(Take(**take) for take in told["takes"])})

    def as_text(self) -> str:
        """For an intent."""
        return orjson.dumps(asdict(self)).decode()


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a rollback: what it holds and will hold (None: no file), and the writes that this takes back.

    `audit_ids` are those it is about; of a write of which only a hunk goes there is no `Take`.
    """

    name: str
    now: bytes | None
    wanted: bytes | None
    audit_ids: tuple[str, ...]
    takes: tuple[Take, ...]

    @property
    def now_hash(self) -> str:
        """The hash of what it holds; empty: no file."""
        return hash_of(self.now)
