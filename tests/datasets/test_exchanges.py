"""The records of a sample's turn, stored beside the sample."""

import orjson
import pytest

from datasets import exchange_job as job
from datasets import exchange_store
from datasets.exports import exports
from datasets.models import DatasetExport, DatasetSample, SampleExchange
from datasets.review import verdicts
from jobs.progress import Progress
from ledger.models import TranscriptEvent
from ledger.transcripts.removal import delete_session
from tests.datasets.conversations import agent, store_session, store_turns, tool_result, user

pytestmark = pytest.mark.django_db
URL = "/agents/ada/sessions/s1/samples/"


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
    assert not first.is_stale


def test_changed_records_make_an_exchange_stale_until_they_are_as_before(samples, later):
    record = TranscriptEvent.objects.using("agent_ada").get(session_id="s1", turn_number=2, kind="user")
    original = record.event_json
    TranscriptEvent.objects.using("agent_ada").filter(session_id="s1", seq=record.seq).update(
        event_json=original.replace("question 2", "question 3")
    )
    later(hours=25)
    assert job.is_needed()
    result = job.run({}, Progress())
    assert (result["compared"], result["changed"]) == (2, 1)
    assert SampleExchange.objects.get(is_stale=True).sample_id == samples[1].id
    assert not job.is_needed()
    TranscriptEvent.objects.using("agent_ada").filter(session_id="s1", seq=record.seq).update(event_json=original)
    later(hours=50)
    job.run({}, Progress())
    assert not SampleExchange.objects.filter(is_stale=True).exists()


def test_the_exchange_outlives_the_session(samples, later):
    delete_session("agent_ada", "s1")
    later(hours=25)
    assert job.run({}, Progress())["changed"] == 0
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
