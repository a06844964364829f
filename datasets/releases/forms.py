"""Forms of datasets, releases and benchmarks."""

from django import forms
from django.utils.translation import gettext_lazy as _

from ..exports.forms import SampleForm, list_benchmarks
from ..exports.options import LONGEST_NAME, SAMPLE_KINDS
from ..exports.words import INCLUDED_WORDS
from .dataset_store import LONGEST_DESCRIPTION
from .release import LONGEST_NOTES


class DatasetForm(SampleForm):
    """A new dataset."""

    description = forms.CharField(
        label=_("Description"), max_length=LONGEST_DESCRIPTION, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    include = forms.MultipleChoiceField(
        label=_("Include"),
        choices=[(kind, INCLUDED_WORDS[kind]) for kind in SAMPLE_KINDS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def read_options(self):
        """The chosen options, as `dataset_store.create_dataset` takes them."""
        return {name: value for name, value in self.read_choices().items() if name not in ("name", "description")}


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
