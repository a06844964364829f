"""The parts of a sample with verdicts of their own: memory_gate's and write_guardian's."""

from dataclasses import dataclass
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import decode, encode
from people.configuration import catalogue
from people.configuration import setting_values as configuration

from .. import sample_texts as writes
from ..models import PART_LABELS
from ..sample_texts import DECISIONS as GATE_DECISIONS
from ..sample_texts import NEGATIVE, POSITIVE

LABELS = tuple(dict(PART_LABELS))
CORRECT, INCORRECT, CORRECTED = LABELS
REASONS = "review.rejectReasons"
DECISIONS = ("NO_WRITE", *sorted(GATE_DECISIONS - {"NO_WRITE"}))
GUARDIAN_STATUSES = ("written", "refused", "failed")
# For each part, the fields of a corrected output, and the form's fields for them.
FIELDS = {
    "gate": {"decision": "gate_decision", "candidateFact": "gate_fact", "reason": "gate_reason"},
    "guardian": {
        "status": "guardian_status",
        "targetFile": "guardian_file",
        "reason": "guardian_reason",
        "content": "guardian_content",  # of a sample that is a write: the whole file as it should be
    },
}


class NoReason(Refused):
    """A wrong decision without the reason that the spec's `rejectionReason` needs."""

    status = 400

    def __init__(self):
        super().__init__(_("Say why the decision is wrong: choose a reason, or enter one."))


def read_reasons() -> dict[str, str]:
    """The codes of reasons to choose from, with their names, in the order of the setting."""
    return catalogue.parse_reasons(configuration.get_texts(REASONS))


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """A verdict on one part: a label, and for `corrected` the right output.

    Of an `incorrect` decision of memory_gate `corrected` has the `reason` alone.
    """

    label: str
    corrected: dict[str, Any] | None = None

    @property
    def corrected_json(self) -> str | None:
        """The corrected output as it is stored."""
        return encode(self.corrected) if self.corrected else None


def build_gate_verdict(label: str, output: dict[str, Any] | None) -> PartVerdict:
    """A verdict on memory_gate's part; `output` has at least the reason why the decision is wrong.

    A reason that is a code of the setting becomes the words of the setting, in whatever language the page is: rows
    teach them.
    """
    if output is None:
        return PartVerdict(label)
    with translation.override(None):
        reason = read_reasons().get(output["reason"], output["reason"])
    return PartVerdict(label, {"reason": reason} if label == INCORRECT else {**output, "reason": reason})


def read_gate_part(body: Any) -> dict[str, str] | None:
    """memory_gate's part of a sample: decision, fact, reason; None where there is none."""
    kind = _read_text(body, "type")
    if kind == POSITIVE:
        fact, reason = _read_text(body, "correctFact"), _read_text(body, "correctReason")
        return _build_part(decision=_read_text(body, "correctDecision"), fact=fact, reason=reason)
    if kind == NEGATIVE:
        fact = _read_text(body, "incorrectFact")
        reason = _read_text(body, "incorrectReason" if "incorrectReason" in body else "rejectionReason")
        return _build_part(decision=_read_text(body, "incorrectDecision"), fact=fact, reason=reason)
    output = _find_object(body, "memoryGate", "output")
    fact, reason = _read_text(output, "candidateFact"), _read_text(output, "reason")
    return _build_part(decision=_read_text(output, "decision"), fact=fact, reason=reason) if output else None


def read_guardian_part(body: Any) -> dict[str, str] | None:
    """write_guardian's part of a sample: status, file, reason; None where there is none."""
    if _read_text(body, "type") == "write_guardian_decision":
        file, reason = _read_text(body, "targetFile"), _read_text(body, "decisionReason")
        return _build_part(status=_read_text(body, "decision"), file=file, reason=reason)
    output = _find_object(body, "writeGuardian", "output")
    if not output:
        return None
    file = _read_text(output, "targetFile") or _read_text(_find_object(body, "writeGuardian", "input"), "targetFile")
    return _build_part(status=_read_text(output, "status"), file=file, reason=_read_text(output, "reason"))


def check_part(name: str, verdict: PartVerdict, original: dict[str, str] | None) -> None:
    """Raises Refused for a verdict that is not valid for the part.

    `original` is the part as `read_gate_part` or `read_guardian_part` returns it.
    """
    if original is None:
        raise Refused(
            _("This sample has no memory_gate decision.")
            if name == "gate"
            else _("This sample has no write_guardian result.")
        )
    if verdict.label not in LABELS:
        raise Refused(_("The verdict on a part must be “correct”, “incorrect” or “corrected”."))
    has_reason = bool(verdict.corrected and verdict.corrected.get("reason", "").strip())
    is_reason_alone = name == "gate" and verdict.label == INCORRECT and [*(verdict.corrected or ())] == ["reason"]
    if not is_reason_alone and (verdict.corrected is None) == (verdict.label == CORRECTED):
        raise Refused(_("“Corrected” requires a correction; “correct” and “incorrect” take none."))
    if verdict.label == CORRECTED:
        _check_corrected(name, verdict.corrected)
    if name == "gate" and verdict.label != CORRECT and not has_reason:
        raise NoReason


def check_content(verdict: PartVerdict, body: dict[str, Any]) -> None:
    """Raises Refused where the whole file of a corrected write is not valid.

    It is not valid if it is that of another file, or the same as before or now.
    """
    correction = writes.read_corrected_answer(verdict.corrected, body)
    misfit = writes.find_misfit(correction, body) if correction and _read_text(body, "type") == writes.WRITE else ""
    if correction and misfit == writes.CONTENT_ELSEWHERE:
        words = {"other": writes.read_request(body).file, "file": correction.file}
        raise Refused(
            _("This is the content of %(other)s. Enter what %(file)s should hold, or leave the whole file empty.")
            % words
        )
    if misfit:
        raise Refused(
            _("The file held this before, or holds it now. Enter what it should hold, or leave the whole file empty.")
        )


def parse_corrected(text: str | None) -> dict[str, str]:
    """A stored corrected output, with texts as values."""
    return {name: value or "" for name, value in decode(text).items()}


def lacks_reason(label: str | None, corrected: str | None) -> bool:
    """Whether a verdict on a decision says that it is wrong and not why, by its columns of a sample."""
    return label in (INCORRECT, CORRECTED) and not parse_corrected(corrected).get("reason", "").strip()


def find_typed_fields(label: Any, before: dict[str, Any]) -> dict[str, str]:
    """The form's fields by name that a verdict filled in.

    A part counts only if the verdict changed it.
    """
    fields = {}
    for part, names in FIELDS.items():
        part_label, corrected = getattr(label, f"{part}_label"), getattr(label, f"{part}_corrected_output")
        if part_label and (part_label, corrected) != (
            before.get(f"{part}_label"),
            before.get(f"{part}_corrected_output"),
        ):
            texts = parse_corrected(corrected)
            fields[f"{part}_label"] = part_label
            fields |= {field: texts[name] for name, field in names.items() if name in texts}
    return fields


def _check_corrected(name, corrected):
    if name == "gate":
        if corrected["decision"] not in DECISIONS:
            raise Refused(_("Choose the decision that memory_gate should have made."))
        if corrected["decision"] != "NO_WRITE" and not corrected["candidateFact"]:
            raise Refused(_("Enter the fact that memory_gate should have kept, or choose NO_WRITE."))
    elif corrected["status"] not in GUARDIAN_STATUSES:
        raise Refused(_("Choose what write_guardian should have done."))


def _build_part(**texts):
    return texts


def _find_object(body, *names):
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else None


def _read_text(body, name):
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) else ""
