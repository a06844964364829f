"""Jumps from one turn, error, compaction or tool call of a session to the next."""

from urllib.parse import quote, urlencode

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .branch_records import BranchRecords

CONDITIONS = {
    "turn": Q(kind="user"),
    "error": Q(is_failed=True),
    "compaction": Q(kind__in=("compaction", "branch_summary")),
    "tool": Q(tool_call_count__gt=0),
}
NO_TARGET_NOTICES = {
    "turn": (_("There is no later turn."), _("There is no earlier turn.")),
    "error": (_("There is no later error."), _("There is no earlier error.")),
    "compaction": (_("There is no later compaction."), _("There is no earlier compaction.")),
    "tool": (_("There is no later tool call."), _("There is no earlier tool call.")),
}


def find_target(records: BranchRecords, kind: str, seq: int, *, backwards: bool) -> str | None:
    """The id of the nearest record of a kind after (or before) `seq`, or None."""
    read = records.before if backwards else records.after
    return next((row["event_id"] for row in read(seq, 1, "event_id", only=CONDITIONS[kind])), None)


def build_address(
    records: BranchRecords, *, record_id: str | None = None, seq: int = 0, backwards: bool = False
) -> str:
    """The address of a record on a branch; without one, of the starting place."""
    parameters = {"branch": records.branch} if records.branch else {}
    if record_id is None:
        if backwards:
            parameters["after"] = max(min(seq, records.session.record_count) - 1, 0)
        else:
            parameters["before"] = min(max(seq, 0) + 1, records.session.record_count)
        return f"{records.session.get_absolute_url()}?{urlencode(parameters)}"
    parameters["record"] = record_id
    return f"{records.session.get_absolute_url()}?{urlencode(parameters)}#r-{quote(record_id, safe='')}"
