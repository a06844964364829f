"""Verdicts on decisions and writes: fragments that their pages load by address."""

from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from agents.decorators import agent_view_for
from ledger.session.evidence import read_evidence
from openclaw_web.errors import Refused
from openclaw_web.pages.html import read_next_address, redirect_after_post, render_page

from .. import evidence
from ..queues.blind import cover_hidden
from ..review import parts, undo
from . import review_requests, verdict_service
from .decision import DECISION
from .forms import ROW, UNDO, DecisionForm, ListedIds, WriteForm
from .verdict_service import find_own_sample, read_verdict
from .write import WRITE

FORMS = {form.kind.name: form for form in (DecisionForm, WriteForm)}
PAGES = {"decision": "datasets/decision_verdict.html", "write": "datasets/write_verdict.html"}
PLACES = {"decision": "datasets/decision_verdicts.html", "write": "datasets/write_verdicts.html"}


@require_safe
@agent_view_for("viewer")
def decision_verdict(request, agent, decision_id):
    """The verdict on a decision, with buttons for labellers.

    It is a page of its own for browsers without scripts.
    """
    return _render_verdict(request, DECISION, agent, DECISION.find(agent, decision_id))


@require_safe
@agent_view_for("viewer")
def write_verdict(request, agent, audit_id):
    """The verdict on a write, with buttons for labellers."""
    return _render_verdict(request, WRITE, agent, WRITE.find(agent, audit_id))


@require_POST
@agent_view_for("labeller")
def decision_judge(request, agent, decision_id):
    """Judge a decision, undo that verdict, or create a sample without a verdict."""
    return _save_verdict(request, DECISION, agent, decision_id)


@require_POST
@agent_view_for("labeller")
def write_judge(request, agent, audit_id):
    """Judge a write, undo that verdict, or create a sample without a verdict."""
    return _save_verdict(request, WRITE, agent, audit_id)


@require_safe
@agent_view_for("viewer")
def decision_verdicts(request, agent):
    """The verdicts on the decisions that a list shows.

    Each goes to its place in the row (HTMX, out of band).
    """
    return _render_places(request, DECISION, agent)


@require_safe
@agent_view_for("viewer")
def write_verdicts(request, agent):
    """The verdicts on the writes that a list shows.

    Each goes to its place in the row (HTMX, out of band).
    """
    return _render_places(request, WRITE, agent)


@require_POST
@agent_view_for("labeller")
def writes_queue(request, agent):
    """Send writes to review that were corrected or rolled back."""
    to = reverse("guardian:rule_list", args=[agent.agent_id])
    sentence = review_requests.describe_queued_writes(review_requests.queue_writes(agent))
    return redirect_after_post(request, sentence, to=read_next_address(request, to))


def _save_verdict(request, kind, agent, name):
    row, form = kind.find(agent, name), FORMS[kind.name](request.POST)
    try:
        sentence = _apply_form(request.user, kind, agent, row, form)
    except Refused as refused:  # shown at the buttons, so that typed texts are not lost
        return _render_answer(request, kind, agent, row, form, warning=refused.sentence, status=422)
    if not request.htmx:
        own = reverse(f"datasets:{kind.name}_verdict", args=[agent.agent_id, row.id])
        return redirect_after_post(request, sentence, to=read_next_address(request, own))
    # On this event the rail loads its number again.
    return trigger_client_event(_render_answer(request, kind, agent, row, form, sentence=sentence), "judged")


def _apply_form(user, kind, agent, row, form):
    """Give or undo the verdict of a form; return a sentence about it."""
    fields = form.read_fields()
    verdict, expected = fields["verdict"], fields["expected"]
    if verdict == UNDO:
        return undo.undo(user.username, expected or "").sentence
    form.give_verdict(agent, row, verdict, user=user, expected=expected)
    return kind.words.done[verdict]


def _render_answer(request, kind, agent, row, form, *, sentence="", warning="", status=200):
    """The fragment where the buttons were pressed: a list's row, or the verdict's page."""
    if form.data.get("place") != ROW or not request.htmx:
        return _render_verdict(request, kind, agent, row, form, sentence=sentence, warning=warning, status=status)
    undone = sentence if form.data.get("verdict") == UNDO else ""
    place = {**_build_rows(request, kind, agent, [row])[0], "warning": warning}
    return _render_rows(request, kind, agent, [place], undone, status=status)


def _render_verdict(request, kind, agent, row, form=None, *, sentence="", warning="", status=200):
    samples = kind.find_samples(agent, [row]).get(row.id, [])
    cover_hidden(samples, request.user)
    judgment, own = read_verdict(kind, samples), find_own_sample(samples)
    context = {
        "agent": agent,
        "kind": kind,
        "reasons": _read_reasons(request, kind),
        "row": row,
        "judgment": judgment,
        "own": own,
        "sample": samples[0] if samples else None,
        "has_turn_sample": len(samples) > (own is not None and row.turn_id is not None),
        "problem": "" if samples else verdict_service.find_problem(kind, agent, row),
        "form": form if form and warning else FORMS[kind.name].from_verdict(judgment),
        "may_label": request.user.has_role("labeller"),
        "sentence": sentence,
        "warning": warning,
        "evidence": None if request.htmx else read_evidence(agent.db, row),
    }
    return render_page(request, PAGES[kind.name], context, partial="verdict", status=status)


def _read_reasons(request, kind):
    """The reasons to choose from why a decision is wrong, for those who may say so; “Other” would teach nothing."""
    codes = parts.read_reasons() if kind is DECISION and request.user.has_role("labeller") else {}
    return {code: words for code, words in codes.items() if code != "other"}


def _render_places(request, kind, agent):
    rows = list(kind.rows.using(agent.db).filter(id__in=ListedIds(request.GET).read_ids()))
    return _render_rows(request, kind, agent, _build_rows(request, kind, agent, rows))


def _render_rows(request, kind, agent, rows, undone="", *, status=200):
    context = {"agent": agent, "kind": kind, "reasons": _read_reasons(request, kind), "rows": rows}
    # The person's last verdict on such a row, which a list can undo.
    last = None
    if request.user.has_role("labeller"):
        sample = undo.find_last_verdict(request.user.username, agent.agent_id, kind.types)
        last = sample and {
            "sample": sample,
            "fact": evidence.read_fact(sample),
            "label": getattr(sample, f"{kind.part}_label"),
            "give": reverse(f"datasets:{kind.name}_judge", args=[agent.agent_id, getattr(sample, kind.column)]),
        }
    context |= {"last": last, "sentence": undone}
    return render(request, PLACES[kind.name], context, status=status)


def _build_rows(request, kind, agent, rows):
    samples, may_label = kind.find_samples(agent, rows), request.user.has_role("labeller")
    cover_hidden([sample for row_samples in samples.values() for sample in row_samples], request.user)
    judgeable, writes = kind.judgeable(rows), kind.writes(agent.db, [row.id for row in rows])
    return [
        {
            "row": row,
            "judgment": read_verdict(kind, samples.get(row.id, [])),
            "own": find_own_sample(samples.get(row.id, [])),
            "write": writes.get(row.id),
            "may_label": may_label and row.id in judgeable,
            "warning": "",
        }
        for row in rows
    ]
