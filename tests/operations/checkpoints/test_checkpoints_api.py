"""Checkpoint packs through the API."""

import pytest

from people.models.bookkeeping import AuditEntry
from tests.homes import user
from tests.ledger.checkpoints.checkpoint_packs import compaction, make_records
from tests.ledger.transcript_records import store_session
from tests.people.test_roles import sign_in_browser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]
MAKE = "/api/v1/agents/ada/sessions/s1/checkpoints"
READ = "/api/v1/agents/ada/checkpoints/"


def make(client, **body):
    return client.post(MAKE, body, "application/json")


def test_it_works(as_reviewer):
    store_session(*make_records())
    made = make(as_reviewer).json()
    assert (made["session_id"], made["compaction_id"], made["is_new"]) == ("s1", "r14", True)
    answer = as_reviewer.get(READ + made["sha256"]).json()
    assert answer["handle"] == made["handle"]
    assert (answer["pack"]["schema"], answer["pack"]["agent"]) == ("openclaw-web.checkpoint_pack.v1", "ada")
    assert answer["pack"]["bundle"]["text"].startswith("<injected-context")
    assert make(as_reviewer, compaction="r14").json() == {**made, "is_new": False}


def test_the_budget_is_part_of_what_is_asked(as_reviewer):
    store_session(*make_records())
    small, usual = make(as_reviewer, budget_chars=1200).json(), make(as_reviewer).json()
    assert small["handle"] != usual["handle"]
    assert len(as_reviewer.get(READ + small["sha256"]).json()["pack"]["bundle"]["text"]) <= 1200


@pytest.mark.parametrize("body", [{"budget_chars": 1}, {"budget_chars": 10**30}, {"compaction": ""}, {"compaction": 1}])
def test_what_does_not_fit(as_reviewer, body):
    store_session(*make_records())
    assert make(as_reviewer, **body).status_code == 422


def test_what_is_not_there(as_reviewer):
    assert make(as_reviewer).status_code == 404
    store_session(*make_records())
    refused = make(as_reviewer, compaction="r1")
    assert refused.status_code == 409 and "no compaction with that id" in refused.json()["detail"]
    sha256 = make(as_reviewer).json()["sha256"]
    assert as_reviewer.get(f"/api/v1/agents/bob/checkpoints/{sha256}").status_code == 404
    for name in ("x", "0" * 64, "é"):
        assert as_reviewer.get(READ + name).status_code == 404


def test_it_is_read_by_either_name_and_that_is_logged(as_reviewer, as_stranger):
    store_session(*make_records())
    made = make(as_reviewer).json()
    for name in (made["sha256"], made["handle"]):
        assert as_stranger.get(READ + name).status_code == 200
    read = AuditEntry.objects.filter(action="read").values_list("actor", "object_type", "object_id", "agent_id")
    assert list(read) == [("stranger", "checkpoint", made["handle"], "ada")]


def test_flagged_ones_are_for_admins(as_reviewer, as_stranger, admin):
    store_session(user("1"), compaction("r1", summary="password: hunter2"), user("2"), compaction("r3"))
    made = make(as_reviewer, compaction="r2").json()
    for client in (as_stranger, as_reviewer):
        refused = client.get(READ + made["sha256"])
        assert refused.status_code == 403 and "secrets: Password (the word). Only admins" in refused.json()["detail"]
        assert "hunter2" not in refused.content.decode()
    assert sign_in_browser(admin).get(READ + made["sha256"]).status_code == 200
    entries = AuditEntry.objects.filter(object_id=made["handle"]).order_by("at", "id").values_list("actor", "action")
    actions = ["checkpoint_built", "download_refused", "download_refused", "read"]
    assert [action for _actor, action in entries] == actions
    assert [actor for actor, _action in entries] == ["reviewer", "stranger", "reviewer", "root"]
