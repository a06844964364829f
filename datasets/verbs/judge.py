"""`reflection dataset approve` and `reject`: verdicts on single samples."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs

from ..forms import LONGEST_NOTES
from ..models import DatasetSample
from ..review import verdicts
from ..words import describe_status


class ApproveVerb:
    """The verb `approve`: a sample becomes part of exports."""

    HELP = gettext_lazy("Approve a sample for training.")
    EXAMPLES = ('reflection dataset approve 01J0000000000000000000DEMO --notes "Clear and short"',)

    def add_arguments(self, parser):
        _add_sample(parser)

    def run(self, sample, notes, **options):
        return _label_sample(sample, DatasetSample.Status.APPROVED, notes)


class RejectVerb:
    """The verb `reject`: a sample is left out of every export but KTO."""

    HELP = gettext_lazy("Reject a sample: it is left out of every export but KTO.")
    EXAMPLES = ("reflection dataset reject 01J0000000000000000000DEMO --reason wrong_fact",)

    def add_arguments(self, parser):
        _add_sample(parser)
        parser.add_argument(
            "--reason",
            metavar="CODE",
            help=_("why, a code of the setting review.rejectReasons"),
        )

    def run(self, sample, notes, reason, **options):
        return _label_sample(sample, DatasetSample.Status.REJECTED, notes, reason=reason)


def _add_sample(parser):
    parser.add_argument("sample", metavar="SAMPLE", help=_("ID of the sample"))
    parser.add_argument("--notes", default="", help=_("a note for other reviewers"))


def _label_sample(sample_id, status, notes, *, reason=None):
    if len(notes) > LONGEST_NOTES:
        raise WrongUse(_("--notes may have at most %(count)s characters.") % {"count": f"{LONGEST_NOTES:,}"})
    try:
        sample = verdicts.label_sample(sample_id, status, by=BY, notes=notes.strip(), reason=reason)
    except verdicts.NoSuchSample as exc:
        raise Refused(_("There is no sample %(id)s.") % {"id": glyphs.to_one_line(sample_id)}) from exc
    words = {"status": describe_status(sample), "id": glyphs.to_one_line(sample.id)}
    return Outcome({"sample": _to_json(sample)}, _("%(status)s: %(id)s") % words)


def _to_json(sample):
    names = ("id", "agent_id", "session_id", "sample_type", "annotation_status", "annotated_by", "annotated_at")
    return {name: getattr(sample, name) for name in (*names, "annotation_notes", "reject_reason", "label_id")}
