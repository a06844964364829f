"""Adds rows that the pages of tests/whole/pages.py need to the demonstration site."""

import json

from agents.databases import get_alias
from agents.models import Agent
from artifacts import services as artifacts
from automation.models import CronJob
from datasets.models import DatasetExport, DatasetSample
from gate.models import GateCall, GatePrompt, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.recording import decision_store as decisions
from gate.recording import reports as by_gate
from gate.recording.windows import Window
from guardian.corrections.correction_store import correct_write
from guardian.models import GuardianRun, Handover, WriteGuardianAudit
from guardian.recording import reports as by_guardian
from guardian.recording import write_store as writes
from jobs.models import JobRun
from ledger.collectors.trajectories import Step
from ledger.models import Session
from ledger.transcripts import extras_store
from openclaw_web.disk import packing
from operations.checkpoints import services as checkpoints
from operations.models import Remediation
from people.accounts import invitations
from people.accounts import services as accounts
from people.models import User
from tests.datasets.dataset_rows import DATASET, QUEUE, fill_datasets
from tests.episodes.ledger_events import store_event
from tests.whole.site_rows import build_heading_names

AGENT = "main"
DB = f"agent_{AGENT}"
FACT = {"candidate_fact": "Likes tea.", "reason": "New."}


def add_facts():
    """Add all rows; return the values for addresses and headings as JSON without spaces."""
    session = Session.objects.using(get_alias(AGENT)).order_by("-turn_count", "id")[0]
    turn = session.turns.exclude(agent_message_id=None).order_by("-turn_number")[0]
    about = {"session_id": session.id, "turn_id": turn.id}
    facts = (
        _add_session_rows(session)
        | _add_gate_rows(turn, about)
        | _add_writes(turn, about)
        | _add_file_changes(turn)
        | _add_events(session)
        | _add_site_rows()
    )
    fill_datasets(2, agent=AGENT, db=DB)
    facts |= {"dataset": DATASET, "dataset_name": "dataset 0", "queue": QUEUE, "queue_name": "queue 0"}
    named = {"artifact_name": "Text", "person": "demo", "guest": "mei"} | build_heading_names(facts, AGENT)
    text = json.dumps({name: str(value) for name, value in (facts | named).items()}, separators=(",", ":"))
    return text.replace(" ", "\\u0020")


def _add_session_rows(session):
    """Add a step, a long output and a compaction."""
    compacted = Session.objects.using(DB).filter(compaction_count__gt=0).order_by("-compaction_count", "id")[0]
    step = Step(session.id, 1, "run", "session.started", 1)
    extras_store.store_steps(DB, [step])
    place = artifacts.Place(session.id, None, session.leaf_record_id, "exec")
    artifact = artifacts.stash(DB, "a token in a line\n" * 900, place=place)[0]
    checkpoint = next(checkpoints.build_checkpoints(Agent.objects.get(agent_id=AGENT), compacted, by="demo"))
    plan = Remediation.objects.create(id="p1", agent_id=AGENT, turn_id=f"{session.id}:x", started_by="x", created_at=1)
    plan.steps.create(number=0, kind="reject", key="x", title="x", state="done")
    facts = {
        "session": session.id,
        "turn": session.turns.latest("id").id,
        "remediation": plan.id,
        "record": session.leaf_record_id,
        "step": step.id,
    }
    return facts | {"artifact": artifact.sha256, "checkpoint": checkpoint.row.sha256}


def _add_gate_rows(turn, about):
    """Add decisions of one turn, a failed call, two versions of a prompt, and a replay."""
    about = about | {"llm_model": "gate-1", "llm_latency_ms": 6200, "prompt_version": "v2", "cost_usd": 0.0002}
    about["created_at"] = turn.created_at + 2000
    facts = {**FACT, "decision": "UPDATE_USER", "reason": "Tells what they like.", "raw_response": "{}"}
    window = Window(({"role": "user", "message": "Good morning", "timestamp": turn.created_at},), None, "Tea it is.")
    rows = [MemoryGateDecision(id=name, saw_user=False, **facts, **about) for name in ("a1", "a2")]
    sources = ((by_gate.Source.API, window), (by_gate.Source.LOG, None))
    decisions.store_reports(DB, [by_gate.Report(row, *source) for row, source in zip(rows, sources, strict=True)])
    failed = GateCall(
        id="c1", origin="own", outcome="malformed", failure="not_json", **(about | {"reason": "No JSON."})
    )
    decisions.store_calls(DB, [failed])
    for name, text in (("v1", "Decide."), ("v2", "Decide well.")):
        GatePrompt.objects.using(DB).create(id=name, text=text, created_at=turn.created_at)
    _add_replay(turn)
    return {"decision": "a1", "call": failed.id, "prompt": "v2", "replay": "demo-replay"}


