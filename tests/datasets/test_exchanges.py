"""The records of a sample's turn, stored beside the sample."""

import hashlib

import orjson
import pytest

from datasets import exchange_job as job
from datasets import exchange_store
from datasets.exports import clean_texts, exports
from datasets.models import DatasetExport, DatasetSample, SampleExchange
from datasets.review import verdicts
from findings.detection import PATTERNS, read_version
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import CancelledJob, Progress
from ledger.models import TranscriptEvent
from ledger.transcripts.removal import delete_session
from openclaw_web.disk import locks
from people.configuration import setting_values as configuration
from tests.datasets.conversations import agent, store_session, store_turns, tool_result, user

pytestmark = pytest.mark.django_db
URL = "/agents/ada/sessions/s1/samples/"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def samples(as_admin, ada):
    store_turns(2)
    as_admin.post(URL, {"all": "1"})
    rows = list(DatasetSample.objects.order_by("turn_number"))
    for row in rows:
        verdicts.label_sample(row.id, "approved", by="root")
    return rows


def read_texts(exchange):
    return [record.record["message"]["content"] for record in exchange_store.read_records(exchange)]


def test_a_new_sample_has_its_exchange(samples):
    first, _second = SampleExchange.objects.order_by("sample__turn_number")
    assert first.record_count == 2
    question, answer = read_texts(first)
    assert question == "question 1"
    assert answer == [{"type": "text", "text": "answer 1"}]


def build_rows(name):
    """The lines of an export of everything, as one text."""
    export = exports.create_export(name, "sharegpt", "reply", by="root", train_split=1.0, include=("flagged",))
    manifest = exports.build_export(export.id, Progress())
    path = exports.find_file(DatasetExport.objects.get(id=export.id), manifest["files"][0]["name"])
    return path.read_text()


@pytest.fixture
def work(as_admin, own_home):
    """A session with a tool's result, an approved sample of it, and a function that changes the result."""
    store_session([user("u1", "list"), agent("a1", ""), tool_result("r1", "notes.txt"), agent("a2", "There it is.")])
    as_admin.post(URL, {"all": "1"})
    verdicts.label_sample(DatasetSample.objects.get().id, "approved", by="root")
    records = TranscriptEvent.objects.using("agent_ada").filter(session_id="s1", kind="tool_result")

    def change(text):
        records.update(event_json=records.get().event_json.replace("notes.txt", text))

    return change


def test_texts_are_searched_once_by_the_rules_of_today(samples):
    assert job.is_needed()
    assert job.run({}, Progress())["searched"] == 2
    assert not job.is_needed()
    configuration.put(PATTERNS, ["zebra[0-9]+"], by="root")
    assert job.is_needed()


def test_an_export_does_not_search_what_was_searched(work):
    work(SECRET)
    assert SECRET not in build_rows("searched")
    clean = hashlib.sha256(SECRET.encode()).digest()[: clean_texts.SIZE]
    SampleExchange.objects.update(clean_rules=read_version(), clean_texts=clean)
    assert SECRET in build_rows("believed")
    SampleExchange.objects.update(clean_rules=read_version() - 1)
    assert SECRET not in build_rows("by other rules")


def test_what_came_after_the_search_is_redacted(work):
    job.run({}, Progress())
    assert "notes.txt" in build_rows("before")
    work(f"notes.txt {SECRET}")
    rows = build_rows("after")
    assert "notes.txt" in rows and SECRET not in rows
    configuration.put(PATTERNS, ["notes[.]txt"], by="root")
    assert "notes.txt" not in build_rows("with a pattern")


def test_the_job_waits_for_an_import_and_gives_way_to_other_jobs(samples, monkeypatch):
    monkeypatch.setattr(job, "BATCH", 1)
    progress = Progress()
    progress.is_cancelled = True
    with locks.lock(locks.COLLECTING), pytest.raises(CancelledJob):
        job.run({}, progress)
    assert SampleExchange.objects.filter(clean_rules=0).count() == 2
    progress.is_ending = True
    assert job.run({}, progress)["searched"] == 0
    queued = jobs.start("findings_scan", {}, by="root")
    with locks.lock(locks.COLLECTING):
        assert job.run({}, Progress())["searched"] == 0
    assert job.run({}, Progress())["searched"] == 1
    JobRun.objects.filter(id=queued.id).delete()
    assert job.run({}, Progress())["searched"] == 1


def test_the_exchange_outlives_the_session(samples):
    delete_session("agent_ada", "s1")
    assert job.run({}, Progress())["searched"] == 2
    turns = dict(exchange_store.read_session_exchanges("ada", "s1"))
    assert [record.kind for record in turns[2]] == ["user", "assistant"]


def test_the_job_stores_what_is_missing_and_replaces_what_is_damaged_by_nothing(samples):
    SampleExchange.objects.filter(sample=samples[0].id).delete()
    SampleExchange.objects.filter(sample=samples[1].id).update(records=b"damaged")
    assert job.run({}, Progress())["stored"] == 1
    assert [number for number, _records in exchange_store.read_session_exchanges("ada", "s1")] == [1]


def test_a_turn_that_is_too_large_has_an_empty_exchange(samples, monkeypatch):
    SampleExchange.objects.all().delete()
    monkeypatch.setattr(exchange_store, "LARGEST", 100)
    job.run({}, Progress())
    assert set(SampleExchange.objects.values_list("record_count", flat=True)) == {0}
    assert list(exchange_store.read_session_exchanges("ada", "s1")) == []
    assert not job.is_needed()


def test_an_export_teaches_the_calls_of_a_session_that_is_gone(as_admin, own_home):
    call = (
        user("u1", "list the files"),
        agent("a1", ""),
        tool_result("r1", "notes.txt"),
        agent("a2", "There is notes.txt."),
    )
    store_session([*call, user("u2", "thanks"), agent("a3", "With pleasure, any time you like.")])
    as_admin.post(URL, {"all": "1"})
    for row in DatasetSample.objects.all():
        verdicts.label_sample(row.id, "approved", by="root")
    delete_session("agent_ada", "s1")
    export = exports.create_export("gone", "sharegpt", "reply", by="root", train_split=1.0)
    manifest = exports.build_export(export.id, Progress())
    path = exports.find_file(DatasetExport.objects.get(id=export.id), manifest["files"][0]["name"])
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    sides = [[message["from"] for message in row["conversations"]] for row in rows]
    assert sides[0] == ["human", "function_call", "observation", "gpt"]
    assert manifest["transformations"]["stored_exchange"] == len(rows) == 2
