"""The form of a new export."""

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused
from openclaw_web.lists import filter_line

from ..dedup.split_plan import ONE
from ..models import Benchmark, DatasetVersion
from ..sample_list import SampleFilters, read_sample_filter
from ..words import TYPE_WORDS
from .histories import EDITED
from .options import BY_SESSION, CAPS, LONGEST_NAME, LONGEST_SEED, MOST_CAP, TAUGHT_BY, build_name
from .trainers import READS
from .turns import KEEP, LIST
from .words import (
    CAP_WORDS,
    DUPLICATE_WORDS,
    FORMAT_WORDS,
    HISTORY_WORDS,
    INCLUDED_WORDS,
    PARALLEL_WORDS,
    SPLIT_WORDS,
    TASK_WORDS,
    TOOL_CALL_WORDS,
    TRAINER_WORDS,
)

RELEASES = 200  # releases and benchmarks to choose from


class ShareField(forms.FloatField):
    """A number from 0 to 1."""

    def __init__(self, **options):
        super().__init__(min_value=0, max_value=1, widget=forms.NumberInput(attrs={"step": "0.05"}), **options)


class CapField(forms.IntegerField):
    """The most samples of something."""

    def __init__(self, name, help_text):
        super().__init__(label=CAP_WORDS[name], help_text=help_text, min_value=1, max_value=MOST_CAP, required=False)


