"""Forms of the review pages: a place in the queue, drafts and keys."""

from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused
from openclaw_web.pages.html import read_form
from people.models.bookkeeping import KeyValue

from ..forms import DRAFT_FIELDS, LONGEST_REPLY, normalise_text
from ..queues.waiting import ORDERS
from ..words import ENDING_WORDS, PROMPTED_WORDS, TYPE_WORDS
from . import queues
from .queues import Queue

SCOPE = "review_keys"
QUEUES = (*queues.NAMES, queues.NEEDS_REASON)
TAKEN = {"?": gettext_lazy("shows the list of keys"), "/": gettext_lazy("moves to the search field")}
# Action: its key unless a person chose another one, and what it does.
ACTIONS = {
    "approve": ("a", gettext_lazy("Approve")),
    "reject": ("r", gettext_lazy("Reject")),
    "needs_review": ("n", gettext_lazy("Needs review")),
    "skip": ("s", gettext_lazy("Skip")),
    "edit": ("e", gettext_lazy("Edit the reply, or the first field")),
    "open_call": ("o", gettext_lazy("Open the next tool call")),
    "note": ("t", gettext_lazy("Write a note")),
    "finding": ("f", gettext_lazy("Mark the selected text as personal data or a secret")),
    "undo": ("u", gettext_lazy("Undo")),
    "next": ("j", gettext_lazy("Next sample")),
    "previous": ("k", gettext_lazy("Previous sample")),
    "gate_correct": ("1", gettext_lazy("Memory gate: right")),
    "gate_incorrect": ("2", gettext_lazy("Memory gate: wrong")),
    "gate_corrected": ("3", gettext_lazy("Memory gate: wrong, should be …")),
    "guardian_correct": ("4", gettext_lazy("Write guardian: right")),
    "guardian_incorrect": ("5", gettext_lazy("Write guardian: wrong")),
    "guardian_corrected": ("6", gettext_lazy("Write guardian: wrong, should be …")),
}
# Keys that reject reasons may have, and fixed keys of the pages.
CANDIDATES, OF_PAGES = "1234567890qwdfghzxcvbmyilaerstuop", "jknp"
DEFAULTS = {action: key for action, (key, _word) in ACTIONS.items()}


def read_keys(username: str) -> dict[str, str]:
    """The key of every action, for a person."""
    chosen = KeyValue.objects.filter(scope=SCOPE, key=username).decoded().get(username, {})
    own = {action: key for action, key in chosen.items() if action in DEFAULTS}
    # An action added since the person's choice has no key while its default one is taken.
    free = {action: "" if key in own.values() else key for action, key in DEFAULTS.items()}
    return free | own


def find_free_keys(keys: dict[str, str]) -> list[str]:
    """Keys that no action of a person has, for the reasons of a reject.

    There are more of them than reasons.
    """
    taken = {key.casefold() for key in keys.values()} | set(OF_PAGES)
    return [key for key in CANDIDATES if key not in taken]


def store_keys(username: str, keys: dict[str, str]) -> None:
    """Store a person's keys. Raises Refused for keys that are not valid.

    A key is not valid if it is no single character, if two actions have it, or if the site needs it.
    """
    chosen = DEFAULTS | keys
    used: dict[str, str] = {}
    for action, key in chosen.items():
        if len(key) != 1 or not key.isprintable() or key.isspace():
            raise Refused(
                _("“%(what)s” needs a single character, such as a letter or a digit.") % {"what": ACTIONS[action][1]}
            )
        if key in TAKEN:
            raise Refused(_("The key %(key)s %(what)s. Choose another key.") % {"key": key, "what": TAKEN[key]})
        if key in used:
            raise Refused(
                _("“%(one)s” and “%(other)s” use the same key %(key)s. Choose another key for either of them.")
                % {"one": ACTIONS[used[key]][1], "other": ACTIONS[action][1], "key": key}
            )
        used[key] = action
    KeyValue.objects.put(SCOPE, username, chosen)


def reset(username: str) -> None:
    """Restore the default keys of a person."""
    KeyValue.objects.filter(scope=SCOPE, key=username).delete()


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

    queue = forms.ChoiceField(required=False, choices=[("", ""), *((name, name) for name in QUEUES)])
    agent = forms.CharField(required=False, max_length=56)
    type = forms.ChoiceField(required=False, choices=[("", ""), *TYPE_WORDS.items()])
    session = forms.CharField(required=False, max_length=500)
    skipped = forms.BooleanField(required=False)
    prompted_by = forms.ChoiceField(required=False, choices=[("", ""), *PROMPTED_WORDS.items()])
    ending = forms.ChoiceField(required=False, choices=[("", ""), *ENDING_WORDS.items()])
    draw = forms.CharField(required=False, max_length=40)
    review_queue = forms.CharField(required=False, max_length=40)
    conflicts = forms.BooleanField(required=False)
    order = forms.ChoiceField(required=False, choices=[("", ""), *((order, order) for order in ORDERS)])
    sample = forms.CharField(required=False, max_length=200)
    after = forms.CharField(required=False, max_length=200)
    before = forms.CharField(required=False, max_length=200)
    ahead = forms.BooleanField(required=False)

    def read_place(self, name=""):
        """The place. Raises Refused for one that cannot exist."""
        fields = read_form(self, _("The filters in this address are not valid. Start again from Review."))
        names = (
            *("agent", "type", "session", "skipped", "prompted_by", "ending", "draw"),
            *("review_queue", "conflicts", "order"),
        )
        queue = Queue(name or fields["queue"], **{name: fields[name] for name in names})
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
