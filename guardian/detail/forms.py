"""Forms of the addresses of pages about writes."""

from typing import Any

from django import forms

from ..files import MEMORY_FILES
from .history import CHANGES, EVERYTHING, FOLDED
from .weeks import WEEKS

LONGEST_SEARCH = 200  # characters
SIDES = {"before": "before_snapshot_id", "after": "after_snapshot_id"}


class AuditForm(forms.Form):
    """The side of a write to download, and how its diff is drawn.

    Other values are ignored.
    """

    download = forms.ChoiceField(required=False, choices=[(name, name) for name in SIDES])
    view = forms.CharField(required=False, max_length=20)

    @property
    def side(self) -> str:
        """The column of the requested version; empty: the page is requested."""
        self.is_valid()
        return SIDES.get(self.cleaned_data.get("download", ""), "")

    @property
    def way(self) -> str:
        """How the diff is drawn, as the address says it."""
        self.is_valid()
        return self.cleaned_data.get("view", "")


class BlameForm(forms.Form):
    """The first line on the page, or the words that lines have to contain."""

    first_line = forms.IntegerField(required=False, min_value=1, max_value=10_000_000)
    words = forms.CharField(required=False, max_length=LONGEST_SEARCH)

    def __init__(self, data):
        super().__init__({"first_line": data.get("line", ""), "words": data.get("q", "")[:LONGEST_SEARCH]})

    @property
    def line(self) -> int:
        """The requested line; the first one where the address has no valid one."""
        self.is_valid()
        return self.cleaned_data.get("first_line") or 1

    @property
    def search(self) -> str:
        """The words that lines have to contain; empty: all lines."""
        self.is_valid()
        return self.cleaned_data.get("words", "")


class HistoryForm(forms.Form):
    """Whether writes that changed nothing are folded, left out or listed; other values are ignored."""

    choice = forms.ChoiceField(required=False, choices=[(name, name) for name in (CHANGES, EVERYTHING)])

    def __init__(self, data):
        super().__init__({"choice": data.get("show", "")})

    @property
    def show(self) -> str:
        """FOLDED, CHANGES or EVERYTHING of `history`."""
        self.is_valid()
        return self.cleaned_data.get("choice", FOLDED)


class ChartForm(forms.Form):
    """The file and the number of weeks; other values are ignored."""

    file = forms.ChoiceField(required=False, choices=[(name, name) for name in MEMORY_FILES])
    weeks = forms.TypedChoiceField(required=False, coerce=int, choices=[(number, number) for number in WEEKS])

    @property
    def filters(self) -> dict[str, Any]:
        """The filters as `count_weeks` takes them."""
        self.is_valid()
        values = self.cleaned_data
        return {"file": values.get("file", ""), "weeks": values.get("weeks") or WEEKS[0]}
