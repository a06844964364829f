"""The context of pages about one sample: its own page and the review queue."""

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
from openclaw_web.pages import glyphs
from people.configuration import catalogue
from people.configuration import setting_values as configuration

from . import sample_order, word_diff
from .evidence import find_evidence, read_fact
from .finding_values import words as finding_words
from .finding_values.sample_findings import SampleMarks
from .forms import PartsForm, VerdictForm, normalise_text
from .models import DatasetSample
from .review import drafts, parts
from .review.drafts import Draft
from .sample_texts import GATE_TYPES, WRITE, count_own_messages
from .write_samples import corrected_files

LONGEST_SHOWN = 20_000  # characters of one message; the session page has the rest
LONGEST_EDITED = 100_000  # a longer reply gets verdicts, but no box to edit it in
GUIDE = "review.guide"


def build_form(sample: DatasetSample, typed: Sequence[Draft], keys=None) -> VerdictForm:
    """The verdict form as first shown, with the person's latest draft in it."""
    return VerdictForm.from_sample(sample, keys=keys, typed=typed[0].fields if typed else {})


def build_sample_context(
    sample: DatasetSample, form: VerdictForm, *, may_label: bool, typed: Sequence[Draft] = ()
) -> dict[str, Any]:
    """The context of conversation.html and evidence.html, without that of `build_evidence_context`.

    `typed` has the person's drafts, the latest first.
    """
    body = sample.body
    messages = body.get("context") or body.get("conversation") or []
    before = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    gate, guardian = parts.read_gate_part(body), parts.read_guardian_part(body)
    fields = typed[0].fields if typed else {}
    marks = SampleMarks(sample)
    guide, reason_setting = configuration.get_many(GUIDE, parts.REASONS).values()
    return {
        "sample": sample,
        "body": body,
        "gate": gate,
        "write": corrected_files.build_write_context(sample),
        "guardian": guardian,
        "parts_form": _build_parts_form(sample, form, fields) if may_label and (gate or guardian) else None,
        "gate_corrected": parts.parse_corrected(sample.gate_corrected_output),
        "guardian_corrected": parts.parse_corrected(sample.guardian_corrected_output),
        "earlier": before[:-2],
        "latest": before[-2:],
        "own": before[len(before) - count_own_messages(body) :] if body.get("type") in GATE_TYPES else [],
        "form": form,
        "labels": sample_order.read_history(sample),
        "may_label": may_label,
        "longest": LONGEST_SHOWN,
        "guide": guide,
        "reasons": catalogue.parse_reasons(reason_setting),
        "marks": marks,
        "found_kinds": finding_words.ADDED_KINDS,
        "withheld": finding_words.WITHHELD.get(sample.privacy_checked, ""),
        "draft_page": drafts.build_page_name(),
        "other_drafts": [draft for draft in typed[1:] if draft.fields != fields],
        **build_reply_context(sample, form["output"].value() or "", typed[0] if typed else None, marks),
        **_read_doings(sample),
    }


def build_evidence_context(sample: DatasetSample, *, back: str, holds: bool = False) -> dict[str, Any]:
    """The context with a sample's fact and the message that the fact comes from.

    The evidence is also there as JSON, as the API returns it. `back` is the address that links to the session lead back
    to; with `holds` these links keep the claim on the sample.
    """
    from ledger.session.schemas import EvidenceOut  # only here: a site at rest needs no schema

    evidence = find_evidence(sample)
    fields = {"evidence": EvidenceOut.from_orm(evidence).dict() if evidence else None}
    return {
        "fact": read_fact(sample),
        "evidence": evidence,
        "evidence_json": orjson.dumps(fields).decode(),
        "back": back,
        "holds": sample.id if holds else "",
    }


def build_reply_context(
    sample: DatasetSample, text: str, draft: Draft | None, marks: SampleMarks | None = None
) -> dict[str, Any]:
    """The context of `draft.html`: a reply with its findings marked, and what it changes.

    Its changes are compared with the agent's own words.
    """
    marks = marks or SampleMarks(sample)
    own, text = normalise_text(sample.body.get("agentReply") or ""), normalise_text(text)
    is_short = len(text) <= LONGEST_EDITED
    return {
        "reply": text,
        "reply_length": len(text),
        "may_edit": is_short,
        "has_hidden": is_short and bool(glyphs.HIDDEN.search(text)),
        "reply_html": marks.mark(text, markdown.render) if is_short else marks.mark(text[:LONGEST_SHOWN]),
        "changes": word_diff.compare_words(own, text) if text != own and is_short else [],
        "draft": draft,
    }


def build_link_message(name: str, address: str, *, before: str = "", after: str = "") -> SafeString:
    """A sentence of a message with a link in it.

    `before` and `after` are the texts around the link.
    """
    parts = {"name": name, "address": address, "before": before, "after": after}
    return SafeString(render_to_string("datasets/linked_message.html", parts))


def forbid_caching(response: HttpResponse) -> HttpResponse:
    """Forbid browsers to store this page; return it.

    The Back button must not show typed texts to the next person who signs in.
    """
    response["Cache-Control"] = "private, no-store"
    return response


def _build_parts_form(sample, form, fields):
    """The form of both parts of a sample.

    The key that opens the first field of a sample leads into this form where there is no reply.
    """
    parts_form = form.parts or PartsForm.from_sample(sample, fields)
    has_reply = sample.body.get("agentReply") is not None and len(form["output"].value() or "") <= LONGEST_EDITED
    if form.edit_key and not has_reply:
        name = "gate_fact" if parts.read_gate_part(sample.body) else "guardian_reason"
        parts_form.open_with("guardian_content" if sample.body.get("type") == WRITE else name, form.edit_key)
    return parts_form


def _read_doings(sample):
    """The agent's actions in the sample's turn, or why the store cannot say."""
    try:
        db = databases.get_alias(sample.agent_id)
    except databases.UnknownAgent:
        return {"doings": None, "doings_problem": _("No transcripts of this agent are stored.")}
    except databases.OldAgentFile as old:
        return {"doings": None, "doings_problem": str(old)}
    return {"doings": turn_actions.read_turn_actions(db, sample.session_id, sample.turn_number), "doings_problem": ""}
