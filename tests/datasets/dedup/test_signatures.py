"""Signatures in the store: created with samples, renewed after edits, repaired after damage."""

import pytest

from datasets.dedup import signatures
from datasets.models import DatasetSample, SampleSignature
from datasets.review.undo import undo
from datasets.review.verdicts import label_sample
from datasets.services import make_samples
from jobs import automatic_tasks
from jobs.models import JobRun
from jobs.services import run_now
from openclaw_web.sqlite import statements
from people.configuration import setting_values as configuration
from tests.datasets.conversations import store_turns
from tests.datasets.dedup.sample_texts import add_sample, ids, near_text
from tests.datasets.exports.export_helpers import build_export, excluded_samples

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def read_stored():
    """The signature of each sample, without the row numbers."""
    return {
        sample_id: signatures.Signature(*columns)
        for sample_id, *columns in SampleSignature.objects.values_list("sample_id", *signatures.COLUMNS)
    }


def compute_signatures():
    """The signature that each sample should have now."""
    return {sample.id: signatures.build_from_sample(sample) for sample in DatasetSample.objects.all()}


def test_a_new_sample_has_one(ada):
    store_turns(3)
    make_samples(ada, "s1", None, by="ann")
    assert len(read_stored()) == 3 and read_stored() == compute_signatures()
    make_samples(ada, "s1", None, by="ann")
    assert len(read_stored()) == 3


def test_an_edit_changes_it_and_taking_it_back_does_too():
    sample = add_sample("one", near_text(), annotation_status="pending")
    signatures.renew(["one"])
    before = read_stored()
    label_sample(sample.id, "approved", by="ann")
    assert read_stored() == before
    label_sample(sample.id, "approved", by="ann", output="Something else, which a person wrote.")
    assert read_stored() != before and read_stored() == compute_signatures()
    undo("ann")
    assert read_stored() == before


@pytest.mark.parametrize("address", ["/samples/one/label/", "/review/label/"])
def test_an_edit_on_a_page_changes_it(as_reviewer, address):
    add_sample("one", near_text(), annotation_status="pending")
    signatures.renew(["one"])
    before = read_stored()
    as_reviewer.post(address, {"sample": "one", "status": "approved", "output": "As a person wrote it."})
    assert DatasetSample.objects.get().output == "As a person wrote it."
    assert read_stored() != before and read_stored() == compute_signatures()


def test_a_store_that_cannot_be_written_costs_no_verdict(caplog):
    add_sample("one", near_text())
    sample = DatasetSample.objects.get(id="one")
    statements.run("default", "PRAGMA query_only = ON")
    try:
        signatures.ensure_signature(sample)
    finally:
        statements.run("default", "PRAGMA query_only = OFF")
    assert "The signature of sample one was not stored" in caplog.text
    signatures.ensure_signature(sample)
    assert read_stored() == compute_signatures()


# Lost, damaged or missing signatures


def twins():
    add_sample("one", near_text(), session="s1")
    add_sample("two", near_text(30), session="s2", turn=2)
    add_sample("other", "Nothing of the kind was ever said here.", session="s3")
    signatures.renew(["one", "two", "other"])


DAMAGE = {
    "lost": "DELETE FROM sample_signatures",
    "lost_in_part": "DELETE FROM sample_signatures WHERE sample_id = 'two'",
    "numbers": "UPDATE sample_signatures SET numbers = zeroblob(512)",
    "shorter": "UPDATE sample_signatures SET numbers = x'00'",
    "words": "UPDATE sample_signatures SET words = x'00112233445566778899aabbccddeeff'",
    "made_from": "UPDATE sample_signatures SET made_from = zeroblob(32)",
    "checksum": "UPDATE sample_signatures SET checksum = checksum + 1",
    "older_rule": "UPDATE sample_signatures SET rule = 0",
    "exchanged": "UPDATE sample_signatures SET (words, numbers) ="
    " (SELECT words, numbers FROM sample_signatures s WHERE s.sample_id = 'other')",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_export_mends_what_it_reads(damage):
    twins()
    sound = read_stored()
    statements.run("default", DAMAGE[damage])
    assert read_stored() != sound
    export = build_export(train_split=1)
    assert excluded_samples(export) == {"duplicate": ["two"]}
    assert read_stored() == sound


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_job_mends_everything(damage):
    twins()
    sound = read_stored()
    statements.run("default", DAMAGE[damage])
    job = run_now("signatures", {}, by="ann")
    assert job.state == "finished" and read_stored() == sound
    assert "every signature is up to date" in run_now("signatures", {}, by="ann").message


def test_a_change_behind_our_back_removes_the_signature():
    twins()
    DatasetSample.objects.filter(id="two").update(output="Something else, which nobody said before.")
    assert set(read_stored()) == {"one", "other"}
    assert ids(build_export(train_split=1)) == {"train": ["one", "two", "other"]}
    assert read_stored() == compute_signatures()


def test_a_change_that_nothing_noticed_costs_one_export():
    """Only without the trigger, which the doctor brings back."""
    twins()
    statements.run("default", "DROP TRIGGER sample_signatures_outdated")
    DatasetSample.objects.filter(id="two").update(output="Something else, which nobody said before.")
    assert excluded_samples(build_export(train_split=1)) == {"changed": ["two"]}
    assert ids(build_export(train_split=1)) == {"train": ["one", "two", "other"]}
    assert read_stored() == compute_signatures()


def test_a_sample_that_cannot_be_read_has_one_and_is_like_none():
    for name, content in (("odd", "[]"), ("broken", "{"), ("odd too", "[]")):
        sample = add_sample(name, "")
        DatasetSample.objects.filter(id=sample.id).update(content=content)
    signatures.renew(["odd", "broken", "odd too"])
    assert [signature.numbers for signature in read_stored().values()] == [b"", b"", b""]


# The job


def test_the_job_runs_by_itself_where_one_is_missing():
    for other in ("schedule.exchangeMinutes", "schedule.findingsScanMinutes", "schedule.searchMinutes"):
        configuration.put(other, 0)
    add_sample("one", near_text())
    assert [job.kind for job in automatic_tasks.start_due()] == ["signatures"]
    run_now("signatures", {}, by="ann")
    JobRun.objects.all().delete()
    assert automatic_tasks.start_due() == []
    add_sample("two", near_text())
    configuration.put("schedule.signatureMinutes", 0)
    assert automatic_tasks.start_due() == []


def test_the_job_says_what_it_did():
    twins()
    assert run_now("signatures", {}, by="ann").message == "3 samples checked: every signature is up to date."
    SampleSignature.objects.filter(sample_id="two").delete()
    job = run_now("signatures", {}, by="ann")
    assert job.message == "3 samples checked, 1 signature created."