def _add_replay(turn):
    about = {"llm_model": "gate-2", "prompt_version": "v2", "started_by": "demo", "created_at": turn.created_at}
    GateReplay(id="r1", state="finished", total=2, decided=2, agreed=1, **about).save(using=DB)
    values = {"replay_id": "r1", "original": "UPDATE_USER", "outcome": "decided", "reason": "Says so."}
    values |= {"llm_latency_ms": 900, "cost_usd": 0.001}
    for number, (name, decision) in enumerate([("a1", "UPDATE_USER"), ("a2", "NO_WRITE")]):
        values |= {"decision_id": name, "number": number, "decision": decision, "is_same": decision == "UPDATE_USER"}
        GateReplayDecision.objects.using(DB).create(**values)


def _add_writes(turn, about):
    """Add two writes with the same change, and a write corrected with a rule for others."""
    about = about | FACT | {"status": "written", "created_at": turn.created_at + 3000}
    sides = b"# Memory\n" + b"line\n" * 20, b"# Memories\n" + b"line\n" * 20 + b"Likes tea.\n"
    of_turn = {"target_file": "MEMORY.md", "decision_id": "a1", "match": "exact", "is_diff_shared": True}
    _store_writes(dict.fromkeys(("m1", "m2"), sides), **about, **of_turn)
    _store_writes({"k1": (b"", b"k1")}, target_file="USER.md", **about)
    rule = {"status": "refused", "reason": "Said in jest.", "apply_to_future": True, "by": "demo"}
    correct_write(Agent.objects.get(agent_id=AGENT), "k1", **rule)
    _store_writes({"k2": (b"", b"k2")}, target_file="USER.md", **about)
    return {"write": "m1", "corrected": "k1"}


def _store_writes(changes, **columns):
    """Store writes as the API reports them: {name: content before and after}."""
    rows = [
        (WriteGuardianAudit(id=name, **columns), by_guardian.FileChange(*change)) for name, change in changes.items()
    ]
    writes.store_reports(DB, [by_guardian.Report(row, by_guardian.Source.API, change) for row, change in rows])


def _add_file_changes(turn):
    """Add a proposed write, and a change that was handed to the agent."""
    packed = {"before_zstd": packing.pack(b"a\n"), "after_zstd": packing.pack(b"a\nb\n"), "before_hash": "x"}
    about = {"target_file": "MEMORY.md", "candidate_fact": "Likes tea.", "state": "proposed", "started_by": "demo"}
    GuardianRun(id="p1", created_at=turn.created_at, **about, **packed).save(using=DB)
    change = {"file_name": "MEMORY.md", "audit_id": "m1", "own_audit_id": "h1", "asked_by": "demo"}
    change |= {"now_hash": "", "before_hash": "", "wanted_hash": "", "state": "ended", "outcome": "timed_out"}
    change |= {"before_zstd": packed["before_zstd"], "wanted_zstd": packed["after_zstd"], "answer": "Busy."}
    Handover(id="h1", created_at=turn.created_at, **change).save(using=DB)
    return {"proposal": "p1", "handover": "h1", "file": "MEMORY.md"}


def _add_events(session):
    """Add a tool call with its result, and a redacted event."""
    at = {"session_id": session.id, "ts_ms": session.last_activity_at}
    refs = {"toolCallId": "c1"}
    store_event(event_id="e1", db=DB, type="tool.call", payload={"tool": "exec"}, refs=refs, **at)
    store_event(event_id="e2", db=DB, type="tool.result", summary="Done.", refs=refs, **at)
    store_event(event_id="e3", db=DB, is_redacted=True, **at)
    return {"event": "e1"}


def _add_site_rows():
    """Add a user with a sign-in link, and an invitation.

    Rows that the demonstration has already are returned with them.
    """
    accounts.add_user("mei", User.Role.LABELLER)
    trace = "01KBCXYZ0000000000000000ZZ"
    about = {"id": trace, "kind": "trace", "params_json": f'{{"trace":"{trace}"}}', "started_by": "demo"}
    JobRun.objects.create(**about, state="finished", created_at=1)
    return {
        "sample": DatasetSample.objects.order_by("id")[0].id,
        "trace": trace,
        "export": DatasetExport.objects.order_by("id")[0].id,
        "job": JobRun.objects.order_by("id")[0].id,
        "cron": CronJob.objects.filter(agent_id=AGENT).order_by("id")[0].id,
        "welcome": accounts.make_sign_in_link(User.objects.get(username="mei")).split("/")[2],
        "invitation": invitations.invite("labeller", by="demo", days=1)[1].split("/")[2],
    }
