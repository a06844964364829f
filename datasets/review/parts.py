"""The parts of a sample that are judged by themselves: what memory_gate decided, and what write_guardian did."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import decode, encode

from ..exporters import writes
from ..exporters.formats.gate import DECISIONS as GATE_DECISIONS
from ..exporters.samples import NEGATIVE, POSITIVE
from ..models import PART_LABELS

LABELS = tuple(dict(PART_LABELS))
DECISIONS = ("NO_WRITE", *sorted(GATE_DECISIONS - {"NO_WRITE"}))
GUARDIAN_STATUSES = ("written", "refused", "failed")
# Of each part: what a corrected output holds, and the field of the form that says it.
FIELDS = {
    "gate": {"decision": "gate_decision", "candidateFact": "gate_fact", "reason": "gate_reason"},
    "guardian": {
        "status": "guardian_status",
        "targetFile": "guardian_file",
        "reason": "guardian_reason",
        "content": "guardian_content",  # of a sample that is a write: the whole file as it should be
    },
}


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """What a person says about one part: a label, and for `corrected` what it should have been."""

    label: str
    corrected: dict[str, Any] | None = None

    @property
    def corrected_json(self) -> str | None:
        """As it is stored."""
        return encode(self.corrected) if self.corrected else None


def read_gate_part(body: Any) -> dict[str, str] | None:
    """What memory_gate said in a sample: decision, fact, reason; None where it had no say."""
    kind = _text(body, "type")
    if kind == POSITIVE:
        fact, reason = _text(body, "correctFact"), _text(body, "correctReason")
        return _said(decision=_text(body, "correctDecision"), fact=fact, reason=reason)
    if kind == NEGATIVE:
        fact = _text(body, "incorrectFact")
        reason = _text(body, "incorrectReason" if "incorrectReason" in body else "rejectionReason")
        return _said(decision=_text(body, "incorrectDecision"), fact=fact, reason=reason)
    output = _inside(body, "memoryGate", "output")
    fact, reason = _text(output, "candidateFact"), _text(output, "reason")
    return _said(decision=_text(output, "decision"), fact=fact, reason=reason) if output else None


def read_guardian_part(body: Any) -> dict[str, str] | None:
    """What write_guardian did in a sample: status, file, reason; None where it did nothing."""
    if _text(body, "type") == "write_guardian_decision":
        file, reason = _text(body, "targetFile"), _text(body, "decisionReason")
        return _said(status=_text(body, "decision"), file=file, reason=reason)
    output = _inside(body, "writeGuardian", "output")
    if not output:
        return None
    file = _text(output, "targetFile") or _text(_inside(body, "writeGuardian", "input"), "targetFile")
    return _said(status=_text(output, "status"), file=file, reason=_text(output, "reason"))


def check_part(name: str, verdict: PartVerdict, said: dict[str, str] | None) -> None:
    """Raises Refused unless this can be said of the part `said` (of `gate_of` or `guardian_of`)."""
    if said is None:
        raise Refused(
            _("This sample has no memory_gate decision.")
            if name == "gate"
            else _("This sample has no write_guardian result.")
        )
    if verdict.label not in LABELS:
        raise Refused(_("The verdict on a part must be “correct”, “incorrect” or “corrected”."))
    if (verdict.corrected is None) == (verdict.label == "corrected"):
        raise Refused(_("“Corrected” requires a correction; “correct” and “incorrect” take none."))
    if verdict.corrected:
        _check_corrected(name, verdict.corrected)


def check_content(verdict: PartVerdict, body: dict[str, Any]) -> None:
    """Raises Refused where the whole file of a corrected write is that of another file, or says nothing new."""
    correction = writes.read_corrected_answer(verdict.corrected, body)
    why = writes.find_misfit(correction, body) if correction and _text(body, "type") == writes.WRITE else ""
    if correction and why == writes.CONTENT_ELSEWHERE:
        words = {"other": writes.read_request(body).file, "file": correction.file}
        raise Refused(
            _("This is the content of %(other)s. Enter what %(file)s should hold, or leave the whole file empty.")
            % words
        )
    if why:
        raise Refused(
            _("The file held this before, or holds it now. Enter what it should hold, or leave the whole file empty.")
        )


def parse_corrected(text: str | None) -> dict[str, str]:
    """A corrected output as it was stored, as texts."""
    return {name: value or "" for name, value in decode(text).items()}


def find_typed_fields(label: Any, before: dict[str, Any]) -> dict[str, str]:
    """The fields of the form that a verdict filled in, by name: what it says of the parts that was not so before it."""
    found = {}
    for part, names in FIELDS.items():
        said, corrected = getattr(label, f"{part}_label"), getattr(label, f"{part}_corrected_output")
        if said and (said, corrected) != (before.get(f"{part}_label"), before.get(f"{part}_corrected_output")):
            texts = parse_corrected(corrected)
            found[f"{part}_label"] = said
            found |= {field: texts[name] for name, field in names.items() if name in texts}
    return found


def _check_corrected(name, corrected):
    if name == "gate":
        if corrected["decision"] not in DECISIONS:
            raise Refused(_("Choose the decision that memory_gate should have made."))
        if corrected["decision"] != "NO_WRITE" and not corrected["candidateFact"]:
            raise Refused(_("Enter the fact that memory_gate should have kept, or choose NO_WRITE."))
    elif corrected["status"] not in GUARDIAN_STATUSES:
        raise Refused(_("Choose what write_guardian should have done."))


def _said(**texts):
    return texts


def _inside(body, *names):
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else None


def _text(body, name):
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) else ""
