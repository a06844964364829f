"""Facts and model answers for tests of our own guardian, and its stored rows.

The endpoint itself is tests.llm_endpoint.
"""

import json
import time

from guardian.models import GuardianRun, GuardianStep, WriteGuardianAudit
from guardian.runner import job, proposals
from guardian.runner.fact_selection import FactChoice
from tests import factories
from tests.factories import T0
from tests.llm_endpoint import uses

DB = "agent_ada"
USED = {"prompt_tokens": 700, "completion_tokens": 40}
HELD = "# User\n\n- Lives in Bonn.\n"
NEW = HELD + "- Likes tea.\n"
# The pages and the API of our own guardian.
PAGE, API = "/agents/ada/writes/own/", "/api/v1/agents/ada/guardian"
JSON = {"content_type": "application/json"}


def text_of(answer):
    """Return a page as text in which every run of spaces is one space."""
    return " ".join(answer.content.decode().split())


def create_decision(number=0, *, fact="Likes tea.", decision="UPDATE_USER", turn=True, **more):
    """Store a decision to write, on a turn of its own."""
    session = factories.SessionFactory(db=DB, id=f"s{number}", session_key=f"agent:ada:main:s{number}")
    if turn:
        factories.TurnFactory(
            db=DB, id=f"s{number}:u", session=session, turn_number=1, created_at=T0, user_message_id="u",
            user_message_content="I like tea.", agent_message_id="a", agent_message_content="Noted.",
            first_seq=1, last_seq=2,
        )  # fmt: skip
    columns = {"turn_id": f"s{number}:u" if turn else None, "created_at": T0 + number}
    return factories.DecisionFactory(
        db=DB, id=f"d{number}", session_id=session.id, decision=decision, candidate_fact=fact, **(columns | more)
    )


def read(name="USER.md"):
    """Return the answer of a model that reads a file."""
    return uses(("read", {"file": name}), **USED)


def write(content=NEW, name="USER.md"):
    """Return the answer of a model that writes a file."""
    return uses(("write", {"file": name, "content": content}), **USED)


def refuse(reason="Not lasting."):
    return uses(("refuse", {"reason": reason}), **USED)


def writes(content=NEW, name="USER.md"):
    """Return the two answers with which a file is written."""
    return read(name), write(content, name)


def run(agent, listener=None, **choice):
    """Run the guardian in this process, and return its job.

    Decisions of the millisecond in which the run begins come too late for it.
    """
    time.sleep(0.002)
    return job.run_here(agent, FactChoice(**choice).to_params(agent), by="root", listener=listener)


def runs():
    return list(GuardianRun.objects.using(DB).order_by("created_at", "id"))


def steps():
    return list(GuardianStep.objects.using(DB).order_by("created_at", "id"))


def audits():
    return list(WriteGuardianAudit.objects.using(DB).order_by("created_at", "id"))


def read_tool_answer(request):
    """Return what the last message of a request tells about the last tool call."""
    return json.loads(request.words)


def create_proposal(agent, *script, endpoint, **decision):
    """Run the guardian, and return the run whose proposal waits."""
    create_decision(**decision)
    if script:
        endpoint.then(*script)
    run(agent)
    return runs()[-1]


def approve(agent, row, by="otto"):
    """Approve a proposal as its preview shows it."""
    seen = proposals.preview(agent, proposals.find(agent.db, row.id)).seen
    return proposals.approve(agent, row.id, by=by, seen=seen)
