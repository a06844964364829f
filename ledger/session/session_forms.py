"""What comes in through the addresses of a session's pages: a place, a branch, filters, a jump, a poll."""

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused

from . import record_filter

BIGGEST = 2**53
JUMPS = ("turn", "error", "compaction", "tool")
PLACE = ("after", "before", "turn", "record")
FILTERS = ("kind", "tool", "find")
SECTION = RegexValidator(r"\At-\d{1,16}(-\d{1,16})?\Z")


def _seq():
    return forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)


def _choice(values):
    return forms.ChoiceField(required=False, choices=[(value, value) for value in values])


class TableForm(forms.Form):
    """The part of a table of a session: `after` and `before` are cursors of its list."""

    branch = _choice(["all"])
    after = forms.CharField(required=False, max_length=1000)
    before = forms.CharField(required=False, max_length=1000)

    def read_values(self):
        """The cleaned values. Raises Refused for what is no place."""
        if not self.is_valid():
            raise Refused(_("This address is not a place in a session. Open the session from the list."))
        return self.cleaned_data

    def read_cursors(self):
        """The cursors alone. Raises Refused for what is no place."""
        asked = self.read_values()
        return {"after": asked["after"], "before": asked["before"]}


class PlaceForm(forms.Form):
    """Where in a session to read, on which branch, and what to leave out."""

    after = _seq()
    before = _seq()
    turn = _seq()
    record = forms.CharField(required=False, max_length=1000, strip=False)
    branch = forms.CharField(required=False, max_length=1000, strip=False)
    all = forms.BooleanField(required=False)
    kind = _choice(record_filter.KINDS)
    tool = forms.CharField(required=False, max_length=256, strip=False)
    find = forms.CharField(required=False, max_length=200)

    def require(self):
        """Raise Refused for an address that is no place."""
        if not self.is_valid():
            raise Refused(_("This address is not a place in a session. Open the session from the list."))

    def read_place(self):
        """Arguments for `reading.find`. Raises Refused for a place that cannot exist."""
        self.require()
        said = self.cleaned_data
        return {"everything": said["all"], "branch": said["branch"], **{name: said[name] for name in PLACE}}

    def kinds(self):
        """The kinds of records to narrow to: value and words."""
        return record_filter.KINDS.items()

    def read_filter(self):
        """What the page is narrowed to (within.Filter)."""
        return record_filter.RecordFilter(**{name: self.cleaned_data[name] for name in FILTERS})

    def chips(self):
        """`(label, value, address without it)` of every filter in force."""
        labels = {"kind": _("Only"), "tool": _("Tool"), "find": _("Words")}
        said = self.cleaned_data
        for name in FILTERS:
            if said[name]:
                query = QueryDict(mutable=True)
                kept = ("branch", "all", *(other for other in FILTERS if other != name))
                query.update({other: self.data[other] for other in kept if self.data.get(other)})
                shown = str(record_filter.KINDS[said[name]]) if name == "kind" else said[name]
                yield labels[name], shown, f"?{query.urlencode()}"


class JumpForm(forms.Form):
    """From which record to look for the next of a kind."""

    next = _choice(JUMPS)
    prev = _choice(JUMPS)
    branch = forms.CharField(required=False, max_length=1000, strip=False)

    def __init__(self, data):
        super().__init__(data)
        self.fields["from"] = forms.IntegerField(required=False, min_value=-1, max_value=BIGGEST)

    def read_jump(self):
        """`(kind, whether backwards, seq, branch)`. Raises Refused for a jump that cannot be made."""
        if not self.is_valid() or not (self.cleaned_data["next"] or self.cleaned_data["prev"]):
            raise Refused(_("This address is not a place in a session. Open the session from the list."))
        said = self.cleaned_data
        backwards = not said["next"]
        if said["from"] is None:
            return said["next"] or said["prev"], backwards, BIGGEST if backwards else -1, said["branch"]
        return said["next"] or said["prev"], backwards, said["from"], said["branch"]


class LiveForm(forms.Form):
    """What an open page already shows, so that a poll can answer with what is new.

    `live` is the last record on the page, `id` its own id, `count` how many records the session had when it was asked
    last, `base` how many when the page was made, `leaf` where its branch ended, `end` whether the page goes to the end,
    `into` the section the page ends with.
    """

    live = forms.IntegerField(min_value=-1, max_value=BIGGEST)
    id = forms.CharField(required=False, max_length=1000, strip=False)
    count = forms.IntegerField(min_value=0, max_value=BIGGEST)
    base = forms.IntegerField(min_value=0, max_value=BIGGEST)
    leaf = forms.CharField(required=False, max_length=1000, strip=False)
    end = forms.BooleanField(required=False)
    into = forms.CharField(required=False, validators=[SECTION])
    branch = _choice(["all"])
    all = forms.BooleanField(required=False)

    def read_state(self):
        """The cleaned values. Raises Refused for a poll that this site did not write."""
        if not self.is_valid():
            raise Refused(_("This page is out of date. Reload the page."))
        return self.cleaned_data

    def build_place_query(self):
        """What of the poll is a place of the page: links in its answer lead on from there."""
        query = QueryDict(mutable=True)
        query.update({name: self.data[name] for name in ("branch", "all") if self.data.get(name)})
        return query


class TurnNumbersForm(forms.Form):
    """Which turns a page of a session shows: `turn`, once for each."""

    MOST = 200

    def read_numbers(self):
        """Their numbers; what is none is left out."""
        texts = self.data.getlist("turn")[: self.MOST]
        return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 10]
