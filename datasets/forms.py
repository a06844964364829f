"""Forms of the pages of samples: chosen turns and verdicts."""

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states
from openclaw_web.pages.html import read_form

from . import sample_texts as writes
from .models import PART_LABELS, DatasetSample
from .review import parts
from .review.parts import PartVerdict
from .words import STATUS_WORDS
from .write_samples.corrected_files import suggest_content

# The statuses that a person may give; only rules approve “by rule”.
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
    """A text as a browser's text box returns it: LF line endings and no NUL.

    Without this, viewing a reply would count as editing it.
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
        sentence = _("Turns are identified by their numbers. Select the turns on the session page.")
        return read_form(self, sentence)["numbers"]


def _build_field(field, label, attrs=NOTHING, **options):
    widget = forms.Select if field is forms.ChoiceField else forms.TextInput
    return field(label=label, required=False, widget=widget(attrs={"form": "verdict", **attrs}), **options)


def _as_gate_output(gate):
    """Where a correction begins: the decision as it was, without its reason, which is not why it is wrong."""
    return {"decision": gate["decision"], "candidateFact": gate["fact"]} if gate else {}


def _as_guardian_output(guardian):
    return (
        {"status": guardian["status"], "targetFile": guardian["file"], "reason": guardian["reason"]} if guardian else {}
    )


def _build_part_verdict(name, label, corrected):
    if not label:
        return None
    if name == "gate":
        return parts.build_gate_verdict(label, corrected if label != parts.CORRECT else None)
    return PartVerdict(label, corrected if label == parts.CORRECTED else None)


class PartsForm(forms.Form):
    """The verdicts on the gate's and the guardian's part of a sample."""

    gate_label = forms.ChoiceField(required=False, choices=PART_LABELS)
    gate_decision = _build_field(forms.ChoiceField, _("Decision"), choices=[(name, name) for name in parts.DECISIONS])
    gate_fact = _build_field(forms.CharField, _("Fact"), max_length=LONGEST_NOTES)
    gate_reason = _build_field(
        forms.CharField, _("Why is it wrong?"), attrs={"list": "reasons"}, max_length=LONGEST_NOTES
    )
    guardian_label = forms.ChoiceField(required=False, choices=PART_LABELS)
    guardian_status = _build_field(forms.ChoiceField, _("Result"), choices=states.choices(parts.GUARDIAN_STATUSES))
    guardian_file = _build_field(forms.CharField, _("File"), max_length=500)
    guardian_reason = _build_field(forms.CharField, _("Reason"), max_length=LONGEST_NOTES)
    guardian_content = forms.CharField(
        label=_("The whole file as it should be"),
        required=False,
        strip=False,
        max_length=LONGEST_REPLY,
        widget=forms.Textarea(attrs={"form": "verdict", "rows": 8, "spellcheck": "false"}),
    )

    @classmethod
    def from_sample(cls, sample, typed=NOTHING):
        """The form as first shown: a draft's fields, else the verdict, else a suggested correction.

        `typed` has the fields of the draft by name.
        """
        gate, guardian = parts.read_gate_part(sample.body), parts.read_guardian_part(sample.body)
        gate_output = _as_gate_output(gate) | parts.parse_corrected(sample.gate_corrected_output)
        guardian_output = parts.parse_corrected(sample.guardian_corrected_output) or _as_guardian_output(guardian)
        initial = {
            "gate_label": sample.gate_label,
            "gate_decision": gate_output.get("decision"),
            "gate_fact": gate_output.get("candidateFact"),
            "gate_reason": gate_output.get("reason"),
            "guardian_label": sample.guardian_label,
            "guardian_status": guardian_output.get("status"),
            "guardian_file": guardian_output.get("targetFile"),
            "guardian_reason": guardian_output.get("reason"),
            "guardian_content": suggest_content(sample),
        }
        return cls(initial=initial | {name: typed[name] for name in initial if name in typed})

    def open_with(self, name, key):
        """Have `key` open the field `name`, as the first one of the sample."""
        self.fields[name].widget.attrs |= {"data-key": key, "data-edit": ""}

    def read_verdicts(self):
        """The arguments `gate` and `guardian` of `label_sample`, of a valid form."""
        fields = self.cleaned_data
        gate = {
            "decision": fields["gate_decision"],
            "candidateFact": fields["gate_fact"],
            "reason": fields["gate_reason"],
        }
        guardian = {
            "status": fields["guardian_status"],
            "targetFile": fields["guardian_file"],
            "reason": fields["guardian_reason"],
        }
        if fields["guardian_content"] and guardian["status"] == writes.WRITTEN:
            guardian["content"] = fields["guardian_content"].replace("\r\n", "\n")
        return {
            "gate": _build_part_verdict("gate", fields["gate_label"], gate),
            "guardian": _build_part_verdict("guardian", fields["guardian_label"], guardian),
        }


# The fields that a draft stores: people type or choose them before they send a verdict.
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
        """The form as first shown, with the fields of a draft (`typed`), if any.

        A note is its author's alone: the box for the next note is empty, even where an earlier verdict has one.
        """
        output = sample.body.get("agentReply", "") if sample.output is None else sample.output
        initial = {"output": output, "notes": ""}
        return cls(initial=initial | {name: typed[name] for name in initial if name in typed}, keys=keys)

    @classmethod
    def build_initial(cls, sample):
        """The initial fields of a sample's page by name, before anybody types."""
        return cls.from_sample(sample).initial | PartsForm.from_sample(sample).initial

    def is_valid(self):
        """Whether the form and its parts are valid; adds an error for invalid parts."""
        is_valid = super().is_valid()
        if self.parts is None or self.parts.is_valid():
            return is_valid
        if not self.non_field_errors():
            self.add_error(
                None, _("The verdict on the memory gate or the write guardian is not valid. Check its fields.")
            )
        return False

    def read_verdict(self):
        """The arguments of `label_sample`, of a valid form."""
        fields = dict(self.cleaned_data)
        pages = (fields.pop("draft_page"), fields.pop("draft_base").rpartition("@")[0])
        if fields["status"] != DatasetSample.Status.REJECTED:
            fields["reason"] = ""  # the page has one field for it, beside all verdicts
        return fields | {"pages": [page for page in pages if page]} | (self.parts.read_verdicts() if self.parts else {})

    def clean_output(self):
        """The reply; None when the page had no box for it.

        An empty reply is a reply.
        """
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
    reason = forms.CharField(required=False, max_length=40)  # of rejecting

    def clean_expected_wrong(self):
        """The number of writes and decisions that approving marks as wrong; 0 without one.

        Without the field, approving says of no write and no decision that it is wrong.
        """
        return self.cleaned_data["expected_wrong"] or 0
