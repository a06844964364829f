"""Adds any number of rows of everything that pages show, for the agent ada."""

from pathlib import Path

from django.conf import settings

from agents.databases import get_alias
from agents.models import Agent, CollectorSource
from automation.models import CronJob
from benchmarks import bulk_rows
from datasets.models import DatasetExport
from datasets.review import verdicts
from episodes.chain import heads
from gate import verdict_store
from gate.models import GateCall, GatePrompt, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.statistics import sums
from guardian.files import MEMORY_FILES
from guardian.models import GuardianRun, GuardianStatus, GuardianStep, Handover
from jobs import kinds
from jobs.models import JobRun
from ledger.models import IndexedFile, Session, VfsEntry
from openclaw_web.disk import packing
from openclaw_web.lists import declaration
from operations.checkpoints import services as checkpoints
from operations.models import Remediation
from people.accounts import invitations, services, tokens
from people.configuration import saved_views
from people.models import SignIn
from tests import factories
from tests.datasets.dataset_rows import DATASET, QUEUE, fill_datasets
from tests.episodes.ledger_events import store_event
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import create_write
from tests.homes import assistant, result, user
from tests.ledger.checkpoints.checkpoint_packs import compaction
from tests.ledger.outputs.stored_outputs import list_handles, make_output
from tests.ledger.transcript_records import store_session, store_step

DB = "agent_ada"
ALWAYS = {"created_at": factories.T0, "last_seen_at": factories.T0, "expires_at": 2**50}
# Jobs whose runs a page of System lists: state, parameters and result.
CLEARED = '{"removed": 0, "removedBytes": 0, "kept": 1, "young": 0}'
RUNS = {
    **dict.fromkeys(("retention", "archive"), ("failed", '{"days": 9}', None)),
    "collection": ("finished", '{"run": 1}', "{}"),
    "artifact_gc": ("finished", '{"older_than": 0, "is_dry_run": true, "by": "x"}', CLEARED),
}
LINTED = "Run openclaw status --json and report."


def fill_everything(count, person):
    """Add `count` rows of everything; return values for addresses and headings."""
    agent = factories.AgentFactory(agent_id="ada")
    bulk_rows.fill_sessions(DB, count)
    bulk_rows.fill_agent(DB, count)
    bulk_rows.fill_gate(DB, count)
    bulk_rows.fill_guardian(DB, count)
    sums.rebuild(DB)
    bulk_rows.fill_artifacts(DB, count)
    bulk_rows.fill_site(count, agent="ada")
    bulk_rows.fill_extras(count, agent="ada")
    bulk_rows.fill_agents(count)
    facts = (
        _fill_conversation(count)
        | _fill_files(count)
        | _fill_samples(count, person)
        | _fill_episodes(count)
        | _fill_operations(count)
        | _fill_people(count, person)
    )
    fill_datasets(count, agent="ada", db=DB)
    verdict_store.copy_all(agent)
    return (
        facts
        | build_heading_names(facts, "ada")
        | {
            "artifact_name": "ls 1",
            "guest": f"other{count - 1}",
            "person": person.username,
            "dataset": DATASET,
            "dataset_name": "dataset 0",
            "queue": QUEUE,
            "queue_name": "queue 0",
        }
    )


def build_heading_names(facts, agent):
    """The values that headings of single rows of an agent contain."""
    db = get_alias(agent)
    return {
        "agent": agent,
        "title": Session.objects.using(db).get(id=facts["session"]).title,
        "fact": MemoryGateDecision.objects.using(db).get(id=facts["decision"]).candidate_fact,
        "cron_name": CronJob.objects.get(agent_id=agent, id=facts["cron"]).name,
        "export_name": DatasetExport.objects.get(id=facts["export"]).export_name,
        "job_name": kinds.get_label(JobRun.objects.get(id=facts["job"]).kind),
    }


def _fill_replays(count):
    """Add `count` replays, one of them with `count` changed decisions."""
    about = {"llm_model": "gate-2", "prompt_version": "v2", "started_by": "root", "created_at": factories.T0}
    about |= {"state": "finished", "total": count, "decided": count}
    names = list(MemoryGateDecision.objects.using(DB).filter(session_id="s1").values_list("id", flat=True)[:count])
    for number in range(count, 0, -1):
        GateReplay(id=f"r{number}", **about).save(using=DB)
    values = {
        "original": "UPDATE_USER",
        "decision": "NO_WRITE",
        "is_same": False,
        "outcome": "decided",
        "reason": "No.",
    }
    GateReplayDecision.objects.using(DB).bulk_create(
        GateReplayDecision(replay_id="r1", decision_id=name, number=number, created_at=factories.T0, **values)
        for number, name in enumerate(names)
    )


