"""Pages of collecting, of other thresholds and of one turn, with their API and commands."""

import orjson
import pytest

from datasets.collection import strategies
from datasets.models import CollectionRun, CollectionStrategy, DatasetSample, TurnOutcome
from jobs import execution
from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry
from tests.datasets.collection.collecting import AFTER, BEFORE, DB, EASY, collect, save, store_written
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.guardian.write_rows import create_rollback

pytestmark = pytest.mark.django_db
LOOSE = {"wasWritten": "on", "notRolledBackWithinDays": "0", "minQualityScore": "0", "mediumQualityFrom": "0"}
LOOSE |= {"highQualityFrom": "1", "tried": "1"}


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def run_jobs():
    for job in JobRun.objects.filter(state="queued", kind="collection"):
        execution.run(job.id)


def text(response):
    assert response.status_code == 200, response.content
    return response.content.decode()


def post_json(client, path, body):
    return client.post(f"/api/v1{path}", orjson.dumps(body), content_type="application/json")


def test_a_run_from_the_page_to_its_turns(as_reviewer):
    page = as_reviewer.post("/collection/start/", {"agent": "ada", "type": "all"})
    run = CollectionRun.objects.get()
    assert page.url == run.get_absolute_url()
    run_jobs()
    page = text(as_reviewer.get(run.get_absolute_url()))
    assert f"{run.get_absolute_url()}sample/" in page
    assert f"{run.get_absolute_url()}no_criterion/" in page
    turns = text(as_reviewer.get(f"{run.get_absolute_url()}no_criterion/"))
    assert "/agents/ada/sessions/s1/turns/1/outcome/" in turns
    assert "/agents/ada/sessions/s1/turns/2/outcome/" not in turns
    assert as_reviewer.get(f"{run.get_absolute_url()}nothing/").status_code == 404
    assert AuditEntry.objects.filter(action="collection_started", actor="reviewer").exists()
    assert "Run 1" in text(as_reviewer.get("/collection/"))


def test_who_may_not(as_stranger, as_reviewer):
    assert as_stranger.post("/collection/start/", {}).status_code == 403
    assert as_reviewer.post("/collection/what-if/save/", LOOSE | {"name": "default"}).status_code == 403
    assert text(as_stranger.get("/collection/what-if/"))


def test_a_refused_run_keeps_the_form(as_reviewer):
    page = as_reviewer.post("/collection/start/", {"agent": "nobody"})
    assert page.status_code == 422
    assert "There is no agent" in page.content.decode()
    assert not CollectionRun.objects.exists()


