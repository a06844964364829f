"""The form for the part of an artifact that a page shows."""

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused

from .line_search import MAX_CONTEXT
from .selectors import MAX_OFFSET, MAX_REASON, MODES, MOST_CHARS, USUAL_CHARS, Selector

MODE_WORDS = {
    "headtail": _("Beginning and end"),
    "head": _("The beginning"),
    "tail": _("The end"),
    "range": _("Lines"),
    "grep": _("Matching lines"),
    "jsonpath": _("Values at a path"),
}
# Fields of one mode only: the form sends those of all modes, and the others do not count.
OWN = {"range": ("lines",), "grep": ("pattern", "ignore_case", "context"), "jsonpath": ("path",)}
EXACT = {"spellcheck": "false", "autocapitalize": "none", "autocomplete": "off"}
SEARCH_KEY = {"data-key": "f", "data-mode": "grep"}  # a key shows the field and goes there (static/app.js)
LONGEST = 1_000


def _text(label, longest=LONGEST, *, example="", keys=None, **more):
    widget = forms.TextInput(attrs={**EXACT, **({"placeholder": example} if example else {}), **(keys or {})})
    return forms.CharField(label=label, required=False, max_length=longest, widget=widget, **more)


def _number(label, least, most, **more):
    return forms.IntegerField(label=label, required=False, min_value=least, max_value=most, **more)


class PartForm(forms.Form):
    """Fields of a selector for an artifact; `selector` is the part to fetch."""

    mode = forms.ChoiceField(
        label=_("Part to show"), required=False, choices=[(mode, MODE_WORDS[mode]) for mode in MODES]
    )
    lines = _text(_("Line range"), 40, example="10:20")
    pattern = _text(_("Pattern"), strip=False, help_text=_("A regular expression in RE2 syntax."), keys=SEARCH_KEY)
    ignore_case = forms.BooleanField(label=_("Ignore case"), required=False)
    context = _number(_("Lines around a match"), 0, MAX_CONTEXT)
    path = _text(_("Path"), example="$.sessions[0]", help_text=_("A JSONPath as defined in RFC 9535."))
    max_chars = _number(_("Maximum characters"), 1, MOST_CHARS)
    reason = _text(_("Reason for more than 8,000 (recorded)"), MAX_REASON, help_text=_("Recorded in the audit log."))
    offset = _number("", 0, MAX_OFFSET)

    def __init__(self, data, *, name):
        """`name` is the artifact's: a page may hold forms of several."""
        values = {**data.dict(), "max_chars": data.get("max_chars") or str(USUAL_CHARS)}
        super().__init__(values, auto_id=f"look-{name[:12]}-%s")
        self.has_size = values["max_chars"] != str(USUAL_CHARS) or bool(data.get("reason"))

    @property
    def selector(self) -> Selector:
        """The selector of the fields. Raises Refused when it is not allowed."""
        if not self.is_valid():
            name, problems = next(iter(self.errors.items()))
            raise Refused(f"{self.fields[name].label or name}: {problems[0]}")
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        mode = values.get("mode", "headtail")
        others = {name for other, names in OWN.items() if other != mode for name in names}
        return Selector(**{name: value for name, value in values.items() if name not in others})

    @property
    def shown_mode(self):
        """The mode that the form shows as chosen."""
        return self["mode"].value() if self["mode"].value() in MODES else MODES[0]


def build_query(selector: Selector) -> str:
    """A selector as the end of an address: `?mode=head&offset=8000`."""
    query = QueryDict(mutable=True)
    query["mode"] = selector.mode
    defaults = Selector()
    names = ("max_chars", "offset", "lines", "pattern", "context", "path", "reason")
    query.update(
        {name: getattr(selector, name) for name in names if getattr(selector, name) != getattr(defaults, name)}
    )
    if selector.ignore_case:
        query["ignore_case"] = "on"
    return f"?{query.urlencode()}"