def _fill_conversation(count):
    """Add a session with `count` turns, long outputs, branches, compactions, steps and decisions."""
    store_session(*_build_records(count), session_id="s1")
    session = Session.objects.using(DB).get(id="s1")
    for number in range(count):
        store_step(number + 1)
        factories.DecisionFactory(session_id="s1", turn_id=f"s1:r{number * 5 + 1}")
        factories.DecisionFactory(session_id="s1", turn_id="s1:r1", origin="own")
        factories.GateCallFactory(session_id="s1", turn_id="s1:r1")
        factories.PromptFactory()
    _fill_replays(count)
    agent = Agent.objects.get(agent_id="ada")
    packs = [built.row.sha256 for built in checkpoints.build_checkpoints(agent, session, "all", by="root")]
    return {
        "session": "s1",
        "turn": "s1:r1",
        "record": session.leaf_record_id,
        "step": "id1",
        "artifact": list_handles()[0][-64:],
        "checkpoint": packs[-1],
        "decision": MemoryGateDecision.objects.using(DB).filter(turn_id="s1:r1", origin="recorded")[0].id,
        "call": GateCall.objects.using(DB).filter(turn_id="s1:r1")[0].id,
        "replay": "r1",
        "prompt": GatePrompt.objects.using(DB).latest("id").id,
    }


def _build_records(count):
    for number in range(1, count + 1):
        first = (number - 1) * 5 + 1
        yield user(f"question {number}")
        yield assistant("Looking.", (f"c{number}", "exec", {"command": f"ls {number}"}))
        yield result(f"c{number}", make_output(900, needle=f"error {number}"), details={"exitCode": 1})
        yield assistant(f"an answer that is left {number}") | {"parentId": f"r{first + 2}"}
        yield assistant(f"reply {number}") | {"parentId": f"r{first + 2}"}
    for number in range(1, count + 1):
        yield compaction(f"r{(number - 1) * 5 + 1}", summary=f"## Goal\nSummary {number}")
    yield user("Go on")
    yield assistant("Yes.")


def _fill_files(count):
    for number in range(count):
        factories.SnapshotFactory(content=f"# Memory\n{number}\n{LINTED}\n")
        factories.WorkspaceFileFactory(file_name=f"notes/{number}.md", content=f"{number}\n{LINTED}\n")
        IndexedFile.objects.using(DB).create(database="d", source="memory", path=f"{number}.md", chunk_count=1)
        VfsEntry.objects.using(DB).create(namespace="workspace", path=f"{number}.md", bytes=17)
    _fill_corrections(count)
    facts = {
        "corrected": "w1000",
        "file": "MEMORY.md",
        "write": _fill_writes(count),
        "proposal": _fill_proposals(count),
    }
    return facts | {"handover": _fill_handovers(count)}


def _fill_corrections(count):
    """Add corrected writes, each with a rule, and many corrections of the first."""
    for number in range(count):
        create_write(
            DB, 1000 + number, None, b"%d" % number, candidate_fact=f"fact {'x' * number}.", target_file="USER.md"
        )
        pattern = f"x{{{number}}}[.]" if number else "fact [.]"
        create_correction("w1000", status="written", file=MEMORY_FILES[number % 3 + 2], reason=f"Reason {number}.")
        create_correction(f"w{1000 + number}", apply_to_future=True, pattern=pattern)
    create_write(DB, 2000, None, b"", candidate_fact="fact .", target_file="USER.md")  # a rule catches it


def _fill_writes(count):
    """Add writes of one turn and decision, each with statuses and a retry."""
    decision = MemoryGateDecision.objects.using(DB).filter(turn_id="s1:r1", origin="recorded")[0]
    about = {"session_id": "s1", "turn_id": "s1:r1", "decision_id": decision.id}
    for number in range(count):
        columns = {**about, "earliest_at": factories.T0, "retry_of": f"w{number - 1}" if number else None}
        write = create_write(DB, number, b"line\n" * number, b"line\n" * (number + 1), **columns)
        statuses = [GuardianStatus(audit=write, status="written", given_by="root", created_at=n) for n in range(count)]
        GuardianStatus.objects.using(DB).bulk_create(statuses)
    _create_workspace(b"line\n" * count)
    return "w0"


