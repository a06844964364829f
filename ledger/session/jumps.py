"""From one turn, error, compaction or tool call of a session to the next."""

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


def find_target(reach: BranchRecords, kind: str, seq: int, *, backwards: bool) -> str | None:
    """The id of the nearest record of a kind after (or before) `seq` on a way; None when there is none."""
    look = reach.before if backwards else reach.after
    rows = look(seq, 1, "seq", only=CONDITIONS[kind])
    if not rows:
        return None
    return reach.session.identities.filter(seq=rows[0]["seq"]).values_list("event_id", flat=True).first()


def build_address(reach: BranchRecords, *, record_id: str | None = None, seq: int = 0, backwards: bool = False) -> str:
    """Where a record is on a way; without one, the place that was looked from."""
    asked = {"branch": reach.branch} if reach.branch else {}
    if record_id is None:
        if backwards:
            asked["after"] = max(min(seq, reach.session.record_count) - 1, 0)
        else:
            asked["before"] = min(max(seq, 0) + 1, reach.session.record_count)
        return f"{reach.session.get_absolute_url()}?{urlencode(asked)}"
    asked["record"] = record_id
    return f"{reach.session.get_absolute_url()}?{urlencode(asked)}#r-{quote(record_id, safe='')}"
