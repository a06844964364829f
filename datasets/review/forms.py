"""Forms of the review pages: a place in the queue, drafts and keys."""

from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..forms import DRAFT_FIELDS, LONGEST_REPLY, normalise_text
from ..words import ENDING_WORDS, PROMPTED_WORDS, TYPE_WORDS
from . import queues
from .keys import ACTIONS
from .queues import Queue


@dataclass(frozen=True, slots=True)
class Place:
    """A queue and a place in it: at `sample`, behind `after` or before `before`.

    With `is_ahead` the page asks for the sample that comes next.
    """

    queue: Queue
    sample: str = ""
    after: str = ""
    before: str = ""
    is_ahead: bool = False


class QueuePlace(forms.Form):
    """A place in the queue, from the address of a page.

    Agents are not looked up: an unknown one has no samples.
    """

    queue = forms.ChoiceField(required=False, choices=[("", ""), *((name, name) for name in queues.NAMES)])
    agent = forms.CharField(required=False, max_length=56)
    type = forms.ChoiceField(required=False, choices=[("", ""), *TYPE_WORDS.items()])
    session = forms.CharField(required=False, max_length=500)
    skipped = forms.BooleanField(required=False)
    prompted_by = forms.ChoiceField(required=False, choices=[("", ""), *PROMPTED_WORDS.items()])
    ending = forms.ChoiceField(required=False, choices=[("", ""), *ENDING_WORDS.items()])
    draw = forms.CharField(required=False, max_length=40)
    sample = forms.CharField(required=False, max_length=200)
    after = forms.CharField(required=False, max_length=200)
    before = forms.CharField(required=False, max_length=200)
    ahead = forms.BooleanField(required=False)

    def read_place(self, name=""):
        """The place. Raises Refused for one that cannot exist."""
        if not self.is_valid():
            raise Refused(_("The filters in this address are not valid. Start again from Review."))
        fields = self.cleaned_data
        chosen = {
            name: fields[name] for name in ("agent", "type", "session", "skipped", "prompted_by", "ending", "draw")
        }
        queue = Queue(name or fields["queue"], **chosen)
        return Place(queue, fields["sample"], fields["after"], fields["before"], fields["ahead"])


class DraftForm(forms.Form):
    """The fields of the verdict's form that were typed, as far as the page had them."""

    draft_page = forms.CharField(max_length=40)
    draft_base = forms.CharField(required=False, max_length=80)
    output = forms.CharField(required=False, strip=False, max_length=LONGEST_REPLY)

    def read_fields(self):
        """The fields by name. Raises Refused for values that no page sends."""
        if not self.is_valid():
            raise Refused(
                _("This draft cannot be saved: the text is too long, or the page is outdated. Reload the page.")
            )
        return {name: normalise_text(self.data[name]) for name in DRAFT_FIELDS if name in self.data}


class KeysForm(forms.Form):
    """The key of every action on the review page."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for action, (_key, word) in ACTIONS.items():
            attrs = {"maxlength": 1, "autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
            self.fields[action] = forms.CharField(
                label=word, required=False, max_length=10, strip=False, widget=forms.TextInput(attrs=attrs)
            )
