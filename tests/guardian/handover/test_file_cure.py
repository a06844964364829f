"""The cure of a file that OpenClaw leaves out of the prompt.

The whole content comes first, a text for the agent only where this site was the outside writer.
"""

import json

import pytest
from django.test import Client
from django.urls import reverse

from guardian.models import ProvenanceRecord
from guardian.rollbacks import service
from guardian.rollbacks.service import RollbackRequest
from ledger.models import Session
from people.configuration import setting_values as configuration
from tests import factories
from tests.conftest import BACKEND
from tests.guardian.standing.recorded_homes import sha
from tests.guardian.write_rows import T0, create_write

from .handover_rows import AFTER, BEFORE, DB, NAME, create_recorded_write
from .test_messages import parse_quoted_data

pytestmark = pytest.mark.django_db
API = f"/api/v1/agents/ada/guardian/files/{NAME}/cure"
FELL = BEFORE + b"- Met Bo.\n"


def turn(*tools, origin="main"):
    """Store the turn in which the file was marked as untrusted, with calls of tools."""
    session = factories.SessionFactory(db=DB, id="s9", session_key="agent:ada:main", origin=origin)
    factories.TurnFactory(
        db=DB, id="s9:u", session=session, turn_number=1, created_at=T0 + 10**9, user_message_id="u",
        user_message_content="Note Bo.", agent_message_id="a", agent_message_content="Noted.", first_seq=1, last_seq=2,
    )  # fmt: skip
    calls = [
        {"type": "toolCall", "id": str(number), "name": name, "arguments": {}} for number, name in enumerate(tools)
    ]
    record = {"type": "message", "id": "a", "message": {"role": "assistant", "content": calls}}
    factories.EventFactory(
        db=DB, session=session, seq=2, kind="assistant", turn_number=1, event_json=json.dumps(record)
    )


def create_untrusted_file(ada, home, *tools, by_us=True, origin="main"):
    """Store a rolled back file that the agent's next write took out of the prompt."""
    create_recorded_write(home)
    columns = {"file_name": NAME, "workspace_key": "w", "state": "known", "origin_class": "agent", "version": 1}
    data = home.workspace("ada") / NAME
    ProvenanceRecord(id="o", file_hash=sha(BEFORE), observed_at=T0 - 9, first_seen_at=T0 - 9, **columns).save(using=DB)
    ProvenanceRecord(id="p", file_hash=sha(AFTER), observed_at=T0, first_seen_at=T0, **columns).save(using=DB)
    if by_us:
        service.roll_back(ada, "w1", RollbackRequest("otto", "No.", accepts_effect=True), seen=None)
    else:
        create_write(DB, 2, AFTER, BEFORE, origin="imported")
        data.write_bytes(BEFORE)
    turn(*tools, origin=origin)
    later = 4_000_000_000_000
    create_write(DB, 3, BEFORE, FELL, created_at=later, session_id="s9")
    data.write_bytes(FELL)
    home.record(NAME, FELL, "untrusted", agent="ada", at=later, session="s9", sessionId="s9")
    columns |= {"origin_class": "untrusted", "observed_at": later, "session_id": "s9"}
    ProvenanceRecord(id="q", file_hash=sha(FELL), first_seen_at=later, **columns).save(using=DB)


def test_a_file_that_fell_after_our_rollback(ada, as_operator, home):
    create_untrusted_file(ada, home, "write", "read")
    cure = as_operator.get(API).json()
    assert not cure["problem"] and cure["content"] == FELL.decode()
    assert parse_quoted_data(cure["message"]) == {"file": NAME, "content": FELL.decode()}
    words = as_operator.get(reverse("guardian:file_cure", args=["ada", NAME])).content.decode()
    assert words.index("Whole file") < words.index("Text for the agent") and "[OpenClaw Web task]" in words


def test_the_page_of_the_file_leads_there(ada, as_operator, home, stranger):
    create_untrusted_file(ada, home, "write")
    as_stranger = Client()
    as_stranger.force_login(stranger, backend=BACKEND)
    address = reverse("guardian:file_cure", args=["ada", NAME])
    page_address = reverse("guardian:file_detail", args=["ada", NAME])
    assert address in as_operator.get(page_address).content.decode()
    assert address not in as_stranger.get(page_address).content.decode()


@pytest.mark.parametrize("why", ["web", "stranger", "not ours", "no session", "opted out", "no record"])
def test_otherwise_there_is_no_text(ada, as_operator, home, why):
    tools = ("web_fetch", "write") if why == "web" else ("write",)
    create_untrusted_file(ada, home, *tools, by_us=why != "not ours", origin="direct" if why == "stranger" else "main")
    if why == "no session":
        Session.objects.using(DB).filter(id="s9").delete()
    if why == "opted out":
        configuration.put("collector.optedOutSenders", ["mallory"])
    if why == "no record":
        home.record(NAME, FELL, agent="ada")
    cure = as_operator.get(API).json()
    assert cure["problem"] and not cure["message"]
    words = as_operator.get(reverse("guardian:file_cure", args=["ada", NAME])).content.decode()
    assert "Text for the agent" not in words


def test_other_files_have_no_such_page(ada, as_operator, home):
    assert as_operator.get(reverse("guardian:file_cure", args=["ada", "AGENTS.md"])).status_code == 404
