"""Talks for our own gate to judge, and what is stored afterwards; the endpoint is tests.llm_endpoint."""

import json

from gate.deciding import running
from gate.deciding.choosing import Asked
from gate.models import GateCall, MemoryGateDecision
from tests import factories
from tests.factories import T0
from tests.llm_endpoint import says

MINUTE = 60_000
DB = "agent_ada"
USED = {"prompt_tokens": 700, "completion_tokens": 40}


def talk(count, *, session_id="s1", start=T0, texts=(), db=DB, **more):
    """A session with so many turns, a minute apart, each answered after a second; `texts` are said by its users."""
    session = factories.SessionFactory(db=db, id=session_id, session_key=f"agent:ada:irc:group:#{session_id}")
    said = dict(enumerate(texts))
    return [
        factories.TurnFactory(
            db=db, id=f"{session_id}:u{n}", session=session, turn_number=n, created_at=start + n * MINUTE,
            latency_ms=1_000, user_message_id=f"u{n}", user_message_content=said.get(n, f"Question {n}"),
            agent_message_id=f"a{n}", agent_message_content=f"Answer {n}", first_seq=2 * n, last_seq=2 * n + 1, **more,
        )
        for n in range(count)
    ]  # fmt: skip


def answer(decision="UPDATE_USER", reason="Likes tea.", fact="The user likes tea."):
    """What a model that keeps to its prompt says."""
    return json.dumps({"decision": decision, "reason": reason, "candidateFact": fact})


def decides(*args, **kwargs):
    """Answers with a decision and its usage."""
    return says(answer(*args, **kwargs), **USED)


def run(agent, listener=None, **asked):
    """A run in this process; its job."""
    return running.run_here(agent, Asked(**asked), by="root", listener=listener)


def decisions(db=DB):
    return MemoryGateDecision.objects.using(db).order_by("turn_id")


def calls(db=DB):
    return GateCall.objects.using(db).order_by("created_at", "id")


def outcomes(db=DB):
    return [call.outcome for call in calls(db)]
