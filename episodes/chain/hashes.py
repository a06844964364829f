"""The hash of an event's texts, and the chain that each event adds a link to.

The salt makes the hash of texts useless to whoever guesses them, once redaction has destroyed it. Columns that stay
after a redaction are part of the link itself.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence

import orjson

from ..models import REDACTED

FORMAT = "openclaw-web.episodes.chain.v1"
START = hashlib.sha256(FORMAT.encode()).digest()  # the value of the chain before the first event
SALT_BYTES = 16
# The columns of a link, in its order, beside the number of the row.
LINKED = ("event_id", "ts_ms", "scope", "session_id", "agent_id", "type", "schema_version", "created_at")


def make_salt() -> bytes:
    """Return a new salt."""
    return secrets.token_bytes(SALT_BYTES)


def hash_content(salt: bytes, summary: str, payload_json: str | None, refs_json: str | None) -> bytes:
    """Return the hash of the texts of an event.

    Raises TypeError for values that no event can hold.
    """
    return hashlib.sha256(salt + orjson.dumps([FORMAT, summary, payload_json, refs_json])).digest()


# Of an event that was stored without texts: nothing has to be kept from a guess, and no redaction has to name it.
WITHHELD = hash_content(b"", REDACTED, None, None)


def hash_link(previous: bytes, row_id: int, columns: Sequence[object], content_hash: bytes) -> bytes:
    """Return the value of the chain after an event; `columns` are the values of LINKED.

    Raises TypeError for values that no event can hold.
    """
    return hashlib.sha256(previous + orjson.dumps([FORMAT, row_id, *columns]) + content_hash).digest()


def hash_gaps(gaps: Iterable[Sequence[object]]) -> str:
    """Return the hash of all gaps as hex.

    Each has its first id, last id, count, and the values of the chain before and after it. Values of other types have
    a hash as well: no run left it.
    """
    digest = hashlib.sha256(FORMAT.encode())
    for gap in gaps:
        digest.update(repr(tuple(gap)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
