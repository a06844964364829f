"""Garbage collection of the artifact store: references that keep a content, and its runs.

References outside of the agents' tables of artifacts keep a content too.
"""

import orjson
import pytest
from django.apps import apps
from django.db import DatabaseError, connections, models

from agents import databases
from agents import services as agents
from artifacts import handles, services
from artifacts.store import garbage, layout
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import CancelledJob, Progress
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from operations.artifact_gc import mentions
from operations.artifact_gc import services as artifact_gc
from people.models.bookkeeping import AuditEntry
from tests import faults
from tests.factories import (
    CronJobFactory,
    DecisionFactory,
    EventFactory,
    ExportFactory,
    RejectedFactory,
    SampleFactory,
    SubagentRunFactory,
    TurnFactory,
    WorkspaceFileFactory,
)
from tests.suite.sources import ORDER

pytestmark = pytest.mark.django_db
DB = "agent_ada"
# Tables without references: the site's own bookkeeping.
NOT_LOOKED_THROUGH = {
    "agent_daily_stats", "agent_databases", "agent_hours", "agent_summaries", "agents", "api_tokens", "backup_runs",
    "collector_reader_states",  # lines of a log that will be read again; no page shows them
    "collector_sessions", "collector_skipped", "collector_sources", "delivery_queue_entries", "idempotency_keys",
    "episode_gaps", "error_days", "error_groups", "error_sums",  # normalised messages, without words of a person
    "invitations", "job_runs", "kv", "memory_spans", "memory_standings",
    "migration_runs", "migration_sources", "one_time_links", "operator_audit", "problem_checks", "sign_ins",
    "site_spans", "users",
    "notifications",  # words of this site
    "newest_sessions", "newest_writes", "problems",  # beginnings of texts in agents' tables
    "sample_signatures", "benchmarks", "turn_signals", "signal_positions",  # numbers
    "findings", "finding_scans",  # places and hashes
    "remediations", "remediation_steps",  # names of things, and words of this site
}  # fmt: skip


@pytest.fixture
def root(settings, tmp_path, ada, bob):
    settings.HOME_DIR = tmp_path / "home"
    return layout.get_root()


@pytest.fixture
def orphan(root):
    """Returns a function that stores a content without a reference; that returns its handle."""

    def make(content=b"an output"):
        handle = services.stash(DB, content)[0].handle
        services.remove(DB, handle)
        return handle

    return make


def clear(**options):
    return artifact_gc.collect_garbage(**{"older_than": 0, "is_dry_run": False, "by": "root", **options})


def is_there(root, handle):
    return (root / layout.blob_name(handle[-64:], is_compressed=False)).exists()


def test_it_works(root, orphan):
    gone, mentioned = orphan(b"gone"), orphan(b"kept")
    EventFactory(event_json=f'{{"message": {{"content": "look at\\n{mentioned}"}}}}')
    result = clear()
    assert (result.removed, result.kept_count) == (1, 1)
    assert (is_there(root, gone), is_there(root, mentioned)) == (False, True)
    entry = AuditEntry.objects.get(action="artifacts_cleared")
    assert (entry.actor, orjson.loads(entry.detail_json)["removed"]) == ("root", 1)


def in_a_packed_record(handle, folder):
    full = orjson.dumps({"message": {"content": "x" * 9_000 + handle}})
    EventFactory(event_json='{"message": {"content": "xxx"}}', full_zstd=packing.pack(full))


def in_an_export(handle, folder):
    export = folder / "exports" / "e1"
    export.mkdir(parents=True)
    (export / "train.jsonl").write_text("y" * 3_000_000 + f'{{"text": "{handle}"}}\n')


def in_a_stashed_output(handle, folder):
    services.stash("agent_bob", b"z" * 2_000_000 + handle.encode() + b"z" * 2_000_000, is_compressed=True)


def in_a_checkpoint(handle, folder):
    services.stash(DB, orjson.dumps({"turns": ["x" * 1_000] * 3, "handles": [handle]}), kind="checkpoint")


