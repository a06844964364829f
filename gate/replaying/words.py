"""Which decisions a replay is about, in words."""

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from ..lists.decision_list import DecisionFilters


def chosen(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels and values of what a replay was limited to; nothing when it was about all decisions."""
    form = DecisionFilters({})
    form.is_valid()
    said = []
    for name, value in found.get("filters", {}).items():
        if name in ("since", "until"):
            said.append((pgettext("time", "From") if name == "since" else _("Before"), _moment(value)))
        elif name in form.fields:
            label = DecisionFilters.CHIPS.get(name) or form.fields[name].label
            said.append((str(label), form.in_words(name, value)))
    if found.get("approved"):
        said.append((_("Only decisions in approved samples"), ""))
    if count := found.get("ids"):
        words = ngettext("%(count)s decision by ID", "%(count)s decisions by ID", count)
        said.append((words % {"count": f"{count:,}"}, ""))
    return said


def _moment(value: Any) -> str:
    return f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M} UTC"
