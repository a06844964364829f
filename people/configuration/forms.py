"""What people type into settings and kept views, as values."""

import hashlib

import orjson
from django import forms
from django.http import QueryDict
from django.utils.translation import gettext

from openclaw_web.errors import Refused
from openclaw_web.lists import declaration

from .catalogue import GROUPS, KEYS
from .fields import FIELDS
from .saved_views import LONGEST_NAME


class SettingsForm(forms.Form):
    """Every setting, in the field that fits it. `drawn` tells what the page showed, so that only what was changed on it
    is saved: what somebody else saved meanwhile is kept."""

    drawn = forms.CharField(required=False, max_length=10_000, widget=forms.HiddenInput)

    def __init__(self, data=None, *, values):
        super().__init__(data, initial=dict(values), auto_id="%s-value")
        self.values = values
        self.fields |= {key: FIELDS[known.field](known) for key, known in KEYS.items()}
        self.initial["drawn"] = " ".join(f"{key}={self._mark(key, value)}" for key, value in values.items())

    def clean(self):
        for key, known in KEYS.items():
            if key in self.cleaned_data and not known.accepts(self.cleaned_data[key]):
                self.add_error(key, known.refusal(known.label))

    def changed(self):
        """`{key: value}` of what was changed on the page."""
        drawn = dict(part.split("=", 1) for part in self.cleaned_data["drawn"].split() if "=" in part)
        found = {key: self.cleaned_data[key] for key in drawn if key in KEYS}
        return {
            key: value
            for key, value in found.items()
            if _digest(value) not in (drawn[key], self._mark(key, self.values[key]))
        }

    def groups(self):
        """`(id, heading, the bound fields)` of every group of settings."""
        return [(name, heading, [self[key] for key in group]) for name, (heading, group) in GROUPS.items()]

    def default_of(self, key):
        """The default of a setting in words; nothing when it has that value, or when the default is empty."""
        default = KEYS[key].default
        return "" if default in ("", [], self.values[key]) else self.fields[key].in_words(default)

    def _mark(self, key, value):
        return _digest(self.fields[key].plain(value))


def _digest(value):
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]


class SavedViewForm(forms.Form):
    """A view of a list that somebody keeps or removes."""

    on = forms.ChoiceField(choices=lambda: [(name, name) for name in declaration.find_lists()])
    name = forms.CharField(max_length=LONGEST_NAME)
    query = forms.CharField(required=False, max_length=8_000)

    def read_view(self):
        """`on`, `name`, `query`: of the address only what is a filter. Raises Refused for another list or address."""
        if not self.is_valid():
            raise Refused(gettext("Give the view a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
        asked = self.cleaned_data
        filters = declaration.find_lists()[asked["on"]].filters
        return asked | {"query": filters(QueryDict(asked["query"].removeprefix("?"))).checked().query}