MENTIONS = {
    "record": lambda handle, folder: EventFactory(event_json=f'{{"message": "{handle}"}}', db="agent_bob"),
    "compaction": lambda handle, folder: EventFactory(kind="compaction", event_json=f'{{"summary": "see {handle}."}}'),
    "what was trimmed": lambda handle, folder: EventFactory(trim_json=f'{{"stashed": [{{"handle": "{handle}"}}]}}'),
    "packed record": in_a_packed_record,
    "turn": lambda handle, folder: TurnFactory(user_message_content=f"({handle})"),
    "rejected line": lambda handle, folder: RejectedFactory(raw_preview=handle),
    "decision": lambda handle, folder: DecisionFactory(candidate_fact=handle),
    "workspace file": lambda handle, folder: WorkspaceFileFactory(content=f"# Notes\n- {handle}\n"),
    "sample": lambda handle, folder: SampleFactory(content=f'{{"userMessage": "{handle}"}}'),
    "edited reply": lambda handle, folder: SampleFactory(output=handle),
    "export's row": lambda handle, folder: ExportFactory(manifest_json=f'{{"x": "{handle}"}}'),
    "export's file": in_an_export,
    "scheduled job": lambda handle, folder: CronJobFactory(prompt=f"Read {handle} first"),
    "what was said of another": lambda handle, folder: services.stash(DB, b"other", meta={"of": handle}),
    "stashed output": in_a_stashed_output,
    "checkpoint": in_a_checkpoint,
}


@pytest.mark.parametrize("where", MENTIONS)
def test_a_mention_keeps_a_content(root, orphan, where, settings):
    handle, other = orphan(b"mentioned"), orphan(b"not mentioned")
    MENTIONS[where](handle, settings.HOME_DIR)
    result = clear()
    assert (is_there(root, handle), is_there(root, other)) == (True, False)
    assert result.removed == 1


def test_what_is_kept_keeps_what_it_mentions_itself(root, orphan):
    last = orphan(b"last")
    middle = orphan(f"see {last}".encode())
    EventFactory(event_json=f'{{"message": "{middle}"}}')
    assert clear().removed == 0
    assert is_there(root, last)


def test_look_alikes_keep_nothing(root, orphan):
    handle = orphan()
    for text in (handle.upper(), handle[:-1], handle.replace(":v1:", ":v2:"), handle[-64:]):
        EventFactory(event_json=orjson.dumps({"message": text}).decode())
    assert clear().removed == 1


def test_every_text_of_every_table_is_looked_through():
    searched = {table.name for table in mentions.find_tables(mentions.AGENT_LABELS)}
    searched |= {table.name for table in mentions.find_tables(mentions.GLOBAL_LABELS, mentions.GLOBAL_TABLES)}
    tables = {
        model._meta.db_table
        for model in apps.get_models()
        if model.__module__.split(".")[0] in ORDER
        and model._meta.managed
        and any(isinstance(column, models.TextField | models.BinaryField) for column in model._meta.concrete_fields)
    }
    assert tables - searched == NOT_LOOKED_THROUGH


def test_a_clearing_that_is_refused_leaves_no_word_of_one(root, orphan, real_files):
    root = layout.get_root()  # the root in the home of `real_files`
    gone = orphan(b"gone")
    agents.register("broken")
    databases.remove_alias("agent_broken")
    databases.get_path("broken").write_bytes(b"no database" * 100)
    with pytest.raises(Refused, match="Nothing was removed"):
        clear()
    assert is_there(root, gone) and not AuditEntry.objects.filter(action="artifacts_cleared").exists()


def test_a_dry_run_removes_nothing_and_counts_the_same(root, orphan):
    mentioned, gone = orphan(b"kept"), orphan(b"gone")
    EventFactory(event_json=f'{{"message": "{mentioned}"}}')
    before = sorted(root.rglob("*"))
    counted = clear(is_dry_run=True)
    assert sorted(root.rglob("*")) == before
    assert not AuditEntry.objects.filter(action="artifacts_cleared").exists()
    done = clear()
    assert (counted.removed, counted.removed_bytes, counted.kept_count) == (
        done.removed,
        done.removed_bytes,
        done.kept_count,
    )
    assert not is_there(root, gone)


def test_nothing_is_read_when_there_is_nothing_to_remove(root, django_assert_num_queries):
    services.stash(DB, b"used")
    with django_assert_num_queries(1, using=DB):
        assert clear(is_dry_run=True).kept_count == 1


def test_everything_is_read_once_however_many_batches_there_are(root, orphan, monkeypatch):
    monkeypatch.setattr(garbage, "BATCH", 2)
    monkeypatch.setattr(mentions, "STEP", 3)
    orphans = [orphan(b"%d" % number) for number in range(7)]
    for handle in orphans[:3]:
        EventFactory.create_batch(4)
        EventFactory(event_json=f'{{"message": "{handle}"}}')
    reads = []

    def count(execute, sql, params, many, context):
        if "transcript_events" in sql and "INSTR" in sql:
            reads.append(params[:2])
        return execute(sql, params, many, context)

    with connections[DB].execute_wrapper(count):
        assert clear().removed == 4
    assert len(reads) == len(set(map(tuple, reads))) == 5


