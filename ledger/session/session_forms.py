"""Forms of the session pages' addresses: a place, a branch, filters, a jump, a poll."""

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
    """The part of a session's table to show: `after` and `before` are cursors."""

    branch = _choice(["all"])
    after = forms.CharField(required=False, max_length=1000)
    before = forms.CharField(required=False, max_length=1000)

    def read_values(self):
        """The cleaned values. Raises Refused for an invalid address."""
        if not self.is_valid():
            raise Refused(_("This address is not a place in a session. Open the session from the list."))
        return self.cleaned_data

    def read_cursors(self):
        """The cursors alone. Raises Refused for an invalid address."""
        values = self.read_values()
        return {"after": values["after"], "before": values["before"]}


class PlaceForm(forms.Form):
    """The place and branch of a session to read, and filters."""

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
        """Raise Refused for an invalid address."""
        if not self.is_valid():
            raise Refused(_("This address is not a place in a session. Open the session from the list."))

    def read_place(self):
        """Arguments for `transcript_page.find_place`. Raises Refused for an impossible place."""
        self.require()
        values = self.cleaned_data
        return {"everything": values["all"], "branch": values["branch"], **{name: values[name] for name in PLACE}}

    def kinds(self):
        """The kinds of records to filter by: value and words."""
        return record_filter.KINDS.items()

    def read_filter(self):
        """The filter of the page (record_filter.RecordFilter)."""
        return record_filter.RecordFilter(**{name: self.cleaned_data[name] for name in FILTERS})

    def chips(self):
        """`(label, value, address without it)` of every active filter."""
        labels = {"kind": _("Only"), "tool": _("Tool"), "find": _("Words")}
        values = self.cleaned_data
        for name in FILTERS:
            if values[name]:
                query = QueryDict(mutable=True)
                other_names = ("branch", "all", *(other for other in FILTERS if other != name))
                query.update({other: self.data[other] for other in other_names if self.data.get(other)})
                text = str(record_filter.KINDS[values[name]]) if name == "kind" else values[name]
                yield labels[name], text, f"?{query.urlencode()}"


class JumpForm(forms.Form):
    """The record from which to jump to the next one of a kind."""

    next = _choice(JUMPS)
    prev = _choice(JUMPS)
    branch = forms.CharField(required=False, max_length=1000, strip=False)

    def __init__(self, data):
        super().__init__(data)
        self.fields["from"] = forms.IntegerField(required=False, min_value=-1, max_value=BIGGEST)

    def read_jump(self):
        """`(kind, whether backwards, seq, branch)`. Raises Refused for an impossible jump."""
        if not self.is_valid() or not (self.cleaned_data["next"] or self.cleaned_data["prev"]):
            raise Refused(_("This address is not a place in a session. Open the session from the list."))
        values = self.cleaned_data
        backwards = not values["next"]
        if values["from"] is None:
            return values["next"] or values["prev"], backwards, BIGGEST if backwards else -1, values["branch"]
        return values["next"] or values["prev"], backwards, values["from"], values["branch"]


class LiveForm(forms.Form):
    """The state of an open page, so that a poll can return only what is new.

    `live` is the last record on the page, `id` its own id, `count` the session's records at the last poll, `base` those
    when the page was rendered, `leaf` the end of its branch, `end` whether the page goes to the end, `into` the section
    the page ends with.
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
        """The part of the poll that links in its answer have to keep."""
        query = QueryDict(mutable=True)
        query.update({name: self.data[name] for name in ("branch", "all") if self.data.get(name)})
        return query


class TurnNumbersForm(forms.Form):
    """The turns that a page of a session shows: `turn`, once for each."""

    MOST = 200

    def read_numbers(self):
        """The numbers of the turns; values that are no numbers are left out."""
        texts = self.data.getlist("turn")[: self.MOST]
        return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 10]
