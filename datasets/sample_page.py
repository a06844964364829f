"""What a page about one sample shows; the sample's own page and the review queue both do."""

from openclaw_web import glyphs

from . import sample_lists
from .forms import PartsForm
from .review import parts

LONGEST_SHOWN = 20_000  # characters of one message; the session page has the rest
LONGEST_EDITED = 100_000  # a longer reply gets verdicts, but no box to edit it in


def shown(sample, form, *, may_label):
    """The context of `_conversation.html` and `_evidence.html`."""
    body = sample.body
    reply = body.get("agentReply", "") if sample.output is None else sample.output
    said = body.get("context") or body.get("conversation") or []
    before = [message for message in said if isinstance(message, dict)] if isinstance(said, list) else []
    gate, guardian = parts.gate_of(body), parts.guardian_of(body)
    return {
        "sample": sample,
        "body": body,
        "gate": gate,
        "guardian": guardian,
        "parts_form": (form.parts or PartsForm.about(sample)) if may_label and (gate or guardian) else None,
        "gate_corrected": parts.stored(sample.gate_corrected_output),
        "guardian_corrected": parts.stored(sample.guardian_corrected_output),
        "earlier": before[:-2],
        "latest": before[-2:],
        "reply": reply,
        "form": form,
        "labels": sample_lists.history(sample),
        "may_label": may_label,
        "may_edit": len(reply) <= LONGEST_EDITED,
        "has_hidden": bool(glyphs.HIDDEN.search(reply)),
        "longest_shown": LONGEST_SHOWN,
        "longest": f":{LONGEST_SHOWN}",
    }
