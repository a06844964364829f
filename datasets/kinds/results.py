"""The result of creating samples, with a sentence about it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.pages.formatting import listed

EXISTED = ngettext_lazy("%(count)s already existed", "%(count)s already existed", "count")
CREATED = ngettext_lazy("%(count)s sample created", "%(count)s samples created", "count")
QUEUED = ngettext_lazy("%(count)s sample added to the queue", "%(count)s samples added to the queue", "count")


@dataclass(slots=True)
class CreationResult:
    """Ids of new and existing samples, and the rows left out with their reasons.

    `skipped` has an item `{"id", "reason"}` for each row. `excluded` counts, by reason, turns that become samples only
    when a person chooses them; in sentences they count as skipped, unless there are words for them (`left_out`). `left`
    counts the turns that a call for all did not reach.
    """

    created: Promise
    skips: Promise
    left_out: Promise | None = None
    made: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)
    left: int = 0

    def skip(self, name: str | int, reason: str) -> None:
        """Leave a row out for a reason."""
        self.skipped.append({"id": str(name), "reason": reason})

    @property
    def sentence(self) -> str:
        """The result in words."""
        excluded = self.excluded.total()
        skipped = len(self.skipped) + (0 if self.left_out else excluded)
        counts = [(EXISTED, len(self.existing)), (self.skips, skipped), (self.left_out, excluded)]
        counts = [(self.created, len(self.made)), *((words, count) for words, count in counts if words and count)]
        parts = [words % {"count": count} for words, count in counts]
        if self.left:
            more = ngettext("%(count)s turn left", "%(count)s turns left", self.left) % {"count": self.left}
            parts.append(_("%(more)s: create samples again to continue") % {"more": more})
        return _("%(parts)s.") % {"parts": listed(parts)}
