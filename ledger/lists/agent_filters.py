"""What the filters of the lists of sessions, records and turns share."""

from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import BIGGEST, DayFilters

from ..words import CHANNEL_WORDS, ORIGIN_WORDS
from . import facets

COST = {"label": _("Minimum cost, $"), "required": False, "min_value": 0}
WORDS = {"channel": CHANNEL_WORDS, "origin": ORIGIN_WORDS}  # of values that fields of free text offer
TOKENS = {"label": _("Minimum tokens"), "required": False, "min_value": 0, "max_value": BIGGEST}


class AgentFilters(DayFilters):
    """Filters of a list of one agent, whose file knows which values there are."""

    CHIPS = {"cost": _("Minimum cost")}
    OFFERED: dict[str, str] = {}  # field: the column of sessions whose values it offers

    def offer(self, whose):
        """Fill in the values that fields offer, with one query."""
        known = facets.values_of(whose.db, list(self.OFFERED.values()))
        self.offered = {
            name: [(value, self.in_words(name, value)) for value in known[column]]
            for name, column in self.OFFERED.items()
        }

    def in_words(self, name, value):
        """As every list does it; a cost in dollars, a channel by its name."""
        if name in WORDS:
            return str(WORDS[name].get(value, value))
        return f"${value:,.10g}" if name == "cost" else super().in_words(name, value)
