"""Adds the acts of people in the demo over four weeks: verdicts, datasets with releases, an export, events."""

import json

from django.utils.translation import gettext as _

from agents.models import Agent
from datasets.exports import jobs as exports
from datasets.finding_values import verdicts as finding_verdicts
from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from datasets.kinds.kind import RIGHT, WRONG
from datasets.models import Dataset, DatasetExport, DatasetSample, FindingValue
from datasets.releases import contamination, dataset_store, release
from datasets.review.verdicts import label_sample
from datasets.services import make_samples
from episodes import redaction
from episodes.append import append
from episodes.capture import services as capture
from episodes.capture import switches
from episodes.events import build_event
from gate.models import GateReplayDecision, MemoryGateDecision
from guardian.models import WriteGuardianAudit
from jobs import services as jobs
from jobs.progress import Listener
from ledger.models import ConversationTurn, Session
from openclaw_web import clock
from openclaw_web.errors import Refused
from search import fill as search

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
WEEKS_MS = 28 * DAY_MS
FIRST_RELEASE_MS, SECOND_RELEASE_MS = 15 * DAY_MS, 3 * DAY_MS  # before now
SAMPLED = (
    *("agent:main:main", "agent:main:openai:faq-widget", "agent:main:openai:wholesale-quote", "agent:research:main"),
    *(f"agent:main:telegram:direct:{number}" for number in (555000101, 555000102, 555000103)),
    *(f"agent:research:telegram:direct:{number}" for number in (555000201, 555000202)),
)
NOBODYS_WORDS = ("A new session was started", "[System Message]")
PASSING_REMARKS = (
    "Asked what time it is.",
    "Said thank you.",
    "Was looking for a file today.",
    "It rained this morning.",
)
DATASETS = (
    ("Bakery replies", "What customers ask, and how Crumb should answer.", "main"),
    ("Lab notes", "Questions about runs and papers, in English and Chinese.", "research"),
)
# Questions of an invented benchmark; the first is one that a customer of the demo asked.
BENCHMARK = "Allergen questions"
SCOPE = "bakery"
# Days before now, type, summary and payload of events that somebody appended by hand.
EVENTS = (
    (26, "ops.decision", "Orders close at 20:00 for the next morning", {"asked": "Mei", "applies_to": "all channels"}),
    (19, "ops.observation", "The deck oven lost twenty degrees twice this week", {"oven": "deck", "times": 2}),
    (12, "ops.decision", "What a product contains is read from reference/allergens.md only", {"asked": "Mei"}),
    (6, "ops.alert", "A customer was told that the tide sourdough has no sesame", {"product": "LOAF-TIDE"}),
    (5, "ops.decision", "Customers with an allergy are called back", {"number": "in the order book"}),
    (1, "ops.observation", "No wrong allergen since the rule", {"days": 5}),
)
REDACTED = 4  # the event of which later only the row is left


def judge(*, by: str, listener: Listener) -> None:
    """Add everything of this module, as far as it is not there yet, and report the turns that are judged."""
    if not DatasetSample.objects.exists():
        jobs.run_now("findings_scan", {}, by=by, listener=listener)
        _judge_turns(by, listener)
        _judge_decisions(by)
        _judge_findings(by)
    if not DatasetExport.objects.filter(state=DatasetExport.State.READY).exists():
        export, job = exports.make_here("Bakery replies", "sharegpt", "reply", by=by)
        if export.state != export.State.READY:
            raise Refused(job.message)
    # Capture the events of two weeks, append some by hand, and redact one of these.
    agent, now = Agent.objects.filter(agent_id="main").first(), clock.now_ms()
    if agent is None or switches.read_capture(agent.db).is_on:
        return
    events = [
        build_event(
            type=kind, scope=SCOPE, session_id="kitchen-book", agent_id="crumb", summary=summary, payload=payload,
            ts_ms=now - days * DAY_MS,
        )
        for days, kind, summary, payload in EVENTS
    ]  # fmt: skip
    append(agent.db, events)
    redaction.redact(agent, redaction.Redaction(SCOPE, events[REDACTED].event_id, None), by=by)
    switches.set_capture(agent, is_on=True, since_ms=now - 14 * DAY_MS, by=by)
    capture.capture_agent(agent)
    search.fill_all()


