"""The chain of anything leads to who said it and to who downloaded it, from every end, and says what is missing."""

import pytest

from artifacts import services as artifacts
from ledger.models import Session
from operations.chain import chains
from operations.chain.chains import LABELS
from people.audit import log as audit
from tests.factories import DecisionFactory, SampleFactory
from tests.operations.chain_links import create_links

pytestmark = pytest.mark.django_db


@pytest.fixture
def linked(real_files, ada):
    return create_links()


def ask(browser, kind, key, agent=""):
    answer = browser.get("/api/v1/chain", {"kind": kind, "id": key, "agent": agent})
    assert answer.status_code == 200, answer.json()
    return {step["step"]: step for step in answer.json()["steps"]}


def test_every_end_leads_to_every_other(linked, as_admin):
    starts = [("turn", "s1:u1", "ada"), ("session", "s1", "ada"), ("decision", "d1", "ada"), ("write", "w1", "ada")]
    starts += [("line", "MEMORY.md:2", "ada"), ("sample", "x1", ""), ("verdict", linked["label"], "")]
    starts += [("release", linked["version"].id, ""), ("row", f"{linked['export'].id}:train:1", "")]
    for kind, key, agent in starts:
        steps = ask(as_admin, kind, key, agent)
        assert [name for name in LABELS if not steps[name]["items"]] == [], (kind, steps)
        assert steps["person"]["items"][0]["title"] == "Mei"
        assert steps["download"]["items"][0]["title"].startswith("tom: ")
        for step in steps.values():
            for item in step["items"]:
                assert as_admin.get(item["address"]).status_code == 200, item
        page = f"/agents/{agent}/chain/{kind}/{key}/" if agent else f"/chain/{kind}/{key}/"
        ribbon = as_admin.get(page, headers={"HX-Request": "true"}).content.decode()
        assert ribbon.count("ribbon__step") == len(LABELS) and "--missing" not in ribbon and "<html" not in ribbon
        assert as_admin.get(page).status_code == 200


def test_what_is_missing_says_why(linked, as_admin):
    steps = ask(as_admin, "turn", "s1:u2", "ada")
    assert [name for name in LABELS if steps[name]["items"]] == ["turn"]
    assert all(steps[name]["reason"] for name in LABELS if name != "turn")
    ribbon = as_admin.get("/agents/ada/chain/turn/s1:u2/").content.decode()
    assert ribbon.count("ribbon__step--missing") == len(LABELS) - 1


def test_an_artifact_leads_to_its_turn(linked, as_admin, ada):
    row, _content = artifacts.stash(ada.db, b"green tea " * 10, place=artifacts.Place(session_id="s1", turn_id="s1:u1"))
    steps = ask(as_admin, "artifact", row.sha256, "ada")
    assert steps["line"]["items"][0]["id"] == "MEMORY.md:2"


def test_more_turns_are_followed_than_are_listed(linked, as_admin, ada, monkeypatch):
    monkeypatch.setattr(chains, "MOST", 1)
    assert chains.find_links("session", "s1", ada)["ada"].turns == {"s1:u1", "s1:u2"}
    steps = ask(as_admin, "session", "s1", "ada")
    assert [len(step["items"]) for step in steps.values()] == [1] * len(LABELS)


def test_only_files_with_the_row_were_downloaded(linked, as_admin):
    for file in ("README.md", "ocl_teas_alpaca.train.jsonl", "ocl_teas_alpaca.test.jsonl"):
        audit.record("pia", "downloaded", object_type="export", object_id=linked["export"].id, file=file)
    names = [item["title"] for item in ask(as_admin, "sample", "x1")["download"]["items"]]
    assert names == ["pia: teas", "tom: teas"]


def test_samples_of_other_decisions_of_the_turn_are_no_part(linked, as_admin):
    DecisionFactory(id="d2", turn_id="s1:u1", session_id="s1")
    SampleFactory(id="x2", sample_type="memory_gate_positive", session_id="s1", turn_id="s1:u1", decision_id="d2")
    for kind, key, ids in (
        ("decision", "d1", {"x1"}),
        ("decision", "d2", {"x1", "x2"}),
        ("turn", "s1:u1", {"x1", "x2"}),
    ):
        assert {item["id"] for item in ask(as_admin, kind, key, "ada")["sample"]["items"]} == ids


def test_all_words_of_a_direct_conversation_are_those_of_its_person(linked, as_admin, ada):
    Session.objects.using(ada.db).update(origin="direct", conversation_target="wei")
    names = [item["title"] for item in ask(as_admin, "session", "s1", "ada")["person"]["items"]]
    assert names == ["Mei", "wei"]


def test_a_line_that_nobody_is_known_to_have_written_is_its_own_start(linked, as_admin):
    steps = ask(as_admin, "line", "MEMORY.md:1", "ada")
    assert [name for name in LABELS if steps[name]["items"]] == ["line"]
    (item,) = steps["line"]["items"]
    assert item["id"] == "MEMORY.md:1"
    assert as_admin.get(item["address"]).status_code == 200
    assert "not known" in steps["write"]["reason"]


@pytest.mark.parametrize(
    ("kind", "key", "agent"),
    [
        *(("write", "w9", "ada"), ("sample", "x9", ""), ("row", "nothing", ""), ("row", "a:train:x", "")),
        *(("line", "MEMORY.md", "ada"), ("event", "e", "ada"), ("write", "w1", ""), ("sample", "x1", "ada")),
        ("write", "w1", "nobody"),
    ],
)
def test_what_is_not_stored_is_not_found(linked, as_admin, kind, key, agent):
    assert as_admin.get("/api/v1/chain", {"kind": kind, "id": key, "agent": agent}).status_code in (404, 409)
    page = f"/agents/{agent}/chain/{kind}/{key}/" if agent else f"/chain/{kind}/{key}/"
    assert as_admin.get(page).status_code == 404
