"""Turns of agents, some of them with a sample, for the tests of coverage."""

from ledger.models import Session
from ledger.transcripts.turns import utc_day
from overview.models import AgentDailyStat
from tests.datasets.exports.branches import body
from tests.factories import T0, EventFactory, SampleFactory, SessionFactory, TurnFactory

DAY_MS = 86_400_000
PAGE = "/datasets/coverage/"
NEXT = "/datasets/coverage/next/"
API = "/api/v1/datasets/coverage"


def add_turn(name, reply="It failed.", *, agent="ada", tools=(), day=0, cost=0.0, status=None, **columns):
    """Add a turn in a session of its own with this name, its day of usage, and its sample with a status if any."""
    db = f"agent_{agent}"
    at = T0 + day * DAY_MS
    session = Session.objects.using(db).filter(id=name).first() or SessionFactory(id=name, db=db)
    number = session.turns.count() + 1
    first = number * 100
    usage = {"cost_usd": cost, "total_tokens": 10, "unpriced_tokens": 1}
    TurnFactory(
        db=db, session=session, turn_number=number, agent_message_id=f"a{number}", agent_message_content=reply,
        created_at=at, first_seq=first, last_seq=first + len(tools) + 1, **usage,
    )  # fmt: skip
    for place, tool in enumerate(tools):
        of_turn = {"kind": "tool_result", "tool_name": tool, "turn_number": number}
        EventFactory(db=db, session=session, seq=first + place + 1, event_id=f"{name}-{number}-{place}", **of_turn)
    stat, _is_new = AgentDailyStat.objects.get_or_create(agent_id=agent, date=utc_day(at), defaults={"cost_usd": 0})
    for column, value in usage.items():
        setattr(stat, column, getattr(stat, column) + value)
    stat.save()
    if status:
        content = body(number, userMessage=f"Ask {name} {number}", agentReply=reply)
        of_turn = {"agent_id": agent, "session_id": name, "turn_number": number, "turn_id": f"{name}:u{number}"}
        SampleFactory(id=f"x-{name}-{number}", content=content, annotation_status=status, **of_turn, **columns)


def read_shares(browser, **query):
    """The share in the samples and in the traffic of each bucket, by dimension and name."""
    answer = browser.get(API, query)
    assert answer.status_code == 200, answer.text
    return {(row["dimension"], row["name"]): (row["share"], row["traffic"]) for row in answer.json()["buckets"]}


def list_gaps(browser, **query):
    """The gaps, as dimension and name."""
    return [(row["dimension"], row["name"]) for row in browser.get(API, query).json()["buckets"] if row["is_gap"]]
