"""What people type into settings and kept views, as values."""

import orjson
from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused
from openclaw_web.lists import declaration

from .kept_views import LONGEST_NAME


class SettingForm(forms.Form):
    """One setting, in the field that fits its default: a text per line for a list, a text, a switch, a number."""

    value = forms.CharField(max_length=100_000, widget=forms.Textarea(attrs={"spellcheck": "false"}))

    def __init__(self, data=None, *, key, known, current):
        self.key, self.kind = key, type(known.default)
        super().__init__(data, initial={"value": self._written(current)}, auto_id=f"{key}-%s")
        field = self.fields["value"]
        field.label, field.required = key, self.kind not in (list, str)
        field.help_text = " ".join(map(str, self._help(known, current)))
        field.widget = self._widget()

    def _widget(self):
        if self.kind is bool:
            return forms.Select(choices=[("true", _("on")), ("false", _("off"))])
        if self.kind is int:
            return forms.NumberInput()
        return forms.Textarea(attrs={"spellcheck": "false", "rows": 1 + 2 * (self.kind is list)})

    def _help(self, known, current):
        yield known.help
        if self.kind is list:
            yield _("One per line.")
        if current != known.default and known.default not in ("", []):
            yield _("The default is %(value)s.") % {"value": self._written(known.default).replace("\n", ", ")}

    def _written(self, value):
        if self.kind is list:
            return "\n".join(value)
        return value if self.kind is str else orjson.dumps(value).decode()

    def clean_value(self):
        text = self.cleaned_data["value"]
        if self.kind is list:
            return [line.strip() for line in text.splitlines() if line.strip()]
        if self.kind is str:
            return text
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as exc:
            raise ValidationError(_("This is not JSON: %(problem)s.") % {"problem": exc}) from exc


class KeptViewForm(forms.Form):
    """A view of a list that somebody keeps or removes."""

    on = forms.ChoiceField(choices=lambda: [(name, name) for name in declaration.every()])
    name = forms.CharField(max_length=LONGEST_NAME)
    query = forms.CharField(required=False, max_length=8_000)

    def asked(self):
        """`on`, `name`, `query`: of the address only what is a filter. Raises Refused for another list or address."""
        if not self.is_valid():
            raise Refused(_now("Give the view a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
        asked = self.cleaned_data
        filters = declaration.every()[asked["on"]].filters
        return asked | {"query": filters(QueryDict(asked["query"].removeprefix("?"))).checked().query}
