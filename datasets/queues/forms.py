"""Forms of review queues."""

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused
from openclaw_web.lists import filter_line

from ..models import ReviewQueue
from ..sample_list import SampleFilters
from .questions import format_questions, parse_questions
from .queue_store import LONGEST_GUIDELINE, LONGEST_NAME


class QueueChangeForm(forms.Form):
    """The parts of a queue that may change."""

    reviewers = forms.IntegerField(
        label=_("Reviewers of each item"), min_value=1, max_value=5, initial=2, help_text=_("1 to 5 people.")
    )
    assigned = forms.CharField(
        label=_("Reviewers"),
        required=False,
        max_length=5_000,
        help_text=_("User names with blanks between them. Empty = everybody who may label."),
    )
    adjudicators = forms.CharField(
        label=_("Who decides conflicts"),
        required=False,
        max_length=5_000,
        help_text=_("User names with blanks between them. Admins always may."),
    )
    text = forms.CharField(
        label=_("Guideline"),
        required=False,
        max_length=LONGEST_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("Each verdict names the version of the guideline that its reviewer had."),
    )
    questions = forms.CharField(
        label=_("Questions"),
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "choice: Tone | formal | casual"}),
        help_text=_(
            "At most 5, one a line: “scale: …” (1 to 5), “choice: … | … | …”, or “span: …” (a part of the text)."
        ),
    )

    @classmethod
    def from_queue(cls, queue):
        """The form as first shown."""
        guideline = queue.guidelines.get(number=queue.guideline)
        people = {name: " ".join(getattr(queue, name)) for name in ("assigned", "adjudicators")}
        questions = format_questions(guideline.questions)
        return cls(initial={"reviewers": queue.reviewers, "text": guideline.text, "questions": questions, **people})

    def clean_assigned(self):
        return self.cleaned_data["assigned"].replace(",", " ").split()

    def clean_adjudicators(self):
        return self.cleaned_data["adjudicators"].replace(",", " ").split()

    def clean_questions(self):
        try:
            return parse_questions(self.cleaned_data["questions"])
        except Refused as refused:
            raise forms.ValidationError(refused.sentence) from refused


class QueueForm(QueueChangeForm):
    """A new queue."""

    name = forms.CharField(label=_("Name"), max_length=LONGEST_NAME)
    sample_filter = forms.CharField(
        label=_("Which samples"),
        max_length=filter_line.LONGEST,
        required=False,
        help_text=_("The filter of the list of samples. Empty = all of them."),
    )
    gold_share = forms.IntegerField(
        label=_("Known items in %"),
        min_value=0,
        max_value=50,
        initial=0,
        help_text=_("Samples with a decided verdict, mixed in to measure reviewers. 0 = none."),
    )
    field_order = ("name", "sample_filter", "reviewers", "gold_share")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        line = filter_line.build_line(SampleFilters({}).validate(), None, [])
        attrs = {"data-offers": line.offers, "placeholder": line.hint, "autocomplete": "off", "spellcheck": "false"}
        self.fields["sample_filter"].widget.attrs |= attrs


class StateForm(forms.Form):
    """Whether a queue is open."""

    state = forms.ChoiceField(choices=ReviewQueue.State.choices)
