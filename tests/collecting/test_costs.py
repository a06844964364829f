"""Costs of calls, from a home to pages, files and the API.

Each call costs once, and its cost is unknown where it is not recorded.
"""

import csv
import io
import json

import pytest

from datasets import services
from datasets.exports.options import Options
from datasets.exports.source import Source
from datasets.models import DatasetSample
from ledger.models import ConversationTurn, Session, TranscriptEvent
from overview.models import AgentDailyStat, AgentSummary
from tests.collecting.collect_runs import MAIN, run
from tests.homes import assistant, user

pytestmark = pytest.mark.django_db
PARENT, CHILD = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


def costing(text, usage):
    record = assistant(text)
    record["message"]["usage"] = usage
    return record


def fork(home):
    """Write a thread that repeats the channel it was forked from.

    The file is named as OpenClaw names the files of threads.
    """
    home.transcript(user("one"), assistant("1"), user("two"), assistant("2"), session=PARENT)
    folder = home.root / "agents/main/sessions"
    _header, *copied = (folder / f"{PARENT}.jsonl").read_text().splitlines()
    header = {"type": "session", "version": 3, "id": CHILD, "timestamp": "2026-02-21T03:00:04.000Z"}
    own = [user("three"), assistant("3")]
    for number, record in enumerate(own, start=5):
        record |= {"id": f"r{number}", "parentId": f"r{number - 1}", "timestamp": f"2026-02-21T03:00:0{number}.000Z"}
    lines = [json.dumps(header | {"parentSession": f"/h/agents/main/sessions/{PARENT}.jsonl"}), *copied]
    text = "\n".join([*lines, *map(json.dumps, own)]) + "\n"
    (folder / f"{CHILD}.jsonl").write_text(text)


def test_a_fork_costs_what_it_adds(home, as_admin):
    fork(home)
    run(home)
    assert AgentSummary.objects.get().cost_usd == pytest.approx(0.03)
    assert (AgentSummary.objects.get().turn_count, AgentDailyStat.objects.get().turn_count) == (3, 3)
    page = as_admin.get(f"/agents/main/sessions/{CHILD}/").content.decode()
    assert page.count(f"/agents/main/sessions/{PARENT}/?record=") == 2  # one in the head of each repeated turn
    assert "4 records are from another session" in page
    answer = as_admin.get(f"/api/v1/agents/main/sessions/{CHILD}/turns").json()["items"]
    assert [(turn["repeat_of"], turn["cost_usd"]) for turn in answer] == [(PARENT, None), (PARENT, None), (None, 0.01)]
    before = {row.id: row.cost_usd for row in Session.objects.using(MAIN).all()}
    result = run(home, again=True)["again"]["main"]
    assert (result["rebuilt"], result["unchanged"]) == (0, 2)
    assert {row.id: row.cost_usd for row in Session.objects.using(MAIN).all()} == before


def test_a_parent_may_come_later(home):
    fork(home)
    hidden = home.root / "agents/main/sessions" / f"{PARENT}.jsonl"
    data = hidden.read_bytes()
    hidden.unlink()
    run(home)
    assert AgentSummary.objects.get().cost_usd == pytest.approx(0.03)
    agent = services.Agent.objects.get()
    made = services.make_samples(agent, CHILD, None, by="mei", status=DatasetSample.Status.APPROVED)
    assert len(made.made) == 3
    hidden.write_bytes(data)
    run(home)
    assert AgentSummary.objects.get().cost_usd == pytest.approx(0.03)
    assert TranscriptEvent.objects.using(MAIN).filter(repeat_of=PARENT, session_id=CHILD).count() == 4
    repeated = ConversationTurn.objects.using(MAIN).filter(repeat_of=PARENT)
    assert list(repeated.values_list("turn_number", flat=True)) == [1, 2]
    # Samples that were there stay, and are left out; new ones are not made.
    assert sorted(DatasetSample.objects.filter(repeat_of=PARENT).values_list("turn_number", flat=True)) == [1, 2]
    source = Source(Options(format="sharegpt", task="reply"))
    assert list(source.chosen.values_list("turn_number", flat=True)) == [3]
    assert source.count_excluded()["repeated"]["count"] == 2
    DatasetSample.objects.all().delete()
    made = services.make_samples(agent, CHILD, [1, 2, 3], by="mei")
    assert (len(made.made), [skipped["id"] for skipped in made.skipped]) == (1, ["1", "2"])


def test_an_unknown_cost_is_never_nothing(home, as_admin):
    home.transcript(user("a"), costing("known", {"input": 10, "output": 1, "cost": {"total": 0.25}}))
    home.transcript(user("b"), costing("none", {"input": 5000, "output": 300}))
    home.transcript(user("c"), costing("zero", {"input": 900, "output": 100, "cost": {"total": 0}}))
    home.transcript(user("d"), costing("tiny", {"input": 6, "output": 15, "cost": {"total": 5.4e-06}}))
    home.transcript(user("e"), session=PARENT)
    run(home)
    sessions = as_admin.get("/api/v1/agents/main/sessions?sort=-cost").json()["items"]
    costs = [(session["title"], session["cost_usd"], session["unpriced_tokens"]) for session in sessions]
    assert costs[:2] == [("a", 0.25, 0), ("d", 5.4e-06, 0)]
    assert sorted(costs[2:]) == [("b", None, 5300), ("c", None, 1000), ("e", None, 0)]
    seen, after = [], ""
    while after is not None:  # page by page, past the unknown costs
        answer = as_admin.get(f"/api/v1/agents/main/sessions?sort=cost&limit=1{after and f'&after={after}'}").json()
        seen += [session["title"] for session in answer["items"]]
        after = answer["next"]
    assert seen == [title for title, *_numbers in reversed(costs)]
    agent = "/agents/main/"
    for address in (f"{agent}sessions/?segment=all", f"{agent}turns/", f"{agent}events/", "/", "/agents/"):
        text = as_admin.get(address).text
        assert "$0<" not in text and "$0.00<" not in text
        assert "unknown" in text or "6.3k tokens without a price" in text, address
    file = as_admin.get(f"{agent}sessions/?format=csv").getvalue().decode("utf-8-sig")
    costs = {row["title"]: row["cost_usd"] for row in csv.DictReader(io.StringIO(file))}
    assert costs == {"a": "0.25", "b": "", "c": "", "d": "5.4e-06", "e": ""}
    totals = as_admin.get("/api/v1/overview").json()["totals"]
    assert (totals["cost_usd"], totals["unpriced_tokens"]) == (pytest.approx(0.2500054), 6300)


def test_nothing_is_known_of_a_home_without_prices(home, as_admin):
    home.transcript(user("b"), costing("none", {"input": 5000, "output": 300}))
    run(home)
    answer = as_admin.get("/api/v1/overview").json()
    assert (answer["totals"]["cost_usd"], answer["days"][0]["cost_usd"]) == (None, None)
    assert as_admin.get("/api/v1/overview/agents?sort=-cost_usd").json()["items"][0]["cost_usd"] is None
    assert "5.3k tokens without a price" in as_admin.get("/").content.decode()
