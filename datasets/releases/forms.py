"""Forms of datasets, releases and benchmarks."""

from django import forms
from django.utils.translation import gettext_lazy as _

from ..dedup.split_plan import ONE
from ..exports.forms import list_agents, list_benchmarks
from ..exports.options import BY_SESSION, LONGEST_NAME, LONGEST_SEED, SAMPLE_KINDS
from ..exports.words import DUPLICATE_WORDS, INCLUDED_WORDS, SPLIT_WORDS, TASK_WORDS
from .dataset_store import LONGEST_DESCRIPTION
from .release import LONGEST_NOTES


class DatasetForm(forms.Form):
    """A new dataset."""

    name = forms.CharField(
        label=_("Name"), max_length=LONGEST_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    description = forms.CharField(
        label=_("Description"), max_length=LONGEST_DESCRIPTION, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    task = forms.ChoiceField(label=_("Task"), choices=list(TASK_WORDS.items()))
    agent = forms.ChoiceField(label=_("Agent"), required=False)
    only_approved = forms.BooleanField(label=_("Only approved samples"), required=False, initial=True)
    split_by = forms.ChoiceField(label=_("Split"), choices=list(SPLIT_WORDS.items()), initial=BY_SESSION)
    split_day = forms.CharField(
        label=_("Day of the split (UTC)"),
        required=False,
        max_length=10,
        help_text=_("With the split by time: the first day of testing."),
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    train_split = forms.FloatField(
        label=_("Training share"),
        min_value=0,
        max_value=1,
        initial=0.8,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
        help_text=_("Share of samples used for training, from 0 to 1. A session never changes its side."),
    )
    validation_split = forms.FloatField(
        label=_("Validation share"),
        min_value=0,
        max_value=1,
        initial=0,
        required=False,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
        help_text=_("Share of samples used for validation. What is left is for testing."),
    )
    seed = forms.CharField(label=_("Seed"), max_length=LONGEST_SEED, initial="0")
    duplicates = forms.ChoiceField(
        label=_("Duplicates"), choices=list(DUPLICATE_WORDS.items()), initial=ONE, required=False
    )
    min_quality = forms.FloatField(
        label=_("Minimum quality"),
        min_value=0,
        max_value=1,
        required=False,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
        help_text=_("Samples without a score are left out. No sample has a score yet."),
    )
    benchmark = forms.ChoiceField(
        label=_("Without the samples in"), required=False, help_text=_("Of a benchmark, when it has half of a text.")
    )
    include = forms.MultipleChoiceField(
        label=_("Include"),
        choices=[(kind, INCLUDED_WORDS[kind]) for kind in SAMPLE_KINDS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["agent"].choices = list_agents()
        self.fields["benchmark"].choices = list_benchmarks()

    def read_options(self):
        """The chosen options, as `dataset_store.create_dataset` takes them."""
        options = {name: value for name, value in self.cleaned_data.items() if name not in ("name", "description")}
        options |= {name: options[name] or None for name in ("agent", "split_day", "benchmark")}
        return options | {
            "validation_split": options["validation_split"] or 0.0,
            "duplicates": options["duplicates"] or ONE,
        }


class ReleaseForm(forms.Form):
    """A new release."""

    notes = forms.CharField(
        label=_("Notes"), max_length=LONGEST_NOTES, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class BenchmarkForm(forms.Form):
    """A new benchmark, as a file."""

    name = forms.CharField(label=_("Name"), max_length=LONGEST_NAME)
    file = forms.FileField(
        label=_("File (JSONL)"), help_text=_("One question a line, as a JSON object or a text. All its texts count.")
    )


class BenchmarkChoice(forms.Form):
    """The benchmark that a release is compared with."""

    benchmark = forms.ChoiceField(label=_("Benchmark"))

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["benchmark"].choices = list_benchmarks()
