"""What a page about one sample shows; the sample's own page and the review queue both do."""

from collections.abc import Sequence
from typing import Any

import orjson
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents import databases
from ledger.markup import markdown
from ledger.session import turn_actions
from ledger.session.schemas import EvidenceOut
from openclaw_web.pages import glyphs
from people.configuration import catalogue
from people.configuration import keys as configuration

from . import sample_order, word_diff
from .evidence import evidence_of, fact_of
from .exporters.samples import GATE_TYPES, own_messages
from .exporters.writes import WRITE
from .forms import PartsForm, VerdictForm, as_typed
from .from_writes import shown as write_shown
from .models import DatasetSample
from .review import drafts, parts, reasons
from .review.drafts import Draft

LONGEST_SHOWN = 20_000  # characters of one message; the session page has the rest
LONGEST_EDITED = 100_000  # a longer reply gets verdicts, but no box to edit it in
GUIDE = "review.guide"


def form_of(sample: DatasetSample, typed: Sequence[Draft], keys=None) -> VerdictForm:
    """The form of a verdict as it is first shown, with this person's latest draft in it."""
    return VerdictForm.about(sample, keys=keys, typed=typed[0].fields if typed else {})


def shown(sample: DatasetSample, form: VerdictForm, *, may_label: bool, typed: Sequence[Draft] = ()) -> dict[str, Any]:
    """What conversation.html and evidence.html draw beside `behind`; `typed`: a person's drafts, the latest first."""
    body = sample.body
    said = body.get("context") or body.get("conversation") or []
    before = [message for message in said if isinstance(message, dict)] if isinstance(said, list) else []
    gate, guardian = parts.gate_of(body), parts.guardian_of(body)
    fields = typed[0].fields if typed else {}
    guide, known = configuration.several(GUIDE, reasons.SETTING).values()
    return {
        "sample": sample,
        "body": body,
        "gate": gate,
        "write": write_shown.of(sample),
        "guardian": guardian,
        "parts_form": _parts_form(sample, form, fields) if may_label and (gate or guardian) else None,
        "gate_corrected": parts.stored(sample.gate_corrected_output),
        "guardian_corrected": parts.stored(sample.guardian_corrected_output),
        "earlier": before[:-2],
        "latest": before[-2:],
        "own": before[len(before) - own_messages(body) :] if body.get("type") in GATE_TYPES else [],
        "form": form,
        "labels": sample_order.history(sample),
        "may_label": may_label,
        "longest": LONGEST_SHOWN,
        "guide": guide,
        "reasons": catalogue.named(known),
        "draft_page": drafts.new_page(),
        "other_drafts": [draft for draft in typed[1:] if draft.fields != fields],
        **reply(sample, form["output"].value() or "", typed[0] if typed else None),
        **_done(sample),
    }


def behind(sample: DatasetSample, *, back: str, holds: bool = False) -> dict[str, Any]:
    """The fact of a sample and the message that the fact comes from, also as the API has it.

    `back` is the address that links to the session lead back to; with `holds` they keep the claim on the sample.
    """
    evidence = evidence_of(sample)
    fields = {"evidence": EvidenceOut.from_orm(evidence).dict() if evidence else None}
    return {
        "fact": fact_of(sample),
        "evidence": evidence,
        "evidence_json": orjson.dumps(fields).decode(),
        "back": back,
        "holds": sample.id if holds else "",
    }


def reply(sample: DatasetSample, text: str, draft: Draft | None) -> dict[str, Any]:
    """The context of `draft.html`: a reply as it reads, and what it changes in the agent's own words."""
    own, text = as_typed(sample.body.get("agentReply") or ""), as_typed(text)
    is_short = len(text) <= LONGEST_EDITED
    return {
        "reply": text,
        "reply_length": len(text),
        "may_edit": is_short,
        "has_hidden": is_short and bool(glyphs.HIDDEN.search(text)),
        "reply_html": markdown.render(text) if is_short else glyphs.readable(text[:LONGEST_SHOWN]),
        "changes": word_diff.pieces(own, text) if text != own and is_short else [],
        "draft": draft,
    }


def linked(name: str, address: str, *, before: str = "", after: str = "") -> SafeString:
    """What was done, with the way back to it: a sentence of a message with a link in it."""
    parts = {"name": name, "address": address, "before": before, "after": after}
    return SafeString(render_to_string("datasets/said.html", parts))


def unkept(response: HttpResponse) -> HttpResponse:
    """The page, which no browser keeps: Back must not show what was typed on it to whoever signed in since."""
    response["Cache-Control"] = "private, no-store"
    return response


def _parts_form(sample, form, fields):
    """The form of both parts; the key that opens the first field of a sample leads into it where there is no reply."""
    parts_form = form.parts or PartsForm.about(sample, fields)
    has_reply = sample.body.get("agentReply") is not None and len(form["output"].value() or "") <= LONGEST_EDITED
    if form.edit_key and not has_reply:
        name = "gate_fact" if parts.gate_of(sample.body) else "guardian_reason"
        parts_form.open_with("guardian_content" if sample.body.get("type") == WRITE else name, form.edit_key)
    return parts_form


def _done(sample):
    """What the agent did in the sample's turn, or why the store cannot say."""
    try:
        db = databases.alias(sample.agent_id)
    except databases.UnknownAgent:
        return {"doings": None, "doings_problem": _("No transcripts of this agent are stored.")}
    except databases.OldAgentFile as old:
        return {"doings": None, "doings_problem": str(old)}
    return {"doings": turn_actions.read_turn_actions(db, sample.session_id, sample.turn_number), "doings_problem": ""}
