"""Facts for our own guardian, answers of its model, and what is stored; the endpoint is tests.llm_endpoint."""

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
    """A page with every run of spaces as one."""
    return " ".join(answer.content.decode().split())


def decided(number=0, *, fact="Likes tea.", decision="UPDATE_USER", turn=True, **more):
    """A decision to write, on a turn of its own."""
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
    """A model that reads a file."""
    return uses(("read", {"file": name}), **USED)


def write(content=NEW, name="USER.md"):
    """A model that writes a file."""
    return uses(("write", {"file": name, "content": content}), **USED)


def refuse(reason="Not lasting."):
    return uses(("refuse", {"reason": reason}), **USED)


def writes(content=NEW, name="USER.md"):
    """The two answers with which a file is written."""
    return read(name), write(content, name)


def run(agent, listener=None, **asked):
    """A run in this process; its job. Decisions of the millisecond in which it begins come too late for it."""
    time.sleep(0.002)
    return job.run_here(agent, FactChoice(**asked).to_params(agent), by="root", listener=listener)


def runs():
    return list(GuardianRun.objects.using(DB).order_by("created_at", "id"))


def steps():
    return list(GuardianStep.objects.using(DB).order_by("created_at", "id"))


def audits():
    return list(WriteGuardianAudit.objects.using(DB).order_by("created_at", "id"))


def told(request):
    """What the last message of a request tells the model about its last tool."""
    return json.loads(request.words)


def proposal(agent, *script, endpoint, **decision):
    """The run of a proposal that waits."""
    decided(**decision)
    if script:
        endpoint.then(*script)
    run(agent)
    return runs()[-1]


def approve(agent, one, by="otto"):
    """Approve a proposal as its preview shows it."""
    seen = proposals.preview(agent, proposals.find(agent.db, one.id)).seen
    return proposals.approve(agent, one.id, by=by, seen=seen)
