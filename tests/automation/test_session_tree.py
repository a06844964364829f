"""The tree of all that a turn or a session started: page, API, and its sums."""

from math import fsum
from pathlib import Path

import orjson
import pytest
from django.db.models import Sum

from agents.models import Agent
from automation import spawn_tree
from automation.models import DeliveryQueueEntry, TaskRun
from collecting import collect
from jobs.progress import Progress
from ledger.models import ConversationTurn, Session, SessionDay
from people.configuration import setting_values as configuration
from tests.factories import T0, CronJobFactory, CronRunFactory, SubagentRunFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

HOMES = Path(__file__).resolve().parents[3] / "shared" / "data"
PAGE, API = "/agents/ada/sessions/s1/tree/", "/api/v1/agents/ada/sessions/s1/tree"
CHILD, GRANDCHILD = "agent:bob:subagent:u1", "agent:ada:subagent:u2"
pytestmark = pytest.mark.django_db


def spawn(call, key, **arguments):
    """Return a call that starts a sub-agent, and its result."""
    answer = orjson.dumps({"status": "accepted", "childSessionKey": key}).decode()
    return (
        assistant("", (call, "sessions_spawn", {"task": "t", **arguments})),
        result(call, answer, name="sessions_spawn"),
    )


def store(session_id, *records, key, origin="subagent", db="agent_ada"):
    """Store a session of these records under a key."""
    session = store_session(*records, session_id=session_id, db=db)
    Session.objects.using(db).filter(id=session_id).update(session_key=key, origin=origin)
    return session


def flatten(node):
    """Return a node and all below it, in the order of reading."""
    return [node, *(below for child in node["children"] for below in flatten(child))]


@pytest.fixture
def started(ada, bob):
    """Two turns of ada: one starts a sub-agent of bob, which starts one of ada, and more; the other nothing."""
    send = {"action": "send", "channel": "telegram", "target": "42", "message": "done"}
    store(
        "s1",
        user("go"),
        *spawn("c1", CHILD, label="counter"),
        assistant("", ("c2", "cron", {"action": "add", "job": {}}), ("c3", "message", send)),
        result("c2", '{"id": "job-1"}', name="cron"),
        result("c3", '{"ok": true}', name="message"),
        assistant("", ("c4", "sessions_send", {"sessionKey": "agent:bob:main", "message": "look at <this>"})),
        result("c4", '{"status": "ok"}', name="sessions_send"),
        assistant("started"),
        user("and now?") | {"timestamp": T0 + 3_600_000},
        assistant("nothing") | {"timestamp": T0 + 3_601_000},
        key="agent:ada:main",
        origin="main",
    )
    # The cycle of the grandchild leads back to the child, and to the session that began.
    back = (*spawn("c2", CHILD), *spawn("c3", "agent:ada:subagent:gone"), assistant("2"))
    store("child", user("count"), *spawn("c1", GRANDCHILD), assistant("1"), key=CHILD, db="agent_bob")
    store("grandchild", user("count"), *back, key=GRANDCHILD)
    store("main", user("look at <this>"), assistant("3"), key="agent:bob:main", origin="main", db="agent_bob")
    store("run", user("brief"), assistant("4"), key="agent:ada:cron:job-1:run:run", origin="cron")
    CronJobFactory(id="job-1", name="Morning <b>brief")
    entry = '{"deliveryStatus": "not-delivered"}'
    CronRunFactory(job_id="job-1", session_id="run", ts=T0 + 90_000, entry_json=entry)
    CronRunFactory(job_id="job-1", session_id="s1", ts=T0 + 95_000, status="error")  # in the main session
    requester = {"requester_session_key": "agent:ada:main", "created_at": T0 + 3_000}
    SubagentRunFactory(child_session_key=CHILD, ended_at=T0 + 9_000, **requester)
    TaskRun.objects.create(
        task_id="t", agent_id="ada", child_session_key=CHILD, delivery_status="delivered", **requester
    )
    TaskRun.objects.create(task_id="x", agent_id="ada", label="index", status="running", **requester)
    queued = {"agent_id": "ada", "session_key": "agent:ada:main", "enqueued_at": T0 + 4_000}
    DeliveryQueueEntry.objects.create(queue_name="q", id="1", status="failed", channel="telegram", **queued)


