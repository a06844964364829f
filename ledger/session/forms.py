"""The form of a record's address; `session_forms` has those of the session pages."""

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused

from . import pieces

BIGGEST = 2**53


class PieceForm(forms.Form):
    """The piece of a record to show."""

    field = forms.ChoiceField(required=False, choices=[(name, name) for name in pieces.FIELDS])
    call = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)
    offset = forms.IntegerField(required=False, min_value=0, max_value=BIGGEST)

    def read_place(self):
        """`field` (may be empty), `call` and `offset`. Raises Refused for a piece that cannot exist."""
        if not self.is_valid():
            raise Refused(_("This address is not a part of a record. Open the record from its session."))
        return {"field": self.cleaned_data["field"]} | {
            name: self.cleaned_data[name] or 0 for name in ("call", "offset")
        }
