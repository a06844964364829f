"""What people say of decisions, on the pages of the gate: fragments that those pages ask for by address."""

from django.contrib import messages
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from agents.decorators import agent_view
from gate.models import MemoryGateDecision
from gate.recording import consent
from guardian.looking import around
from ledger.session.evidence import read_evidence
from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, go, refuse_post, render_page, safe_next

from ..evidence import fact_of
from ..exporters.samples import GATE_TYPES
from ..review import undo
from ..review.queues import Queue
from . import draws, judging, said
from .forms import ROW, UNDO, DecisionsShown, DrawForm, JudgeForm, correction
from .seen import decision_of, seen_of

DONE = {
    judging.RIGHT: gettext_lazy("Saved: right."),
    judging.WRONG: gettext_lazy("Saved: wrong."),
    judging.NONE: gettext_lazy("Sample created."),
}


@require_safe
@agent_view
@needs("viewer")
def decision_verdict(request, agent, decision_id):
    """What was said of a decision, with buttons for who may say it. A page of its own for browsers without scripts."""
    return _shown(request, agent, decision_of(agent, decision_id))


@require_POST
@agent_view
@needs("labeller")
def decision_judge(request, agent, decision_id):
    """Say that a decision is right or wrong, take that back, or create a sample without saying either."""
    decision, form = decision_of(agent, decision_id), JudgeForm(request.POST)
    try:
        sentence = _judge(agent, decision, form.said(), request.user.username)
    except Refused as refused:  # where the buttons are: what was typed must not be lost
        return _shown(request, agent, decision, form, warning=refused.sentence, status=422)
    if not request.htmx:
        own = reverse("datasets:decision_verdict", args=[agent.agent_id, decision.id])
        return after_post(request, sentence, to=safe_next(request, own))
    # The number in the rail is asked for again.
    return trigger_client_event(_shown(request, agent, decision, form, sentence=sentence), "judged")


@require_safe
@agent_view
@needs("viewer")
def decision_verdicts(request, agent):
    """What was said of the decisions that a list shows, each for its place in the row (HTMX, out of band)."""
    ids = DecisionsShown(request.GET).ids()
    rows = MemoryGateDecision.objects.using(agent.db).filter(id__in=ids).only("id", "turn_id", "window_hash")
    context = {"agent": agent, "rows": _rows(request, agent, list(rows)), **_last(request, agent)}
    return render(request, "datasets/decision_verdicts.html", context)


@require_POST
@agent_view
@needs("labeller")
def decisions_draw(request, agent):
    """Draw up to 20 decisions that nobody judged, and open their samples for review."""
    back = safe_next(request, reverse("gate:statistics", args=[agent.agent_id]))
    try:
        chosen = DrawForm(request.POST).chosen(agent.db)
        drawn = draws.draw(agent, by=request.user.username, **chosen)
    except Refused as refused:
        return refuse_post(request, refused, to=back)
    count = draws.count(drawn)
    if not count:
        messages.warning(request, _("No decision was drawn: none of them can become a sample."))
        return go(request, back)
    sentence = ngettext("%(count)s decision was drawn at random.", "%(count)s decisions were drawn at random.", count)
    return after_post(request, sentence % {"count": count}, to=Queue(draw=drawn.id).address())


def _judge(agent, decision, wanted, by):
    """Do what a form says; what was done, as a sentence."""
    verdict = wanted["verdict"]
    if verdict == UNDO:
        return undo.undo(by, wanted["expected"]).sentence
    right = None
    if verdict == judging.WRONG:  # the page has one form, with what somebody said before in it
        right = correction(wanted["correct_decision"], wanted["correct_fact"], wanted["correct_reason"])
    judging.say(agent, decision.id, verdict, by=by, correction=right, expected=wanted["expected"])
    return DONE[verdict]


def _last(request, agent, sentence=""):
    """This person's last verdict on a decision, to be undone from a list; `sentence` says what was undone."""
    is_labeller = request.user.has_role("labeller")
    sample = undo.last_verdict(request.user.username, agent.agent_id, GATE_TYPES) if is_labeller else None
    last = sample and {
        "sample": sample,
        "fact": fact_of(sample),
        "label": sample.gate_label,
        "give": reverse("datasets:decision_judge", args=[agent.agent_id, sample.decision_id]),
    }
    return {"last": last, "sentence": sentence}


def _shown(request, agent, decision, form=None, *, sentence="", warning="", status=200):
    if form and form.data.get("place") == ROW and request.htmx:
        row = {**_rows(request, agent, [decision])[0], "warning": warning}
        undone = sentence if form.data.get("verdict") == UNDO else ""
        context = {"agent": agent, "rows": [row], **_last(request, agent, undone)}
        return render(request, "datasets/decision_verdicts.html", context, status=status)
    samples = said.samples_of(agent.agent_id, [decision]).get(decision.id, [])
    known = said.of_samples({decision.id: samples}).get(decision.id)
    context = {
        "agent": agent,
        "decision": decision,
        "said": known,
        "own": said.own(samples),
        "sample": samples[0] if samples else None,
        "has_turn_sample": len(samples) > (said.own(samples) is not None and decision.turn_id is not None),
        "problem": _problem(agent, decision) if not samples else "",
        "form": form if form and warning else JudgeForm.about(known),
        "may_label": request.user.has_role("labeller"),
        "sentence": sentence,
        "warning": warning,
        "evidence": None if request.htmx else read_evidence(agent.db, decision, hides=consent.withheld),
    }
    return render_page(request, "datasets/decision_verdict.html", context, partial="decision_verdict", status=status)


def _problem(agent, decision):
    """Why a decision cannot become a sample, as a sentence; empty when it can."""
    try:
        seen_of(agent, decision)
    except Refused as refused:
        return refused.sentence
    return ""


def _rows(request, agent, decisions):
    samples = said.samples_of(agent.agent_id, decisions)
    known, may_label = said.of_samples(samples), request.user.has_role("labeller")
    alone = {one.id for one in decisions if one.turn_id is None and one.window_hash is not None}
    alone = set() if alone and consent.opted_out() else alone
    writes = around.of_decisions(agent.db, [one.id for one in decisions])
    return [
        {
            "decision": one,
            "said": known.get(one.id),
            "own": said.own(samples.get(one.id, [])),
            "write": writes.get(one.id),
            "may_label": may_label and (one.turn_id is not None or one.id in alone),
            "warning": "",
        }
        for one in decisions
    ]