def _create_workspace(memory):
    """Create a workspace of the agent with this MEMORY.md."""
    root = Path(settings.HOME_DIR).resolve() / "openclaw-of-ada"
    for folder in ("agents/ada/sessions", "workspace-ada"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "openclaw.json").write_text("{}")
    (root / "workspace-ada" / "MEMORY.md").write_bytes(memory)
    CollectorSource.objects.create(source_key="w", kind="agent", root=str(root), path="agents/ada", agent_id="ada")
    Agent.objects.filter(agent_id="ada").update(home_name="ada")


def _fill_proposals(count):
    """Add open proposals; all their steps belong to the first."""
    about = {"target_file": "MEMORY.md", "candidate_fact": "Likes tea.", "state": "proposed", "started_by": "root"}
    about |= {"before_zstd": packing.pack(b"a\n"), "after_zstd": packing.pack(b"a\nb\n"), "created_at": factories.T0}
    for number in range(count):
        GuardianRun(id=f"p{number}", **about).save(using=DB)
        GuardianStep(id=f"p{number}-1", run_id="p0", number=number, outcome="answered", created_at=1).save(using=DB)
    return "p0"


def _fill_handovers(count):
    """Add changes of one write that were handed to the agent."""
    about = {"file_name": "MEMORY.md", "audit_id": "w0", "run_id": "p0", "asked_by": "root", "own_audit_id": "o"}
    about |= {"now_hash": "", "before_hash": "", "wanted_hash": "", "state": "ended", "outcome": "other"}
    for number in range(count):
        Handover(id=f"h{number}", created_at=factories.T0 + number, **about).save(using=DB)
    return "h0"


def _fill_samples(count, person):
    """Add samples of the session's turns, one of them judged `count` times, and exports."""
    samples = [
        factories.SampleFactory(
            session_id="s1", turn_number=number + 1, turn_id=f"s1:r{number * 5 + 1}", created_at=factories.T0 * 2
        )
        for number in range(count)
    ]
    for _again in range(count):
        verdicts.label_sample(samples[0].id, "needs_review", by=person.username)
        factories.ExportFactory(state="ready")
    return {"sample": samples[0].id, "export": factories.ExportFactory(state="ready").id}


def _fill_episodes(count):
    """Add events of one session, heads that were given out, and more scopes."""
    for number in range(count):
        store_event(event_id=f"e{number}", refs={"toolCallId": "c1", "artifact": list_handles()[0]})
        store_event(event_id=f"s{number}", scope=f"scope-{number}")
        heads.give_out(DB, "screen")
    return {"event": "e0"}


TRACE = "01KBCXYZ0000000000000000ZZ"


def _fill_operations(count):
    for kind, (state, params, outcome) in RUNS.items():
        for _run in range(min(count, 6)):  # less than a page of jobs in all
            factories.JobFactory(kind=kind, state=state, params_json=params, result_json=outcome)
    for number in range(count):
        factories.CronJobFactory(prompt=LINTED)
        factories.CronRunFactory(job_id="x", seq=1000 + number)
        factories.SubagentRunFactory(requester_session_key="agent:main:webchat:direct:s1")
    plan = Remediation.objects.create(id="p1", agent_id="ada", turn_id="s1:r1", started_by="x", created_at=factories.T0)
    for number in range(count):
        plan.steps.create(number=number, kind="reject", key="x", title="x", state="done")
    factories.JobFactory(kind="trace", state="finished", params_json=f'{{"trace":"{TRACE}"}}', result_json="{}")
    return {"cron": "x", "remediation": plan.id, "trace": TRACE, "job": JobRun.objects.order_by("id")[0].id}


def _fill_people(count, person):
    for number in range(count):
        other = factories.UserFactory(username=f"other{number}")
        SignIn.objects.create(id=f"s{number}", user=person, session_key=f"k{number}", how="password", **ALWAYS)
        tokens.make_token(person, name=f"own {number}", role="viewer")
        tokens.make_token(other, name="theirs", role="viewer")
        for on in declaration.find_lists():
            saved_views.save_view(person.username, on, f"view {number}", "?sort=x")
        link = services.make_sign_in_link(other)
        invitation = invitations.invite("labeller", by="root", days=1)[1]
    return {"welcome": link.split("/")[2], "invitation": invitation.split("/")[2]}
