"""Members that were removed, opted out or rolled back since, and the problem that says so."""

import pytest
from django.urls import reverse

from datasets.exports import exports
from datasets.models import DatasetExport, DatasetSample, VersionTaint
from datasets.releases.problems import check_releases
from datasets.releases.taints import find_taints
from guardian.models import WriteGuardianAudit
from jobs import execution
from ledger.models import RemovedSession
from people.configuration import setting_values as configuration
from tests.datasets.dedup.sample_texts import add_sample
from tests.datasets.dedup.test_sides import approve, store_exchanges
from tests.datasets.exports.branches import Steps
from tests.datasets.exports.export_helpers import build_export, excluded_samples, read_rows
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import run_jobs
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir(exist_ok=True)


def reasons(version):
    return dict(VersionTaint.objects.filter(version=version).values_list("sample_id", "reason"))


def test_a_removed_session_and_a_removed_sample_taint(ada):
    for number in range(3):
        add_sample(f"x{number}", f"Reply number {number} of three", session=f"s{number}")
    version = make_release(make_dataset())
    assert find_taints(version) == 0 and not list(check_releases())
    RemovedSession.objects.using(ada.db).create(session_id="s1", removed_at=5, why="retention", last_activity_at=1)
    assert find_taints(version) == 1
    assert reasons(version) == {"x1": "removed"}
    [finding] = check_releases()
    assert finding.facts["count"] == 1
    RemovedSession.objects.using(ada.db).all().delete()  # restored from its archive
    assert find_taints(version) == 0 and reasons(version) == {}


def test_turns_of_unknown_senders_taint_while_somebody_has_opted_out(ada):
    store_exchanges("s1", [("A question of Mei", "An answer to Mei")])
    approve(ada)
    version = make_release(make_dataset())
    assert find_taints(version) == 0
    configuration.put("collector.optedOutSenders", ["mallory"])
    assert find_taints(version) == 1 and set(reasons(version).values()) == {"opted_out"}
    configuration.put("collector.optedOutSenders", [])
    assert find_taints(version) == 0


def test_a_write_that_was_rolled_back_names_the_files_that_learnt_it(as_reviewer, ada):
    create_write(ada.db, 1, b"# Memory\n", b"# Memory\nTea.\n", turn_id="s1:u1", session_id="s1")
    add_sample("x1", "Reply number one of two", session="s1", turn_id="s1:u1")
    add_sample("x2", "Another reply of somebody else", session="s2", turn_id="s2:u1")
    version = make_release(make_dataset(train_split=1))
    export = build_export("alpaca", name="learnt", release=version.id)
    address = reverse("datasets:write_uses", args=["ada", "w1"])
    page = as_reviewer.get(address).text
    assert "learnt" in page and "Export again without it" not in page
    WriteGuardianAudit.objects.using(ada.db).filter(id="w1").update(status="rolled_back")
    page = as_reviewer.get(address).text
    assert "This write was rolled back, and these files teach it." in page and "Export again without it" in page
    assert as_reviewer.post(reverse("datasets:export_again", args=[export.id])).status_code == 302
    assert reasons(version) == {}  # all members are looked at by a job, and not while somebody waits
    run_jobs()
    assert reasons(version) == {"x1": "rolled_back"}
    again = DatasetExport.objects.get(export_name="learnt 2")
    assert [row["sample_id"] for row in read_rows(again)] == ["x2"]
    assert excluded_samples(again) == {"tainted": ["x1"]}


def test_a_release_that_was_not_checked_is_exported_without_what_was_rolled_back(as_reviewer, ada):
    create_write(ada.db, 1, b"# Memory\n", b"# Memory\nTea.\n", turn_id="s1:u1", session_id="s1")
    add_sample("x1", "Reply number one of two", session="s1", turn_id="s1:u1")
    add_sample("x2", "Another reply of somebody else", session="s2", turn_id="s2:u1")
    version = make_release(make_dataset(train_split=1))
    export = build_export("alpaca", name="learnt", release=version.id)
    WriteGuardianAudit.objects.using(ada.db).filter(id="w1").update(status="rolled_back")
    assert as_reviewer.post(reverse("datasets:export_again", args=[export.id])).status_code == 302
    again = DatasetExport.objects.get(export_name="learnt 2")
    build_now(again)  # before the check: workers take jobs at the same time
    assert read_ids(again) == {"x2"} and excluded_samples(again) == {"rolled_back": ["x1"]}


@pytest.mark.parametrize("kind", ["alpaca", "sharegpt", "messages", "raw"])
def test_an_export_of_no_release_is_made_again_without_what_was_rolled_back(as_reviewer, ada, kind):
    create_write(ada.db, 1, b"# Memory\n", b"# Memory\nTea.\n", turn_id="s1:u0", session_id="s1")
    create_write(ada.db, 2, b"# Memory\nTea.\n", b"# Memory\nTea.\nCake.\n", turn_id="s1:u1", session_id="s1")
    store_exchanges("s1", [("I like tea, as you know", "Tea it is"), ("And I like cake, too", "Cake as well")])
    approve(ada)
    learnt = build_export(kind, name="learnt", train_split=1)
    turns = dict(DatasetSample.objects.values_list("turn_id", "id"))
    WriteGuardianAudit.objects.using(ada.db).filter(id="w2").update(status="rolled_back")
    address = reverse("datasets:write_uses", args=["ada", "w2"])
    assert "Export again without it" in as_reviewer.get(address).text
    assert as_reviewer.post(reverse("datasets:export_again", args=[learnt.id])).status_code == 302
    execution.run_next()
    again = DatasetExport.objects.get(export_name="learnt 2")
    assert read_ids(learnt) == {turns["s1:u0"], turns["s1:u1"]}
    assert read_ids(again) == {turns["s1:u0"]}
    assert excluded_samples(again) == {"rolled_back": [turns["s1:u1"]]}
    assert read_ids(build_export(kind, name="as ever", train_split=1)) == {turns["s1:u0"]}
    assert read_ids(build_export(kind, name="all", train_split=1, include=("rolled_back",))) == set(turns.values())


def build_now(export):
    exports.build_export(export.id, Steps())
    export.refresh_from_db()


def read_ids(export):
    return {row.get("sample_id") or row["id"] for row in read_rows(export)}