def is_removal_lock(path):
    """Return whether this is the lock that is taken before contents are removed.

    It is the first one after everything was counted.
    """
    return path.endswith(".adopting.lock")


def test_a_mention_that_comes_while_it_runs_keeps_its_content(root, orphan):
    late, gone = orphan(b"late"), orphan(b"gone")

    def meanwhile():
        EventFactory(event_json=f'{{"message": "{late}"}}')
        CronJobFactory(prompt="Read it")

    with faults.before_file_event("open", is_removal_lock, meanwhile):
        clear()
    assert (is_there(root, late), is_there(root, gone)) == (True, False)


@pytest.mark.parametrize(("factory", "column"), [(CronJobFactory, "prompt"), (SubagentRunFactory, "payload_json")])
def test_a_text_that_changes_while_it_runs_keeps_its_content(root, orphan, factory, column):
    handle, row = orphan(), factory()

    def meanwhile():
        type(row).objects.filter(pk=row.pk).update(**{column: handle})

    with faults.before_file_event("open", is_removal_lock, meanwhile):
        assert clear().removed == 0


def test_a_damaged_record_stops_it(root, orphan):
    handle = orphan()
    EventFactory(full_zstd=b"no zstd")
    with pytest.raises(Refused):
        clear()
    assert is_there(root, handle)


def test_a_table_that_cannot_be_read_stops_it(root, orphan):
    handle = orphan()

    def broken(execute, sql, params, many, context):
        if "workspace_files" in sql:
            raise DatabaseError("disk image is malformed")
        return execute(sql, params, many, context)

    with connections[DB].execute_wrapper(broken), pytest.raises(Refused, match="Nothing was removed"):
        clear()
    assert is_there(root, handle)


def test_ages(root, orphan):
    for text, age in {"90": 90, "90s": 90, "30m": 1_800, "12h": 43_200, "30d": 2_592_000, "2w": 1_209_600}.items():
        assert artifact_gc.parse_age(text) == age
    for text in ("", "a while", "1y", "-1d", "1.5d", "٣d", "9" * 20):
        with pytest.raises(artifact_gc.WrongAge):
            artifact_gc.parse_age(text)
    orphan()
    assert clear(older_than=artifact_gc.parse_age("1h")).young == 1


def test_the_job(root, orphan):
    orphan()
    dry = jobs.run_now("artifact_gc", {"older_than": 0, "is_dry_run": True, "by": "root"}, by="root")
    assert dry.state == JobRun.State.FINISHED
    assert orjson.loads(dry.result_json)["removed"] == 1
    done = jobs.run_now("artifact_gc", {"older_than": 0, "is_dry_run": False, "by": "root"}, by="root")
    receipt = orjson.loads(done.result_json)
    assert (receipt["schema"], receipt["removed"], receipt["dryRun"]) == ("openclaw-mem.artifact.gc.v1", 1, False)
    assert done.message.startswith("1 artifact removed (") and done.message.endswith(" B), 0 kept.")


def test_what_was_removed_before_it_was_cancelled_is_in_the_audit_log(root, orphan, monkeypatch):
    monkeypatch.setattr("artifacts.store.garbage.BATCH", 1)
    contents = [orphan(text) for text in (b"one", b"two", b"three", b"four")]

    def heard(*_):
        progress.is_cancelled = not all(is_there(root, handle) for handle in contents)

    progress = Progress(heard)
    with pytest.raises(CancelledJob):
        artifact_gc.collect_garbage(older_than=0, is_dry_run=False, by="root", progress=progress)
    gone = sum(not is_there(root, handle) for handle in contents)
    assert 0 < gone < len(contents)
    entry = AuditEntry.objects.get(action="artifacts_cleared")
    assert orjson.loads(entry.detail_json)["removed"] == gone


def test_handles_are_found_in_a_content_whatever_chunk_they_are_in(root, monkeypatch):
    monkeypatch.setattr("artifacts.store.blobs.CHUNK", 50)
    expected = [handles.from_sha256(f"{number:064x}") for number in range(20)]
    row, _stored = services.stash(DB, "-".join(expected))
    assert list(mentions.find_in_content(row.sha256)) == [handle[-64:] for handle in expected]
