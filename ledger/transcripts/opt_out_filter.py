"""Finds the records of a session that are withheld while somebody has opted out.

These are messages of such a person, records that follow them, and records that may quote them.
"""

from typing import Any

from ..collectors.senders import WithheldReason, find_withheld_reason
from ..models import Session
from . import origins
from .rows import Row
from .turns import KnownNodes

SUMMARIES = ("compaction", "branch_summary")
SUMMARY_ROLES = ("compactionSummary", "branchSummary")


class OptOutFilter:
    """Decides which records of one session are withheld; it reads them in their order.

    `session_key` is that of a session that no index has named.
    """

    def __init__(self, session: Session, known: KnownNodes, opted_out: frozenset[str], session_key: str = ""):
        self.opted_out = opted_out
        self.hidden = {record_id for record_id, (_, _, kind, _) in known.items() if kind == "withheld"}
        named = session if session.session_key or not session_key else Session(session_key=session_key)
        self.is_group = bool(opted_out) and origins.is_group(named)

    def find_reason(self, row: Row, record: dict[str, Any]) -> WithheldReason | None:
        """The reason why this record is withheld; None when it is stored."""
        return self._check(row, record) if self.opted_out else None

    def hide(self, row: Row) -> None:
        """Note a withheld record: its answers are withheld too."""
        self.hidden.add(row.record_id)

    def _check(self, row, record):
        if row.facts.kind == "user":
            return find_withheld_reason(row.facts.sender, row.facts.envelope, self.opted_out, is_group=self.is_group)
        # A summary is of records that need not be parents of it.
        follows = row.parent_id in self.hidden or (self.hidden and _is_summary(row.facts.kind, record))
        return WithheldReason.ANSWER if follows else None


def _is_summary(kind, record):
    message = record.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return kind in SUMMARIES or role in SUMMARY_ROLES