def _judge_turns(by, listener):
    """Create samples on the days of their turns and judge most of them; release datasets in between."""
    now, turns = clock.now_ms(), []
    for agent in Agent.objects.order_by("agent_id"):
        sessions = Session.objects.using(agent.db).filter(session_key__in=SAMPLED).values_list("id", flat=True)
        rows = ConversationTurn.objects.using(agent.db).active().filter(session_id__in=list(sessions))
        turns += [(max(row.created_at, now - WEEKS_MS), agent, row) for row in rows]
    releases = [(now - FIRST_RELEASE_MS, DATASETS), (now - SECOND_RELEASE_MS, DATASETS[:1])]
    for done, (moment, agent, turn) in enumerate(sorted(turns, key=lambda each: (each[0], each[2].id)), 1):
        listener(done, len(turns), _("Judging turns"))
        while releases and releases[0][0] < moment:
            _release(*releases.pop(0), by)
        with clock.shift_to(min(moment + 2 * HOUR_MS, now)):
            make_samples(agent, turn.session_id, [turn.turn_number], by=by, include_excluded=False)
        for sample in DatasetSample.objects.filter(agent_id=agent.agent_id, turn_id=turn.id):
            if verdict := _choose_verdict(sample):
                with clock.shift_to(min(moment + (3 + int(sample.id[:2], 16) % 40) * HOUR_MS, now)):
                    label_sample(sample.id, verdict[0], by=by, output=verdict[1], notes=verdict[2])
    for moment, datasets in releases:
        _release(moment, datasets, by)


def _choose_verdict(sample):
    """The status, edited reply and notes of a sample; None for one that waits."""
    status = DatasetSample.Status
    body, draw = sample.body, int(sample.id[:4], 16) % 12
    reply = body["agentReply"].strip()
    first, _sep, rest = reply.partition("\n\n")
    if "sk-fake" in body["userMessage"]:
        return status.REJECTED, None, "There is a key in it."
    if body["userMessage"].startswith(NOBODYS_WORDS):
        return status.REJECTED, None, "Nobody said that, the gateway did."
    if len(reply) < 8 or reply == "NO_REPLY":
        return status.REJECTED, None, "Nothing to learn from."
    if draw < 3:
        return None
    if draw == 3:
        return status.NEEDS_REVIEW, None, "Is the number right? Ask the bakery."
    if draw < 9 and rest and len(first) > 24:
        return status.APPROVED, first, "The first paragraph is the answer."
    if draw == 9 and len(reply) > 300:
        return status.REJECTED, None, "Too long for a chat."
    return status.APPROVED, None, ""


def _release(moment, datasets, by):
    with clock.shift_to(moment):
        for name, description, agent_id in datasets:
            dataset = Dataset.objects.filter(name=name).first()
            if dataset is None:
                options = {"agent": agent_id}
                dataset = dataset_store.create_dataset(name, description=description, options=options, by=by)
            notes = "More verdicts." if dataset.versions.exists() else "The first weeks."
            version = release.release_here(dataset, by=by, notes=notes)
        if len(datasets) == 1:
            question = (
                DatasetSample.objects.filter(agent_id="main", annotation_status="approved").order_by("id").first()
            )
            lines = [question.body["userMessage"], "Which of these breads may a person with a sesame allergy eat?"]
            benchmark = contamination.add_benchmark(
                BENCHMARK, [json.dumps({"question": line}).encode() for line in lines], by=by
            )
            jobs.run_now(
                contamination.JOB_KIND,
                {"benchmark_id": benchmark.id, "subject": "version", "subject_id": version.pk},
                by=by,
            )


def _judge_decisions(by):
    """Judge a third of the decisions that were replayed: passing remarks should not be remembered."""
    for agent in Agent.objects.order_by("agent_id"):
        replayed = list(GateReplayDecision.objects.using(agent.db).values_list("decision_id", flat=True))
        written = WriteGuardianAudit.objects.using(agent.db).filter(status="written").exclude(turn_id=None)
        rows = MemoryGateDecision.objects.using(agent.db).filter(id__in=replayed)
        rows = rows.exclude(turn_id__in=list(written.values_list("turn_id", flat=True)))
        for row in rows.order_by("created_at", "id")[::3]:
            is_wrong = row.candidate_fact in PASSING_REMARKS
            reason = "Nothing that will matter in another conversation."
            correction = Correction(MemoryGateDecision.Decision.NO_WRITE, reason=reason) if is_wrong else None
            try:
                with clock.shift_to(min(row.created_at + 9 * HOUR_MS, clock.now_ms())):
                    verdict_service.give_verdict(
                        DECISION, agent, row.id, WRONG if is_wrong else RIGHT, by=by, correction=correction
                    )
            except Refused:  # for example a turn that is a copy of another: it stays without a verdict
                continue


def _judge_findings(by):
    """Confirm keys and passwords, dismiss half of the rest; some wait."""
    now = clock.now_ms()
    for number, value in enumerate(FindingValue.objects.order_by("first_found_at", "value_hash")[:12]):
        verdict = (
            "confirmed" if value.kind in ("key", "password", "secret") else ("dismissed", "", "confirmed")[number % 3]
        )
        if verdict:
            with clock.shift_to(now - (20 - number) * DAY_MS):
                finding_verdicts.decide(verdict, scope="value", value_hash=value.value_hash, by=by)
