"""What comes in through the addresses of the pages: filters and places."""

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused

from . import facets, pieces
from .words import STATE_WORDS

BIGGEST = 2**53
COLUMNS = {"channel": "channel_id", "origin": "origin", "state": "source_state"}


class SessionFilters(forms.Form):
    """The filters of the list of sessions. Its template writes the fields: widgets took as long as the table."""

    q = forms.CharField(label=_("Words in the title"), required=False, max_length=200)
    channel = forms.CharField(label=_("Channel"), required=False, max_length=500)
    origin = forms.CharField(label=_("Origin"), required=False, max_length=500)
    state = forms.ChoiceField(label=_("Source"), required=False, choices=STATE_WORDS.items())
    errors = forms.BooleanField(label=_("Only with errors"), required=False)

    def __init__(self, data, *, db):
        super().__init__(data)
        self.db = db

    def narrow(self, sessions):
        """Those of `sessions` that fit, the words of the title left out. Raises Refused for an impossible filter."""
        if not self.is_valid():
            raise Refused(_("This address asks for sessions that cannot exist. Start again from the list."))
        chosen = {column: self.cleaned_data[name] for name, column in COLUMNS.items() if self.cleaned_data[name]}
        sessions = sessions.filter(**chosen)
        return sessions.filter(error_count__gt=0) if self.cleaned_data["errors"] else sessions

    @property
    def words(self):
        """What the title must hold."""
        return self.cleaned_data["q"]

    def choices(self):
        """The fields that offer values: name, label, values with their words, and the one chosen."""
        known = facets.values_of(self.db, ["channel_id", "origin"])
        for name in ("channel", "origin"):
            values, chosen = known[COLUMNS[name]], self.cleaned_data[name]
            values += [chosen] if chosen and chosen not in values else []
            yield self._choice(name, [(value, value) for value in values])
        yield self._choice("state", STATE_WORDS.items())

    def _choice(self, name, values):
        return {"name": name, "label": self.fields[name].label, "values": values, "chosen": self.cleaned_data[name]}

    def chips(self):
        """`(label, value, address without it)` of every filter in force."""
        found = []
        for name, value in self.cleaned_data.items():
            if value:
                query = QueryDict(mutable=True)
                query.update({key: self.data[key] for key in self.fields if key != name and self.data.get(key)})
                shown = _("yes") if value is True else STATE_WORDS.get(value, value) if name == "state" else value
                found.append((self.fields[name].label, shown, f"?{query.urlencode()}"))
        return found


class PlaceForm(forms.Form):
    """Where in a session to read, and what to leave out."""

    after = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)
    before = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)
    turn = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)
    record = forms.CharField(required=False, max_length=1000, strip=False)
    branch = forms.ChoiceField(required=False, choices=[("all", "all")])
    all = forms.BooleanField(required=False)

    def asked(self):
        """Arguments for `reading.find`. Raises Refused for a place that cannot exist."""
        if not self.is_valid():
            raise Refused(_("This address is no place in a session. Open the session from the list."))
        asked = {**self.cleaned_data}
        return {"everything": asked.pop("all"), **asked}


class PieceForm(forms.Form):
    """Which piece of a record."""

    field = forms.ChoiceField(required=False, choices=[(name, name) for name in pieces.FIELDS])
    call = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)
    offset = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)

    def asked(self):
        """`field` (may be empty), `call` and `offset`. Raises Refused for a piece that cannot exist."""
        if not self.is_valid():
            raise Refused(_("This address is no part of a record. Open the record from its session."))
        return {"field": self.cleaned_data["field"]} | {
            name: self.cleaned_data[name] or 0 for name in ("call", "offset")
        }