def test_other_thresholds(as_admin):
    collect(is_dry=True)
    assert "Turns that change side" in text(as_admin.get("/collection/what-if/"))
    page = text(as_admin.get("/collection/what-if/", LOOSE, headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert "Review → Approve" in page
    assert "noUserObjection: Unknown → off" in page
    assert not DatasetSample.objects.exists()


def test_a_saved_version(as_admin):
    page = as_admin.post("/collection/what-if/save/", LOOSE | {"name": "default"})
    assert page.url == "/collection/"
    version = CollectionStrategy.objects.get(version=2)
    assert version.criteria["positiveCriteria"]["noUserObjection"] is False
    again = as_admin.post("/collection/what-if/save/", LOOSE | {"name": "default"})
    assert again.status_code == 422
    assert "Nothing was changed" in again.content.decode()
    wrong = as_admin.post("/collection/what-if/save/", LOOSE | {"name": "No Name!"})
    assert wrong.status_code == 422
    entry = AuditEntry.objects.get(action="strategy_saved")
    assert (entry.actor, entry.object_id) == ("root", "default 2")


def test_why_a_turn_is_no_sample(as_stranger, ada):
    address = "/agents/ada/sessions/s1/turns/{}/outcome/"
    assert "No run has looked at this turn yet" in text(as_stranger.get(address.format(1)))
    collect()
    assert "No criterion fits" in text(as_stranger.get(address.format(1)))
    page = text(as_stranger.get(address.format(2)))
    assert "Already a sample" in page
    assert "/agents/ada/writes/w1/" in page
    assert as_stranger.get(address.format(9)).status_code == 404
    links = text(as_stranger.get("/agents/ada/sessions/s1/samples/of/?turn=1&turn=2"))
    assert "/turns/1/outcome/" in links
    assert "/turns/2/outcome/" not in links


def test_why_a_sample_is_here(as_stranger):
    create_rollback(DB, 2, ["w1"], AFTER, BEFORE)
    collect()
    page = text(as_stranger.get(DatasetSample.objects.get().get_absolute_url()))
    assert "Why it is here" in page
    assert "/agents/ada/writes/w1/" in page  # the rollback leads to its write
    assert "hasBehaviorCorrection" in page


def test_the_api_answers_as_the_pages(as_admin):
    started = post_json(as_admin, "/collection/runs", {"agent": "ada"})
    assert started.status_code == 202
    run_jobs()
    run = as_admin.get(f"/api/v1/collection/runs/{started.json()['run']}").json()
    assert (run["turns"], run["candidates"], run["samples"], run["reasons"]) == (3, 3, 1, {"no_criterion": 2})
    turns = as_admin.get(f"/api/v1/collection/runs/{run['id']}/turns?outcome=sample").json()["items"]
    assert [(row["turn_id"], row["answers"]["wasWritten"]) for row in turns] == [("s1:u2", "yes")]
    assert as_admin.get("/api/v1/collection/runs").json()["items"] == [run]
    counted = post_json(as_admin, "/collection/what-if", {"changes": EASY}).json()
    assert (counted["before"]["approve"], counted["after"]["approve"], counted["changed"]) == (0, 1, 1)
    saved = post_json(as_admin, "/collection/strategies", {"changes": EASY})
    assert (saved.status_code, saved.json()["version"]) == (201, 2)
    listed = as_admin.get("/api/v1/collection/strategies").json()["items"]
    assert [row["version"] for row in listed] == [2, 1]
    assert post_json(as_admin, "/collection/runs", {"type": "neither"}).status_code == 422
    assert post_json(as_admin, "/collection/strategies", {"changes": {"turns": 3}}).status_code == 409


def test_the_verbs():
    receipt = read_receipt("collect", "--dry-run")["collection"]
    assert (receipt["dry_run"], receipt["turns"], receipt["samples"]) == (True, 3, 1)
    receipt = read_receipt("collect", "-s", "s1", "-t", "all", "--since", "2020-01-01")["collection"]
    assert (receipt["samples"], receipt["reasons"]) == (1, {"no_criterion": 2})
    _status, out, _error = run_verb("collect")
    assert "Already a sample: 1" in out
    assert "since" in read_refusal("collect", "--since", "soon", status=2)
    assert "no strategy" in read_refusal("collect", "--strategy", "none")


def test_the_verb_what_if():
    collect()
    changes = [f"{name}={str(value).lower()}" for name, value in EASY.items()]
    receipt = read_receipt("what-if", *(word for change in changes for word in ("--set", change)))["what_if"]
    assert (receipt["after"]["approve"], len(receipt["turns"])) == (1, 1)
    assert read_receipt("what-if", "--set", "turns=true", "--save", "mine")["what_if"]["saved"] == "mine 1"
    assert strategies.find_in_force("mine").criteria["turns"] is True
    assert "neither" in read_refusal("what-if", "--set", "turns=maybe", status=2)
    assert "no criterion" in read_refusal("what-if", "--set", "other=1")


def test_the_counts_are_those_of_a_run(as_admin):
    """What the page counts is where the turns go with the saved version."""
    collect(is_dry=True)
    counted = post_json(as_admin, "/collection/what-if", {"changes": {**EASY, "turns": True}}).json()["after"]
    save(**EASY, turns=True)
    counts = collect()
    assert counts == {"sample": 3}
    assert counted == {"approve": 1, "review": 2, "reject": 0, "leave": 0}
    assert TurnOutcome.objects.count() == sum(counted.values())
