"""The filters of the list of artifacts, from its address."""

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import BIGGEST, DayFilters

from . import handles, listing
from .contents.content_types import KNOWN

NO_FILTERS = {"from", "to", "sort", "format"}


class ArtifactFilters(DayFilters):
    """The filters of the list of artifacts."""

    ORDERS, DEFAULT = listing.ORDERS, listing.NEWEST
    RARE = ("kind", "session", "size", "each")
    q = forms.CharField(label=_("Words, or a handle"), required=False, max_length=200)
    content_type = forms.ChoiceField(label=_("Type"), required=False, choices=[(name, name) for name in KNOWN])
    tool = forms.CharField(label=_("Tool"), required=False, max_length=256)
    kind = forms.CharField(label=_("Kind"), required=False, max_length=100)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    size = forms.IntegerField(label=_("Bytes at least"), required=False, min_value=0, max_value=BIGGEST)
    flagged = forms.BooleanField(label=_("Only flagged"), required=False)
    each = forms.BooleanField(label=_("Every use"), required=False)

    def listing(self, db):
        """The artifacts of an agent's file that fit."""
        asked = {name: value for name, value in self.chosen.items() if name not in NO_FILTERS} | self.moments
        named = list(handles.within(asked.get("q", "")))
        if named:
            asked |= {"q": "", "handle": named[0]}
        return listing.artifacts(db, sort=self.sorting, **asked)
