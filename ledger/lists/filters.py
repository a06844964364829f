"""The filters of the lists of sessions, records and turns, from their addresses."""

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import BIGGEST, DayFilters

from ..words import EVENT_WORDS, STATE_WORDS
from . import facets, listing

COST = {"label": _("Cost at least, $"), "required": False, "min_value": 0}
TOKENS = {"label": _("Tokens at least"), "required": False, "min_value": 0, "max_value": BIGGEST}
SEARCHED = _("Words: searches the start of long texts. Search inside a session to cover everything.")
DAYS = {"from", "to", "sort", "format"}


class AgentFilters(DayFilters):
    """Filters of a list of one agent; `offer` asks its file which values there are."""

    OFFERED: dict[str, str] = {}  # field: the column of sessions whose values it offers

    def offer(self, db):
        """Fill in the values that fields offer, with one query."""
        known = facets.values_of(db, list(self.OFFERED.values()))
        self.offered = {name: [(value, value) for value in known[column]] for name, column in self.OFFERED.items()}
        return self

    def asked(self):
        """The filters in force as arguments of a function of `listing`."""
        return {name: value for name, value in self.chosen.items() if name not in DAYS} | self.moments


class SessionFilters(AgentFilters):
    """The filters of the list of sessions."""

    ORDERS, DEFAULT = listing.SESSION_ORDERS, listing.NEWEST_SESSIONS
    RARE = ("origin", "state", "cost", "tokens")
    OFFERED = {"channel": "channel_id", "origin": "origin", "model": "model"}
    q = forms.CharField(label=_("Words in the title"), required=False, max_length=200)
    channel = forms.CharField(label=_("Channel"), required=False, max_length=500)
    origin = forms.CharField(label=_("Origin"), required=False, max_length=500)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    state = forms.ChoiceField(label=_("Source"), required=False, choices=STATE_WORDS.items())
    cost = forms.FloatField(**COST)
    tokens = forms.IntegerField(**TOKENS)
    errors = forms.BooleanField(label=_("Only with errors"), required=False)

    def listing(self, db):
        """The sessions of an agent's file that fit."""
        return listing.sessions(db, sort=self.sorting, **self.asked())


class EventFilters(AgentFilters):
    """The filters of the list of records."""

    ORDERS, DEFAULT = listing.EVENT_ORDERS, listing.NEWEST_EVENTS
    RARE = ("model", "session")
    OFFERED = {"model": "model"}
    q = forms.CharField(label=_("Words in the record"), required=False, max_length=200, help_text=SEARCHED)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=EVENT_WORDS.items())
    tool = forms.CharField(label=_("Tool"), required=False, max_length=256)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    failed = forms.BooleanField(label=_("Only failed"), required=False)

    def listing(self, db):
        """The records of an agent's file that fit."""
        return listing.events(db, sort=self.sorting, **self.asked())


class TurnFilters(AgentFilters):
    """The filters of the list of turns."""

    ORDERS, DEFAULT = listing.TURN_ORDERS, listing.NEWEST_TURNS
    RARE = ("session", "cost", "tokens", "branches")
    OFFERED = {"model": "model"}
    q = forms.CharField(label=_("Words of the user"), required=False, max_length=200)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    cost = forms.FloatField(**COST)
    tokens = forms.IntegerField(**TOKENS)
    errors = forms.BooleanField(label=_("Only with errors"), required=False)
    branches = forms.BooleanField(label=_("Branches that were left, too"), required=False)

    def listing(self, db):
        """The turns of an agent's file that fit."""
        asked = self.asked()
        return listing.turns(db, sort=self.sorting, active=not asked.pop("branches", False), **asked)