class SampleForm(forms.Form):
    """The samples of an export or a dataset, and their split."""

    name = forms.CharField(
        label=_("Name"), max_length=LONGEST_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    task = forms.ChoiceField(label=_("Task"), choices=list(TASK_WORDS.items()))
    sample_filter = forms.CharField(
        label=_("Which samples"),
        max_length=filter_line.LONGEST,
        required=False,
        help_text=_("The filter of the list of samples. Empty = all of them."),
    )
    only_approved = forms.BooleanField(
        label=_("Only approved samples"),
        required=False,
        initial=True,
        help_text=_("Turn off to include samples nobody has reviewed. Only KTO exports rejected samples."),
    )
    split_by = forms.ChoiceField(
        label=_("Split"), choices=list(SPLIT_WORDS.items()), initial=BY_SESSION, required=False
    )
    split_day = forms.CharField(
        label=_("Day of the split (UTC)"),
        max_length=10,
        required=False,
        help_text=_("With the split by time: sessions that ended before this day are for training."),
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    train_split = ShareField(
        label=_("Training share"),
        initial=0.8,
        help_text=_("Share of samples used for training, from 0 to 1. A session is never split."),
    )
    validation_split = ShareField(
        label=_("Validation share"),
        initial=0,
        required=False,
        help_text=_("Share of samples used for validation. What is left is for testing."),
    )
    seed = forms.CharField(
        label=_("Seed"),
        max_length=LONGEST_SEED,
        initial="0",
        help_text=_("The same seed and samples always give the same split."),
    )
    duplicates = forms.ChoiceField(
        label=_("Duplicates"),
        choices=list(DUPLICATE_WORDS.items()),
        initial=ONE,
        required=False,
        help_text=_("Samples that say the same, or nearly. None is on both sides of the split."),
    )
    min_quality = ShareField(label=_("Minimum quality"), required=False)
    max_per_session = CapField("max_per_session", _("The best remain. Empty = no limit."))
    max_per_tool = CapField("max_per_tool", _("Samples of turns that called it. The best remain. Empty = no limit."))
    max_per_twins = CapField("max_per_twins", _("In place of the choice of duplicates. Empty = as chosen there."))
    benchmark = forms.ChoiceField(
        label=_("Without the samples in a benchmark"),
        required=False,
        help_text=_("Samples with a text of which it has more than half are left out."),
    )
    include = forms.MultipleChoiceField(
        label=_("Include"),
        choices=list(INCLUDED_WORDS.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Each is left out otherwise. With keys and passwords, only admins can download the files."),
    )
    DEFAULTS = {"validation_split": 0.0, "duplicates": ONE, "split_by": BY_SESSION}
    OPTIONAL = ("split_day", "benchmark", *CAPS)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, auto_id="new_%s", **kwargs)  # beside the boxes of the list's filters
        self.fields["benchmark"].choices = list_benchmarks()
        line = filter_line.build_line(SampleFilters({}).validate(), None, [])
        attrs = {"data-offers": line.offers, "placeholder": line.hint, "autocomplete": "off", "spellcheck": "false"}
        self.fields["sample_filter"].widget.attrs |= attrs

    @classmethod
    def read_initial(cls, query):
        """The fields that an address names, which a new export or dataset begins with."""
        known = {name: value for name, value in query.items() if name in cls.base_fields}
        if agent := query.get("agent"):  # of an earlier address
            known.setdefault("sample_filter", f"agent:{agent}")
        known |= {name: values for name in ("include", "sample_types") if (values := query.getlist(name))}
        for task, types in TAUGHT_BY.items():
            if "task" not in known and set(known.get("sample_types", ())) & set(types):
                known["task"] = task
        return known

    def clean_sample_filter(self):
        """The filters as `SampleFilters`, which the line of the address would be."""
        try:
            return read_sample_filter(self.cleaned_data["sample_filter"])
        except Refused as refused:
            raise forms.ValidationError(refused.sentence) from refused

    def read_choices(self):
        """The chosen options, as `exports.options.Options` takes them.

        The agent and the type of the filter are options of their own as well, so that nothing else is read.
        """
        data = self.cleaned_data
        filters = data["sample_filter"]
        of_filter = {"sample_filter": filter_line.spell(filters), "agent": filters.chosen.get("agent")}
        sample_type = filters.chosen.get("type")
        of_filter["sample_types"] = data.get("sample_types") or (sample_type and [sample_type])
        known = {name: data[name] or default for name, default in self.DEFAULTS.items()}
        return {**data, **known, **{name: data[name] or None for name in self.OPTIONAL}, **of_filter}


class ExportForm(SampleForm):
    """A new export."""

    trainer = forms.ChoiceField(label=_("For which trainer?"), choices=list(TRAINER_WORDS.items()), required=False)
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[("", _("The one of the trainer that loses the fewest samples")), *FORMAT_WORDS.items()],
        required=False,
        help_text=_("Pairs and KTO, which teach from corrections and rejections, are chosen here."),
    )
    history = forms.ChoiceField(
        label=_("Turns before the reply"),
        choices=list(HISTORY_WORDS.items()),
        initial=EDITED,
        help_text=_("For ShareGPT and OpenAI. From each row, a trainer learns everything the agent says."),
    )
    sample_types = forms.MultipleChoiceField(
        label=_("Types of samples"),
        choices=list(TYPE_WORDS.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None: the types that the task is taught by."),
    )
    parallel_calls = forms.ChoiceField(
        label=_("Parallel tool calls"),
        choices=list(PARALLEL_WORDS.items()),
        initial=LIST,
        required=False,
        help_text=_("Some chat templates, such as that of GLM-4, accept one call per message."),
    )
    tool_calls = forms.ChoiceField(
        label=_("Tool calls"),
        choices=list(TOOL_CALL_WORDS.items()),
        initial=KEEP,
        required=False,
        help_text=_(
            "Unsloth reads only conversations without tool calls. Alpaca has no place for them but the input: a row "
            "without the results teaches invented ones."
        ),
    )
    rebuild_system = forms.BooleanField(
        label=_("Rebuild unknown system prompts"),
        required=False,
        help_text=_(
            "From the stored workspace files (SOUL.md, AGENTS.md, MEMORY.md, …) as they were at the turn. The text "
            "says so in its first line."
        ),
    )
    release = forms.ChoiceField(
        label=_("Release"),
        required=False,
        help_text=_(
            "Its members on their sides. Agent, approval, quality, split and duplicates are those of its dataset."
        ),
    )
    weights = forms.BooleanField(
        label=_("Weight of each row"),
        required=False,
        help_text=_("For raw samples, CSV and Parquet: 1 divided by the samples of the session in the export."),
    )
    include_pii = forms.BooleanField(
        label=_("Leave personal data as it is"),
        required=False,
        help_text=_(
            "Turn off to redact it. Keys and passwords are always redacted. Only admins can download the files."
        ),
    )
    DEFAULTS = SampleForm.DEFAULTS | {"tool_calls": KEEP, "parallel_calls": LIST}
    OPTIONAL = (*SampleForm.OPTIONAL, "release")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["name"].initial = build_name("export")
        released = DatasetVersion.objects.filter(state=DatasetVersion.State.RELEASED).order_by("-released_at", "-id")
        rows = released.values_list("id", "dataset__name", "number")[:RELEASES]
        self.fields["release"].choices = [
            ("", _("None: all samples that fit")),
            *((version_id, f"{name} {number}") for version_id, name, number in rows),
        ]

    def clean(self):
        """The fields without the trainer, which only chooses the format where nobody did."""
        data = super().clean()
        trainer = data.pop("trainer", "")
        if not data.get("format"):
            data["format"] = READS[trainer or "trl"][0]
        elif trainer and data["format"] not in READS[trainer]:
            sentence = _("%(trainer)s does not read this format. Choose another one, or another trainer.")
            self.add_error("format", sentence % {"trainer": TRAINER_WORDS[trainer]})
        return data


def list_benchmarks() -> list[tuple[str, str]]:
    """No benchmark, or one of those that are stored now, for a choice."""
    return [("", _("None")), *Benchmark.objects.order_by("name").values_list("id", "name")[:RELEASES]]
