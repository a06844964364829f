"""Forms of the pages of the ledger, and the scope in their addresses."""

from datetime import date
from functools import wraps

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused
from openclaw_web.lists.filters import DayField

from .events import TYPES, WrongScope, normalize_scope
from .redaction import Redaction
from .retention import MOST_DAYS

LONGEST_NAME = 500  # characters


class WrongAddress(Refused):
    """An address of a page lacks its scope, or names no event."""

    status = 400


class ScopeField(forms.CharField):
    """The name of a scope, as the ledger spells it."""

    def __init__(self, **options):
        super().__init__(label=_("Scope"), max_length=LONGEST_NAME, **options)

    def clean(self, value):
        """Return the normalized name, an empty text for none."""
        text = super().clean(value)
        try:
            return normalize_scope(text) if text else ""
        except WrongScope as exc:
            raise ValidationError(_("A scope has 1 to 200 letters and digits, and . _ : / or - between them.")) from exc


class ScopeForm(forms.Form):
    """The scope of a page, from its address."""

    scope = ScopeField()


def scoped(view):
    """Turn the `scope` of the address into an argument of a view of an agent.

    No page mixes scopes: without a valid one the answer is a refusal.
    """

    @wraps(view)
    def wrapper(request, agent, *args, **kwargs):
        form = ScopeForm(request.GET)
        if not form.is_valid():
            raise build_scope_refusal(agent)
        return view(request, agent, form.cleaned_data["scope"], *args, **kwargs)

    return wrapper


def build_scope_refusal(agent):
    """Return the refusal of an address without a scope, with a link to all scopes."""
    ways = [(_("All scopes of this agent"), reverse("episodes:scope_list", args=[agent.agent_id]))]
    return WrongAddress(_("Choose a scope: a page shows the events of one scope."), ways=ways)


FIRST_DAY = date(1970, 3, 1)  # the first one with the days of a page before it


class StatisticsForm(forms.Form):
    """The last day of the statistics."""

    to = DayField(_("Last day (UTC)"))

    def clean_to(self):
        """Refuse a day without the days of a page before it."""
        day = self.cleaned_data["to"]
        if day is not None and day < FIRST_DAY:
            raise ValidationError(_("Choose a later day."))
        return day


class RedactionForm(forms.Form):
    """How to replace the payload of redacted events."""

    replacement = forms.ChoiceField(
        label=_("Replace the payload by"),
        choices=[("placeholder", _("The placeholder [REDACTED]")), ("null", _("Nothing"))],
        initial="placeholder",
        help_text=_("The summary becomes [REDACTED], and references are removed."),
    )


def read_redaction(request, scope, replacement="placeholder"):
    """Return the redaction that an address names.

    Raises WrongAddress unless it names one event or one session.
    """
    event_id, session_id = request.GET.get("event_id", "").strip(), request.GET.get("session_id", "").strip()
    if bool(event_id) == bool(session_id):
        raise WrongAddress(_("Choose one event or one session to redact."))
    return Redaction.parse(scope, event_id=event_id, session_id=session_id, replacement=replacement)


class CaptureForm(forms.Form):
    """The switch of automatic capture."""

    is_on = forms.BooleanField(label=_("Capture events of this agent"), required=False)
    scope = ScopeField(required=False)
    allows_tool_output = forms.BooleanField(
        label=_("Store payloads of tools"),
        required=False,
        help_text=_("Arguments and output of tools may contain secrets."),
    )

    def __init__(self, *args, default_scope="", **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["scope"].help_text = _("Scope of new events. Empty: %(scope)s") % {"scope": default_scope}


class PolicyForm(forms.Form):
    """How many days events are kept in a scope; `policy` has the current days by type."""

    def __init__(self, *args, policy, **kwargs):
        super().__init__(*args, **kwargs | {"initial": policy})
        self.policy = policy
        for name in TYPES:
            self.fields[name] = forms.IntegerField(label=name, required=False, min_value=1, max_value=MOST_DAYS)

    @property
    def changed(self):
        """The days of the types that differ from what is set now; None means forever."""
        return {name: days for name, days in self.cleaned_data.items() if days != self.policy[name]}
