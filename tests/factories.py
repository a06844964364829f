"""The smallest valid row of each model; `db=` says whose file."""

import hashlib

import factory
import orjson
from factory.django import DjangoModelFactory

from agents.models import Agent
from automation.models import CronJob, CronRunLog, SubagentRun
from datasets.models import DatasetExport, DatasetSample
from gate.models import GateCall, GatePrompt, MemoryGateDecision
from guardian.models import FileSnapshot, WorkspaceFile
from jobs.models import JobRun
from ledger.models import ConversationTurn, RejectedRecord, Session, TranscriptEvent
from operations.models import BackupRun
from people.models import User

T0 = 1_767_571_200_000  # 2026-01-05T00:00:00Z


class AgentFactory(DjangoModelFactory):
    class Meta:
        model = Agent
        django_get_or_create = ("agent_id",)

    agent_id = "ada"
    created_at = T0
    updated_at = T0
    agent_db_path = factory.LazyAttribute("agents/{0.agent_id}/agent/openclaw-agent.sqlite".format)


class UserFactory(DjangoModelFactory):
    class Meta:
        model = User
        django_get_or_create = ("username",)

    username = factory.Sequence("person-{}".format)
    role = "viewer"
    password = factory.django.Password("correct horse battery")


class InFile(DjangoModelFactory):
    """Every row is created in the file named by `db`; sub-factories follow their parent."""

    class Meta:
        abstract = True

    @classmethod
    def _create(cls, model_class, *args, db="agent_ada", **kwargs):
        return model_class.objects.using(db).create(*args, **kwargs)


class SessionFactory(InFile):
    class Meta:
        model = Session

    db = "agent_ada"
    id = factory.Sequence("session-{}".format)
    session_key = factory.LazyAttribute("agent:main:webchat:direct:{0.id}".format)
    channel_id = "webchat"
    created_at = factory.Sequence(lambda n: T0 + n * 60_000)
    last_activity_at = factory.SelfAttribute("created_at")


class TurnFactory(InFile):
    class Meta:
        model = ConversationTurn

    db = "agent_ada"
    session = factory.SubFactory(SessionFactory, db=factory.SelfAttribute("..db"))
    turn_number = factory.Sequence(lambda n: n + 1)
    id = factory.LazyAttribute(lambda turn: f"{turn.session.id}:u{turn.turn_number}")
    user_message_id = factory.LazyAttribute(lambda turn: f"u{turn.turn_number}")
    user_message_content = "Please check the nightly import."
    agent_message_content = "It failed on the last line."
    created_at = T0
    first_seq = 0
    last_seq = 0


class EventFactory(InFile):
    class Meta:
        model = TranscriptEvent

    db = "agent_ada"
    session = factory.SubFactory(SessionFactory, db=factory.SelfAttribute("..db"))
    seq = factory.Sequence(int)
    event_id = factory.LazyAttribute(lambda event: f"r{event.seq}")
    event_type = "message"
    kind = "user"
    created_at = T0
    event_json = factory.LazyAttribute(
        lambda event: orjson.dumps(
            {"type": "message", "id": f"r{event.seq}", "message": {"role": "user", "content": "Hello"}}
        ).decode()
    )


class DecisionFactory(InFile):
    class Meta:
        model = MemoryGateDecision

    db = "agent_ada"
    id = factory.Sequence("decision-{}".format)
    session_id = "session-0"
    decision = "UPDATE_USER"
    reason = "A stable preference."
    candidate_fact = "prefers mornings"
    created_at = T0


class GateCallFactory(InFile):
    class Meta:
        model = GateCall

    db = "agent_ada"
    id = factory.Sequence("call-{}".format)
    session_id = "session-0"
    origin = "own"
    outcome = "failed"
    failure = "timeout"
    reason = "The endpoint did not answer."
    created_at = T0


class PromptFactory(InFile):
    class Meta:
        model = GatePrompt

    db = "agent_ada"
    id = factory.Sequence("prompt-{}".format)
    text = "Decide what is worth remembering."
    created_at = T0


