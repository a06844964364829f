"""The filters that the lists of sessions, records and turns share."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import BIGGEST, DayFilters
from openclaw_web.pages import formatting, glyphs

from ..words import CHANNEL_WORDS, ORIGIN_WORDS
from . import facets

COST = {"label": _("Minimum cost, $"), "required": False, "min_value": 0, "max_value": BIGGEST}
SECONDS = {"label": _("Minimum duration, s"), "required": False, "min_value": 0, "max_value": BIGGEST}
COUNTED = {"label": _("Without repeated ones"), "required": False}  # as sums count: links from numbers set it
TOKENS = {"label": _("Minimum tokens"), "required": False, "min_value": 0, "max_value": BIGGEST}


class AgentFilters(DayFilters):
    """Filters of a list of one agent, whose file knows which values there are."""

    CHIPS = {"cost": _("Minimum cost")}
    DESCRIPTIONS = {
        "cost": "minimum cost in dollars",
        "tokens": "minimum tokens",
        "slow": "minimum duration in seconds",
        "counted": "only what sums count: without copies and what repeats another session",
    }
    OFFERED: dict[str, str] = {}  # field: the column whose values it offers
    TABLE = "sessions"  # whose columns these are
    WORDS: dict[str, Any] = {"channel": CHANNEL_WORDS, "origin": ORIGIN_WORDS}  # of values of fields of free text

    def offer(self, whose):
        """Fill in the values that fields offer, with one query."""
        known = facets.read_values(whose.db, list(self.OFFERED.values()), self.TABLE)
        self.offered = {
            name: [(value, glyphs.to_one_line(self.in_words(name, value))) for value in known[column]]
            for name, column in self.OFFERED.items()
        }

    def in_words(self, name, value):
        """The text of a filter's value: dollars, a duration in its unit, a channel's name.

        Other values are as in every list.
        """
        if name in self.WORDS:
            return str(self.WORDS[name].get(value, value))
        if name == "slow" and value is not True:  # lists of decisions have a box of this name
            return formatting.duration(round(value * 1000))
        return f"${value:,.10g}" if name == "cost" else super().in_words(name, value)
