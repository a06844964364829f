"""The filters of rejected records, from their address."""

from django import forms
from django.utils.translation import gettext_lazy

from ledger.models import RejectedRecord
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.paging import Listing, Term, narrowed

from .rejected import REASONS


class RejectedFilters(ListFilters):
    """The filters of the list of rejected records of one agent."""

    ORDERS, DEFAULT = {"found": ("id",)}, "-found"
    PLACE = ("agent",)
    agent = forms.CharField(label=gettext_lazy("Agent"), required=False, max_length=56)
    reason = forms.ChoiceField(label=gettext_lazy("Reason"), required=False, choices=REASONS.items())
    file = forms.CharField(label=gettext_lazy("In the file's name"), required=False, max_length=500)
    session = forms.CharField(label=gettext_lazy("Session"), required=False, max_length=500)

    def listing(self, db: str) -> Listing:
        """The rejected records of an agent's file that fit."""
        asked = self.chosen
        terms = [Term("reason", "exact", asked["reason"])] if "reason" in asked else []
        terms += [Term("session_id", "exact", asked["session"])] if "session" in asked else []
        terms += [Term("file", "icontains", asked["file"])] if "file" in asked else []
        return narrowed(RejectedRecord.objects.using(db).all(), terms, order=self.order)
