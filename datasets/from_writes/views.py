"""What people say of writes, on the pages of these: fragments that those pages ask for by address."""

from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from agents.decorators import agent_view
from gate.recording import consent
from guardian.models import WriteGuardianAudit
from ledger.session.evidence import read_evidence
from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, render_page, safe_next

from ..evidence import fact_of
from ..exporters.writes import WRITE
from ..review import undo
from . import judging, opinions, queueing, said
from .forms import ROW, UNDO, JudgeForm, WritesShown, correction
from .opinions import Opinion
from .seen import write_of

DONE = {
    judging.RIGHT: gettext_lazy("Marked as right."),
    judging.WRONG: gettext_lazy("Marked as wrong."),
    judging.NONE: gettext_lazy("Sample created."),
}


@require_safe
@agent_view
@needs("viewer")
def write_verdict(request, agent, audit_id):
    """What was said of a write, with buttons for who may say it. A page of its own for browsers without scripts."""
    return _shown(request, agent, write_of(agent, audit_id))


@require_POST
@agent_view
@needs("labeller")
def write_judge(request, agent, audit_id):
    """Say that a write is right or wrong, take that back, or create a sample without saying either."""
    audit, form = write_of(agent, audit_id), JudgeForm(request.POST)
    try:
        sentence = _judge(agent, audit, form.said(), request.user)
    except Refused as refused:  # where the buttons are: what was typed must not be lost
        return _shown(request, agent, audit, form, warning=refused.sentence, status=422)
    if not request.htmx:
        own = reverse("datasets:write_verdict", args=[agent.agent_id, audit.id])
        return after_post(request, sentence, to=safe_next(request, own))
    # The number in the rail is asked for again.
    return trigger_client_event(_shown(request, agent, audit, form, sentence=sentence), "judged")


@require_safe
@agent_view
@needs("viewer")
def write_verdicts(request, agent):
    """What was said of the writes that a list shows, each for its place in the row (HTMX, out of band)."""
    ids = WritesShown(request.GET).ids()
    found = WriteGuardianAudit.objects.using(agent.db).filter(id__in=ids).only("id", "turn_id", "origin")
    context = {"agent": agent, "rows": _rows(request, agent, list(found)), **_last(request, agent)}
    return render(request, "datasets/write_verdicts.html", context)


@require_POST
@agent_view
@needs("labeller")
def writes_queue(request, agent):
    """Send writes to review that were corrected or rolled back."""
    to = reverse("guardian:rule_list", args=[agent.agent_id])
    return after_post(request, queueing.queue(agent).sentence, to=safe_next(request, to))


def _judge(agent, audit, wanted, user):
    """Do what a form says; what was done, as a sentence."""
    by, verdict = user.username, wanted["verdict"]
    if verdict == UNDO:
        return undo.undo(by, wanted["expected"] or "").sentence
    right = None
    if verdict == judging.WRONG:  # the page has one form, with what somebody said before in it
        right = correction(wanted["correct_status"], wanted["correct_reason"])
    if verdict == judging.RIGHT:  # with the correction that it takes where somebody, or a rule, said otherwise
        opinion = Opinion(opinions.RIGHT, expected=wanted["expected"], may_end_rule=user.has_role("operator"))
        opinions.give(agent, audit.id, opinion, by=by)
    else:
        judging.say(agent, audit.id, verdict, by=by, correction=right, expected=wanted["expected"])
    return DONE[verdict]


def _last(request, agent, sentence=""):
    """This person's last verdict on a write, to be undone from a list; `sentence` says what was undone."""
    is_labeller = request.user.has_role("labeller")
    sample = undo.last_verdict(request.user.username, agent.agent_id, (WRITE,)) if is_labeller else None
    last = sample and {
        "sample": sample,
        "fact": fact_of(sample),
        "label": sample.guardian_label,
        "give": reverse("datasets:write_judge", args=[agent.agent_id, sample.audit_id]),
    }
    return {"last": last, "sentence": sentence}


def _shown(request, agent, audit, form=None, *, sentence="", warning="", status=200):
    if form and form.data.get("place") == ROW and request.htmx:
        row = {**_rows(request, agent, [audit])[0], "warning": warning}
        undone = sentence if form.data.get("verdict") == UNDO else ""
        context = {"agent": agent, "rows": [row], **_last(request, agent, undone)}
        return render(request, "datasets/write_verdicts.html", context, status=status)
    sample = said.samples_of(agent, [audit.id]).get(audit.id)
    known = said.of_sample(sample)
    context = {
        "agent": agent,
        "audit": audit,
        "said": known,
        "sample": sample,
        "problem": "" if sample else judging.why_no_sample(agent, audit),
        "may_label": request.user.has_role("labeller"),
        "sentence": sentence,
        "warning": warning,
        "evidence": None if request.htmx else read_evidence(agent.db, audit, hides=consent.withheld),
    }
    return render_page(request, "datasets/write_verdict.html", context, partial="write_verdict", status=status)


def _rows(request, agent, audits):
    samples = said.samples_of(agent, [one.id for one in audits])
    may_label = request.user.has_role("labeller")
    return [
        {
            "audit": one,
            "said": said.of_sample(samples.get(one.id)),
            "sample": samples.get(one.id),
            "may_label": may_label and one.turn_id is not None and one.origin != WriteGuardianAudit.Origin.ROLLBACK,
            "warning": "",
        }
        for one in audits
    ]