class RejectedFactory(InFile):
    class Meta:
        model = RejectedRecord

    db = "agent_ada"
    file = "agents/main/sessions/x.jsonl"
    byte_offset = factory.Sequence(int)
    byte_length = 10
    reason = "not_json"
    created_at = T0


class SampleFactory(DjangoModelFactory):
    class Meta:
        model = DatasetSample

    id = factory.Sequence("sample-{}".format)
    sample_type = "annotated_turn"
    agent_id = "ada"
    session_id = "session-0"
    turn_id = "session-0:u1"
    turn_number = 1
    prompted_by = ""
    reply_stop = "stop"
    turn_traits = ""
    content = factory.LazyFunction(
        lambda: orjson.dumps(
            {
                "type": "annotated_turn",
                "conversationId": "session-0",
                "turnNumber": 1,
                "context": [],
                "userMessage": "Please check the nightly import.",
                "agentReply": "It failed on the last line.",
            }
        ).decode()
    )
    created_at = T0


class ExportFactory(DjangoModelFactory):
    class Meta:
        model = DatasetExport

    id = factory.Sequence("export-{}".format)
    export_name = "an export"
    export_format = "alpaca"
    sample_types = '["annotated_turn"]'
    file_path = factory.LazyAttribute("exports/{0.id}".format)
    exported_at = T0


class JobFactory(DjangoModelFactory):
    class Meta:
        model = JobRun

    id = factory.Sequence("job-{}".format)
    kind = "collect"
    created_at = T0


class SnapshotFactory(InFile):
    class Meta:
        model = FileSnapshot

    db = "agent_ada"
    file_name = "MEMORY.md"
    content = "# Memory\n"
    content_hash = factory.LazyAttribute(lambda version: hashlib.sha256(version.content.encode()).hexdigest())
    created_at = factory.Sequence(lambda n: T0 + n * 60_000)
    id = factory.LazyAttribute(lambda version: f"{version.file_name}@{version.content_hash[:32]}@{version.created_at}")
    size_bytes = factory.LazyAttribute(lambda version: len(version.content.encode()))


class WorkspaceFileFactory(SnapshotFactory):
    class Meta:
        model = WorkspaceFile

    file_name = "AGENTS.md"


class CronJobFactory(DjangoModelFactory):
    class Meta:
        model = CronJob

    id = factory.Sequence("job-{}".format)
    agent_id = "ada"
    name = "Morning brief"
    prompt = "Summarise the night."
    schedule_json = '{"kind":"cron","expr":"0 7 * * *","tz":"Asia/Shanghai"}'
    job_json = "{}"


class CronRunFactory(DjangoModelFactory):
    class Meta:
        model = CronRunLog

    job_id = "job"
    seq = factory.Sequence(int)
    agent_id = "ada"
    ts = factory.Sequence(lambda n: T0 + n * 60_000)
    status = "ok"
    duration_ms = 1_500
    entry_json = "{}"


class SubagentRunFactory(DjangoModelFactory):
    class Meta:
        model = SubagentRun

    run_id = factory.Sequence("run-{}".format)
    agent_id = "ada"
    requester_session_key = "agent:main:main"
    child_session_key = factory.LazyAttribute("agent:main:subagent:{0.run_id}".format)
    created_at = factory.Sequence(lambda n: T0 + n * 60_000)
    ended_at = factory.LazyAttribute(lambda run: run.created_at + 2_000)
    payload_json = '{"task":"count the files","label":"counter","outcome":{"status":"ok"}}'


class BackupRunFactory(DjangoModelFactory):
    class Meta:
        model = BackupRun

    id = factory.Sequence("{:026}".format)
    created_at = T0
    archive_path = "/backups/openclaw-web-20260105T000000Z.tar.zst"
    archive_bytes = 1_000
    status = "verified"
    verified_at = T0