def test_a_turn_shows_all_it_started_over_agents(as_stranger, started):
    tree = as_stranger.get(f"{API}?turn=1").json()
    nodes = flatten(tree["root"])
    places = [(node["kind"], node["label"], node["agent_id"], node["session_id"], node["is_counted"]) for node in nodes]
    assert places == [
        ("turn", "", "ada", "s1", True),
        ("schedule", "Morning <b>brief", "ada", None, False),
        ("run", "", "ada", "run", True),
        ("run", "", "ada", None, False),
        ("message", "telegram", "ada", None, False),
        ("send", "agent:bob:main", "bob", "main", True),
        ("subagent", "counter", "bob", "child", True),
        ("subagent", "t", "ada", "grandchild", True),
        ("subagent", "t", "bob", "child", False),
        ("subagent", "t", "ada", None, False),
        ("task", "index", "ada", None, False),
        ("delivery", "telegram", "ada", None, False),
    ]
    assert (nodes[6]["status"], nodes[6]["delivery"], nodes[6]["ended_at"]) == ("ok", "delivered", T0 + 9_000)
    assert (nodes[2]["delivery"], nodes[4]["delivery"], nodes[5]["turn_number"]) == ("not-delivered", "delivered", 1)
    # Four model calls of the turn; one of the run, one of bob's turn, two of the child, three of the grandchild.
    assert nodes[0]["cost_usd"] == pytest.approx(0.04)
    assert (tree["started_cost_usd"], tree["total_cost_usd"]) == (pytest.approx(0.07), pytest.approx(0.11))
    page = as_stranger.get(f"{PAGE}?turn=1").text
    for words in (
        "Started by turn 1",
        *("Own cost $0.0400 + started $0.0700 = $0.1100", "Morning &lt;b&gt;brief", "counted above"),
        *(
            'href="/agents/bob/sessions/child/"',
            'href="/agents/bob/sessions/main/?turn=1#t-1"',
            "Delivered",
            "Not sent",
        ),
    ):
        assert words in page, words
    part = as_stranger.get(f"{PAGE}?turn=1", headers={"HX-Request": "true"}).text
    assert "counter" in part and "<html" not in part


def test_a_turn_that_started_nothing_says_so(as_stranger, started):
    assert as_stranger.get(f"{API}?turn=2").json()["root"]["children"] == []
    assert "Nothing that was started is known." in as_stranger.get(f"{PAGE}?turn=2").text
    for missing in (f"{API}?turn=7", f"{PAGE}?turn=7", PAGE.replace("s1", "no")):
        assert as_stranger.get(missing).status_code == 404, missing
    transcript = as_stranger.get("/agents/ada/sessions/s1/").text
    assert 'href="/agents/ada/sessions/s1/tree/?turn=1"' in transcript
    assert "tree/?turn=2" not in transcript


def test_a_whole_session_counts_itself_once(as_stranger, started):
    tree = as_stranger.get(API).json()
    assert tree["total_cost_usd"] == pytest.approx(0.12)
    assert tree["count"] == len(flatten(tree["root"]))


def test_words_are_not_shown_while_somebody_has_opted_out(as_stranger, started):
    configuration.put("collector.optedOutSenders", ["mei"])
    labels = [node["label"] for node in flatten(as_stranger.get(API).json()["root"])]
    assert "counter" not in labels and "t" not in labels and "index" not in labels and "telegram" in labels


def test_trees_are_bounded(as_stranger, ada):
    key = "agent:ada:subagent:deep{}".format
    for depth in range(9):
        store(f"d{depth}", user("go"), *spawn("c", key(depth + 1)), assistant("1"), key=key(depth))
    tree = as_stranger.get(API.replace("s1", "d0")).json()
    assert (tree["count"], tree["more"]) == (7, 1)
    SubagentRunFactory.create_batch(300, requester_session_key=key(8), created_at=T0 + 2_000)
    tree = as_stranger.get(API.replace("s1", "d8")).json()
    assert tree["count"] == 200 and tree["more"] >= 1
    assert "more" in as_stranger.get(PAGE.replace("s1", "d8")).text


