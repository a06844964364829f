"""What addresses of the pages about writes ask for."""

from typing import Any

from django import forms

from ..files import MEMORY_FILES
from .history import CHANGES, EVERYTHING, FOLDED
from .weeks import WEEKS

LONGEST_SEARCH = 200  # characters
SIDES = {"before": "before_snapshot_id", "after": "after_snapshot_id"}


class AuditForm(forms.Form):
    """Which side of a write is downloaded, and how its diff is shown; what does not fit is left out."""

    download = forms.ChoiceField(required=False, choices=[(name, name) for name in SIDES])
    view = forms.CharField(required=False, max_length=20)

    @property
    def side(self) -> str:
        """The column of the version that is asked for; empty: the page is."""
        self.is_valid()
        return SIDES.get(self.cleaned_data.get("download", ""), "")

    @property
    def way(self) -> str:
        """How the diff is shown, as the address says it."""
        self.is_valid()
        return self.cleaned_data.get("view", "")


class BlameForm(forms.Form):
    """From which line on a file is shown, or which words its lines have to contain."""

    wanted = forms.IntegerField(required=False, min_value=1, max_value=10_000_000)
    words = forms.CharField(required=False, max_length=LONGEST_SEARCH)

    def __init__(self, data):
        super().__init__({"wanted": data.get("line", ""), "words": data.get("q", "")[:LONGEST_SEARCH]})

    @property
    def line(self) -> int:
        """The line, the first one where the address names none that can be."""
        self.is_valid()
        return self.cleaned_data.get("wanted") or 1

    @property
    def search(self) -> str:
        """What lines have to contain; empty: all lines are shown."""
        self.is_valid()
        return self.cleaned_data.get("words", "")


class HistoryForm(forms.Form):
    """What becomes of writes that changed nothing: folded, left out, or shown; what does not fit is left out."""

    wanted = forms.ChoiceField(required=False, choices=[(name, name) for name in (CHANGES, EVERYTHING)])

    def __init__(self, data):
        super().__init__({"wanted": data.get("show", "")})

    @property
    def show(self) -> str:
        """FOLDED, CHANGES or EVERYTHING of `history`."""
        self.is_valid()
        return self.cleaned_data.get("wanted", FOLDED)


class ChartForm(forms.Form):
    """Of which file, and of how many weeks; what does not fit is left out."""

    file = forms.ChoiceField(required=False, choices=[(name, name) for name in MEMORY_FILES])
    weeks = forms.TypedChoiceField(required=False, coerce=int, choices=[(number, number) for number in WEEKS])

    @property
    def filters(self) -> dict[str, Any]:
        """As `weeks_of` takes it."""
        self.is_valid()
        said = self.cleaned_data
        return {"file": said.get("file", ""), "weeks": said.get("weeks") or WEEKS[0]}
