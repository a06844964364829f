"""Forms for settings and saved views."""

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
    """All settings, each in its field.

    `drawn` holds hashes of the values that the page showed, so that only edited values are saved. Changes that another
    person saved meanwhile remain.
    """

    drawn = forms.CharField(required=False, max_length=10_000, widget=forms.HiddenInput)

    def __init__(self, data=None, *, values):
        super().__init__(data, initial=dict(values), auto_id="%s-value")
        self.values = values
        self.fields |= {key: FIELDS[known.field](known) for key, known in KEYS.items()}
        self.initial["drawn"] = " ".join(f"{key}={self._hash_value(key, value)}" for key, value in values.items())

    def clean(self):
        for key, known in KEYS.items():
            if key in self.cleaned_data and not known.accepts(self.cleaned_data[key]):
                self.add_error(key, known.refusal(known.label, self.cleaned_data[key]))

    def changed(self):
        """`{key: value}` of the settings that were edited on the page."""
        drawn = dict(part.split("=", 1) for part in self.cleaned_data["drawn"].split() if "=" in part)
        values = {key: self.cleaned_data[key] for key in drawn if key in KEYS}
        return {
            key: value
            for key, value in values.items()
            if _digest(value) not in (drawn[key], self._hash_value(key, self.values[key]))
        }

    def groups(self):
        """`(id, heading, bound fields)` of every group of settings."""
        return [(name, heading, [self[key] for key in group]) for name, (heading, group) in GROUPS.items()]

    def default_of(self, key):
        """The default of a setting in words; "" when it is in force or empty."""
        default = KEYS[key].default
        return "" if default in ("", [], self.values[key]) else self.fields[key].in_words(default)

    def _hash_value(self, key, value):
        return _digest(self.fields[key].plain(value))


def _digest(value):
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]


class SavedViewForm(forms.Form):
    """A saved view of a list, to save or to remove."""

    on = forms.ChoiceField(choices=lambda: [(name, name) for name in declaration.find_lists()])
    name = forms.CharField(max_length=LONGEST_NAME)
    query = forms.CharField(required=False, max_length=8_000)

    def read_view(self):
        """Read `on`, `name` and `query`, of which only filters remain.

        Raises Refused for an unknown list or an invalid address.
        """
        if not self.is_valid():
            raise Refused(gettext("Give the view a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
        data = self.cleaned_data
        filters = declaration.find_lists()[data["on"]].filters
        return data | {"query": filters(QueryDict(data["query"].removeprefix("?"))).validate().query}