def test_a_message_leads_to_the_nearest_turn_that_it_began(as_stranger, ada, bob):
    send = ("c", "sessions_send", {"sessionKey": "agent:bob:main", "message": "ok"})
    answer = result("c", '{"status": "ok"}', name="sessions_send")
    store("s1", user("go"), assistant("", send), answer, assistant("done"), key="agent:ada:main", origin="main")
    for name, words, days in (("old", "is it ok", 5), ("near", "From ada: ok", 0), ("other", "okay?", 0)):
        moment = T0 - days * 86_400_000
        turn = (user(words) | {"timestamp": moment}, assistant("3") | {"timestamp": moment + 1000})
        store(name, *turn, key="agent:bob:main", origin="main", db="agent_bob")
    (node,) = as_stranger.get(f"{API}?turn=1").json()["root"]["children"]
    assert (node["kind"], node["session_id"], node["turn_number"]) == ("send", "near", 1)


def test_what_is_left_out_is_said_beside_the_sum(as_stranger, ada):
    SubagentRunFactory.create_batch(300, requester_session_key="agent:ada:main", created_at=T0 + 2_000)
    store("s1", user("go"), assistant("1"), key="agent:ada:main", origin="main")
    page = as_stranger.get(PAGE).text
    assert "At least:" in page and "and at least 1 more" in page


@pytest.mark.parametrize("key", ["agent:../x:subagent:u", "agent:bob:main", "x", 3, "agent:nobody:subagent:u"])
def test_odd_keys_lead_nowhere(as_stranger, started, key):
    store("odd", user("go"), *spawn("c", key), key="agent:ada:odd")
    for output in ("[]", "{", "no"):
        records = assistant("", ("c", "sessions_spawn", {})), result("c", output, name="sessions_spawn")
        store(f"odd-{output}", user("go"), *records, key="agent:ada:odder")
        assert as_stranger.get(API.replace("s1", f"odd-{output}")).json()["root"]["children"][0]["session_id"] is None
    root = as_stranger.get(API.replace("s1", "odd")).json()["root"]
    assert [node["session_id"] for node in root["children"]] == [None]


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize("name", sorted(path.name for path in HOMES.glob("openclaw-2*")))
def test_sums_of_real_homes_equal_their_usage(real_files, name):
    collect.run({"source": str(HOMES / name), "include_deleted": True}, Progress())
    started, totals, usage = set(), {}, []
    for agent in Agent.objects.all():
        usage.append(SessionDay.objects.using(agent.db).aggregate(sum=Sum("cost_usd"))["sum"] or 0)
        for turn in ConversationTurn.objects.using(agent.db):
            tree = spawn_tree.read_tree(agent, turn.session_id, turn.turn_number)
            costs = [
                Session.objects.using(f"agent_{n['agent_id']}").get(id=n["session_id"]).cost_usd or 0
                for n in flatten(tree.root.model_dump())[1:]
                if n["is_counted"]
            ]
            assert tree.root.cost_usd == turn.cost_usd
            assert tree.total_cost_usd == pytest.approx((turn.cost_usd or 0) + fsum(costs), abs=1e-9)
        for session in Session.objects.using(agent.db):
            tree = spawn_tree.read_tree(agent, session.id)
            totals[agent.agent_id, session.id] = tree.total_cost_usd
            started |= {
                (n["agent_id"], n["session_id"]) for n in flatten(tree.root.model_dump())[1:] if n["is_counted"]
            }
    assert fsum(cost for place, cost in totals.items() if place not in started) == pytest.approx(fsum(usage), abs=1e-9)
    assert len(started) == name.startswith("openclaw-2026.2.26")  # in 2026.9.6 the sub-agent was refused
