"""What comes in from the pages of samples: chosen turns, verdicts."""

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused
from openclaw_web.pages import states

from .exporters import writes
from .models import PART_LABELS, DatasetSample
from .review import parts
from .review.parts import PartVerdict
from .words import STATUS_WORDS
from .write_samples.corrected_files import suggest_content

# What a person may say; only rules approve “by rule”.
VERDICTS = [
    DatasetSample.Status.APPROVED,
    DatasetSample.Status.REJECTED,
    DatasetSample.Status.NEEDS_REVIEW,
    DatasetSample.Status.PENDING,
]
LONGEST_REPLY = 1_000_000
LONGEST_NOTES = 5_000
NOTHING: Mapping[str, str] = {}


def normalise_text(text: str) -> str:
    """A text as a browser's text box gives it back: one kind of line ending, and without NUL, which no box can hold.

    Without this, looking at a reply would be editing it.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")


class TurnChoice(forms.Form):
    """Which turns of a session: the boxes that were ticked (`turn`), or all of them (`all`)."""

    all = forms.BooleanField(required=False)

    def clean(self):
        """The numbers of the ticked boxes; None for every turn."""
        numbers = self.data.getlist("turn")
        if not all(text.isascii() and text.isdecimal() and len(text) < 10 for text in numbers):
            raise forms.ValidationError(_("Turns are identified by their numbers."))
        return {"numbers": None if self.cleaned_data["all"] else [int(text) for text in numbers]}

    def read_numbers(self):
        """The chosen turn numbers, None for all. Raises Refused for anything that is no number."""
        if not self.is_valid():
            raise Refused(_("Turns are identified by their numbers. Select the turns on the session page."))
        return self.cleaned_data["numbers"]


def _part(field, label, **options):
    widget = forms.Select if field is forms.ChoiceField else forms.TextInput
    return field(label=label, required=False, widget=widget(attrs={"form": "verdict"}), **options)


def _as_gate_output(said):
    return {"decision": said["decision"], "candidateFact": said["fact"], "reason": said["reason"]} if said else {}


def _as_guardian_output(said):
    return {"status": said["status"], "targetFile": said["file"], "reason": said["reason"]} if said else {}


def _content(text):
    """The lines of a file as a browser sends them back."""
    return text.replace("\r\n", "\n")


def _part_verdict(label, corrected):
    return PartVerdict(label, corrected if label == "corrected" else None) if label else None


class PartsForm(forms.Form):
    """What is to be said of the gate's and the guardian's part."""

    gate_label = forms.ChoiceField(required=False, choices=PART_LABELS)
    gate_decision = _part(forms.ChoiceField, _("Decision"), choices=[(name, name) for name in parts.DECISIONS])
    gate_fact = _part(forms.CharField, _("Fact"), max_length=LONGEST_NOTES)
    gate_reason = _part(forms.CharField, _("Reason"), max_length=LONGEST_NOTES)
    guardian_label = forms.ChoiceField(required=False, choices=PART_LABELS)
    guardian_status = _part(forms.ChoiceField, _("Result"), choices=states.choices(parts.GUARDIAN_STATUSES))
    guardian_file = _part(forms.CharField, _("File"), max_length=500)
    guardian_reason = _part(forms.CharField, _("Reason"), max_length=LONGEST_NOTES)
    guardian_content = forms.CharField(
        label=_("The whole file as it should be"),
        required=False,
        strip=False,
        max_length=LONGEST_REPLY,
        widget=forms.Textarea(attrs={"form": "verdict", "rows": 8, "spellcheck": "false"}),
    )

    @classmethod
    def from_sample(cls, sample, typed=NOTHING):
        """The form as it is first shown: what was `typed`, else said before, else what a correction starts from."""
        gate, guardian = parts.read_gate_part(sample.body), parts.read_guardian_part(sample.body)
        own = parts.parse_corrected(sample.gate_corrected_output) or _as_gate_output(gate)
        written = parts.parse_corrected(sample.guardian_corrected_output) or _as_guardian_output(guardian)
        initial = {
            "gate_label": sample.gate_label,
            "gate_decision": own.get("decision"),
            "gate_fact": own.get("candidateFact"),
            "gate_reason": own.get("reason"),
            "guardian_label": sample.guardian_label,
            "guardian_status": written.get("status"),
            "guardian_file": written.get("targetFile"),
            "guardian_reason": written.get("reason"),
            "guardian_content": suggest_content(sample),
        }
        return cls(initial=initial | {name: typed[name] for name in initial if name in typed})

    def open_with(self, name, key):
        """Have `key` open the field `name`, as the first one of the sample."""
        self.fields[name].widget.attrs |= {"data-key": key, "data-edit": ""}

    def read_verdicts(self):
        """What `label_sample` takes as `gate` and `guardian`, of a valid form."""
        said = self.cleaned_data
        gate = {"decision": said["gate_decision"], "candidateFact": said["gate_fact"], "reason": said["gate_reason"]}
        done = {
            "status": said["guardian_status"],
            "targetFile": said["guardian_file"],
            "reason": said["guardian_reason"],
        }
        if said["guardian_content"] and done["status"] == writes.WRITTEN:
            done["content"] = _content(said["guardian_content"])
        return {
            "gate": _part_verdict(said["gate_label"], gate),
            "guardian": _part_verdict(said["guardian_label"], done),
        }


# What people type or choose before a verdict: what a draft holds.
DRAFT_FIELDS = ("output", "notes", *PartsForm.base_fields)


class VerdictForm(forms.Form):
    """A verdict on one sample."""

    status = forms.ChoiceField(choices=[(status, STATUS_WORDS[status]) for status in VERDICTS])
    output = forms.CharField(
        label=_("Reply"),
        required=False,
        strip=False,
        max_length=LONGEST_REPLY,
        widget=forms.Textarea(attrs={"form": "verdict", "rows": 12, "data-key": "e", "spellcheck": "false"}),
    )
    notes = forms.CharField(
        label=_("Notes"),
        required=False,
        max_length=LONGEST_NOTES,
        widget=forms.Textarea(attrs={"form": "verdict", "rows": 2}),
    )
    expected_status = forms.ChoiceField(required=False, choices=list(STATUS_WORDS.items()))
    reason = forms.CharField(required=False, max_length=40)  # what it may be is a setting: reasons.checked says so
    draft_page = forms.CharField(required=False, max_length=40)
    draft_base = forms.CharField(required=False, max_length=80)

    def __init__(self, data=None, *, keys=None, **kwargs):
        super().__init__(data, **kwargs)
        # A form of its own: most samples have no such parts, and many fields make a form slow.
        self.parts = PartsForm(data) if data and ("gate_label" in data or "guardian_label" in data) else None
        self.edit_key = keys["edit"] if keys else ""
        if keys:
            self.fields["output"].widget.attrs |= {"data-key": keys["edit"], "data-edit": ""}
            self.fields["notes"].widget.attrs["data-key"] = keys["note"]

    @classmethod
    def from_sample(cls, sample, *, keys=None, typed=NOTHING):
        """The form as it is first shown for a sample, or with what this person `typed` (a draft's fields).

        A note is its author's alone: whatever somebody noted before, the box for the next note is empty.
        """
        output = sample.body.get("agentReply", "") if sample.output is None else sample.output
        initial = {"output": output, "notes": ""}
        return cls(initial=initial | {name: typed[name] for name in initial if name in typed}, keys=keys)

    @classmethod
    def build_initial(cls, sample):
        """What the page of a sample says before anybody types, by field."""
        return cls.from_sample(sample).initial | PartsForm.from_sample(sample).initial

    def is_valid(self):
        """Whether it and its parts are; says so where a part is not."""
        is_valid = super().is_valid()
        if self.parts is None or self.parts.is_valid():
            return is_valid
        if not self.non_field_errors():
            self.add_error(
                None, _("The verdict on the memory gate or the write guardian is not valid. Check its fields.")
            )
        return False

    def read_verdict(self):
        """What `label_sample` takes, of a valid form."""
        said = dict(self.cleaned_data)
        pages = (said.pop("draft_page"), said.pop("draft_base").rpartition("@")[0])
        if said["status"] != DatasetSample.Status.REJECTED:
            said["reason"] = ""  # the page has one field for it, beside all verdicts
        return said | {"pages": [page for page in pages if page]} | (self.parts.read_verdicts() if self.parts else {})

    def clean_output(self):
        """None when the page had no box for the reply, which is not the same as an empty one."""
        return self.cleaned_data["output"] if "output" in self.data else None

    def clean_expected_status(self):
        return self.cleaned_data["expected_status"] or None


class BulkForm(forms.Form):
    """One verdict on a whole list, and how many samples the person was shown."""

    status = forms.ChoiceField(choices=[(status, STATUS_WORDS[status]) for status in VERDICTS[:2]])
    expected_count = forms.IntegerField(min_value=0, max_value=10**9)
    expected_wrong = forms.IntegerField(required=False, min_value=0, max_value=10**9)  # of approving alone
    notes = forms.CharField(
        label=_("Notes"), required=False, max_length=LONGEST_NOTES, widget=forms.Textarea(attrs={"rows": 2})
    )

    def clean_expected_wrong(self):
        """0 where a page names none: approving then says of no write and no decision that it is wrong."""
        return self.cleaned_data["expected_wrong"] or 0
