"""`openclaw-web reflection dataset release`, `verify` and `diff`, and exports of a release."""

import orjson
import pytest

from datasets.models import Dataset, DatasetSample, DatasetVersion
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
KINDS = {"dataset_release": "datasets.releases.release.JOB"}


@pytest.fixture(autouse=True)
def samples(settings):
    for name, path in KINDS.items():
        settings.JOB_KINDS.setdefault(name, path)
    for number in range(6):
        add_sample(number)


def add_sample(number):
    words = " ".join(f"w{number}x{word}" for word in range(20))
    body = {"type": "annotated_turn", "userMessage": f"Ask {words}", "agentReply": f"Reply {words}"}
    SampleFactory(
        id=f"sample-{number}",
        session_id=f"s{number}",
        annotation_status="approved",
        content=orjson.dumps(body).decode(),
    )


def release(*words):
    return read_receipt("release", "support", "--quiet", *words)["release"]


def test_a_dataset_is_created_and_released():
    row = release("--create", "--notes", "First release")
    assert (row["dataset"], row["number"], row["member_count"], row["notes"]) == ("support", 1, 6, "First release")
    assert DatasetVersion.objects.get().released_by == Dataset.objects.get().created_by == "command line"
    assert (release()["number"], DatasetVersion.objects.count()) == (2, 2)


def test_a_release_is_verified():
    release("--create")
    result = read_receipt("verify", "support", "--quiet")["verification"]
    assert (result["number"], result["members"], result["is_intact"], result["is_current"]) == (1, 6, True, True)
    assert run_verb("reject", "sample-3")[0] == 0
    status, out, _error = run_verb("verify", "support", "--number", 1, "--quiet")
    assert status == 0 and "  sample-3: verdict: approved → rejected\n" in out
    DatasetVersion.objects.update(checksum="0" * 64)
    receipt = read_receipt("verify", "support", "--quiet", status=1)
    assert "was changed" in receipt["error"] and receipt["verification"]["is_intact"] is False


def test_a_changed_release_is_released_anew():
    release("--create")
    assert "nothing to release anew" in read_refusal("release", "support", "--quiet", "--anew", "1")
    DatasetVersion.objects.update(checksum="0" * 64)
    row = release("--anew", "1", "--notes", "Mended.")
    assert (row["number"], row["member_count"], row["remade_from"]) == (2, 6, 1)
    assert row["notes"].startswith("Mended.\nReleased anew from the members of release 1")


def test_two_releases_are_compared():
    release("--create")
    add_sample(6)
    assert run_verb("reject", "sample-0")[0] == 0
    release()
    result = read_receipt("diff", "support")["difference"]
    assert (result["from"]["number"], result["to"]["number"], result["same"]) == (1, 2, 5)
    assert (result["added"]["samples"], result["gone"]["samples"]) == (["sample-6"], ["sample-0"])
    assert read_receipt("diff", "support", "--from", 1, "--to", 2)["difference"] == result
    out = run_verb("diff", "support")[1]
    assert out.startswith("support, release 1 to release 2\n  added: 1\n    sample-6\n  removed: 1\n    sample-0\n")


def test_a_release_is_exported_with_its_sides(tmp_path):
    release("--create")
    version = DatasetVersion.objects.get()
    add_sample(6)
    options = ("--format", "alpaca", "--quiet", "--dataset", "support")
    latest = read_receipt("export", *options)
    named = read_receipt("export", *options, "--release", 1, "-o", tmp_path / "rows.jsonl")
    for receipt in (latest, named):
        assert receipt["manifest"]["options"]["release"] == version.id
        assert receipt["manifest"]["counts"]["rows"] == 6
    assert DatasetSample.objects.count() == 7


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("release", "nothing"),
            "There is no dataset named nothing. Create it on the page Datasets, or with release --create.",
        ),
        (
            ("verify", "nothing"),
            "There is no dataset named nothing. Create it on the page Datasets, or with release --create.",
        ),
        (("release", "support", "--create"), "There is already a dataset named support. Choose another name."),
        (("verify", "support", "--number", 7), "The dataset support has no release 7."),
        (("diff", "support"), "The dataset support has no release before release 1."),
        (("export", "--format", "alpaca", "--dataset", "support", "--release", 7), "has no release 7."),
        (("export", "--format", "alpaca", "--benchmark", "none"), "There is no benchmark none."),
    ],
)
def test_what_is_not_there_is_a_sentence(words, sentence):
    release("--create")
    assert sentence in read_refusal(*words)


def test_releases_in_the_wrong_order_are_wrong_use():
    release("--create")
    release()
    assert read_refusal("diff", "support", "--from", 2, "--to", 1, status=2) == (
        "--from must be an earlier release than --to."
    )


def test_a_refused_first_release_leaves_no_dataset_behind():
    DatasetSample.objects.all().delete()
    assert read_refusal("release", "support", "--create")
    assert not Dataset.objects.exists()
    add_sample(0)
    assert release("--create")["number"] == 1
