"""Amounts in words, singular and plural: `1 session`, `1,234 sessions`."""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import ngettext


class ngettext_lazy(Promise):
    """A singular and a plural text; the choice is made when values are filled in.

    `number` names the value that decides.
    """

    def __init__(self, singular: str, plural: str, number: str) -> None:
        self.singular, self.plural, self.number = singular, plural, number

    def __mod__(self, values: Mapping[str, Any]) -> str:
        return ngettext(self.singular, self.plural, values[self.number]) % values


WORDS = {
    "agents": ngettext_lazy("%(shown)s agent", "%(shown)s agents", "count"),
    "tasks": ngettext_lazy("%(shown)s task", "%(shown)s tasks", "count"),
    "bytes": ngettext_lazy("%(shown)s byte", "%(shown)s bytes", "count"),
    "characters": ngettext_lazy("%(shown)s character", "%(shown)s characters", "count"),
    "findings": ngettext_lazy("%(shown)s finding", "%(shown)s findings", "count"),
    "scan positions": ngettext_lazy("%(shown)s scan position", "%(shown)s scan positions", "count"),
    "contents": ngettext_lazy("%(shown)s artifact", "%(shown)s artifacts", "count"),
    "cron jobs": ngettext_lazy("%(shown)s scheduled task", "%(shown)s scheduled tasks", "count"),
    "databases": ngettext_lazy("%(shown)s database", "%(shown)s databases", "count"),
    "decisions": ngettext_lazy("%(shown)s decision", "%(shown)s decisions", "count"),
    "decisions or calls": ngettext_lazy("%(shown)s decision or call", "%(shown)s decisions or calls", "count"),
    "deliveries": ngettext_lazy("%(shown)s delivery", "%(shown)s deliveries", "count"),
    "diffs": ngettext_lazy("%(shown)s diff of a write", "%(shown)s diffs of writes", "count"),
    "files": ngettext_lazy("%(shown)s file", "%(shown)s files", "count"),
    "flows": ngettext_lazy("%(shown)s flow", "%(shown)s flows", "count"),
    "line breaks": ngettext_lazy("%(shown)s line break", "%(shown)s line breaks", "count"),
    "new records": ngettext_lazy("%(shown)s new record", "%(shown)s new records", "count"),
    "new sessions": ngettext_lazy("%(shown)s new session", "%(shown)s new sessions", "count"),
    "other findings": ngettext_lazy("%(shown)s other finding", "%(shown)s other findings", "count"),
    "outputs": ngettext_lazy("%(shown)s output", "%(shown)s outputs", "count"),
    "receipts": ngettext_lazy("%(shown)s receipt", "%(shown)s receipts", "count"),
    "records": ngettext_lazy("%(shown)s record", "%(shown)s records", "count"),
    "rejected lines": ngettext_lazy("%(shown)s rejected record", "%(shown)s rejected records", "count"),
    "repairs": ngettext_lazy("%(shown)s repair", "%(shown)s repairs", "count"),
    "rollbacks": ngettext_lazy("%(shown)s rollback", "%(shown)s rollbacks", "count"),
    "rows": ngettext_lazy("%(shown)s row", "%(shown)s rows", "count"),
    "runs": ngettext_lazy("%(shown)s run", "%(shown)s runs", "count"),
    "samples": ngettext_lazy("%(shown)s sample", "%(shown)s samples", "count"),
    "sessions": ngettext_lazy("%(shown)s session", "%(shown)s sessions", "count"),
    "sources": ngettext_lazy("%(shown)s source", "%(shown)s sources", "count"),
    "statuses": ngettext_lazy("%(shown)s status of a write", "%(shown)s statuses of writes", "count"),
    "sub-agent runs": ngettext_lazy("%(shown)s sub-agent run", "%(shown)s sub-agent runs", "count"),
    "tables": ngettext_lazy("%(shown)s table", "%(shown)s tables", "count"),
    "tokens": ngettext_lazy("%(shown)s token", "%(shown)s tokens", "count"),
    "totals": ngettext_lazy("%(shown)s total", "%(shown)s totals", "count"),
    "transcripts": ngettext_lazy("%(shown)s transcript", "%(shown)s transcripts", "count"),
    "turns": ngettext_lazy("%(shown)s turn", "%(shown)s turns", "count"),
    "unreadable databases": ngettext_lazy("%(shown)s unreadable database", "%(shown)s unreadable databases", "count"),
    "users": ngettext_lazy("%(shown)s user", "%(shown)s users", "count"),
    "versions": ngettext_lazy("%(shown)s version of a memory file", "%(shown)s versions of memory files", "count"),
    "warnings": ngettext_lazy("%(shown)s warning", "%(shown)s warnings", "count"),
    "windows": ngettext_lazy("%(shown)s window of memory_gate", "%(shown)s windows of memory_gate", "count"),
    "writes": ngettext_lazy("%(shown)s write", "%(shown)s writes", "count"),
}


def format_amount(unit: str, count: int) -> str:
    """Format a count of `unit`, a key of WORDS."""
    return WORDS[unit] % {"count": count, "shown": f"{count:,}"}


def format_plural(singular: str, plural: str, count: int, /, **values: Any) -> str:
    """Fill the text for `count` in: `%(count)s` is 1,234, others come from `values`."""
    return ngettext(singular, plural, count) % {"count": f"{count:,}", **values}
