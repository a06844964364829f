"""The list of writes, on the page, as files and in the API."""

import re
from html import unescape

import pytest

from guardian.models import WriteGuardianAudit
from tests.factories import T0, SessionFactory, TurnFactory
from tests.guardian.write_rows import create_rollback, create_write
from tests.ledger.transcript_records import get_text

ADA, API = "/agents/ada/writes/", "/api/v1/agents/ada/guardian/writes"
DB = "agent_ada"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def session(ada):
    return SessionFactory(id="s1", title="The nightly import", session_key="agent:ada:irc:group:#lab")


def write(number, db="agent_ada", **columns):
    """A write with this number in its fact, this many milliseconds after the first."""
    defaults = {
        "session_id": "s1",
        "target_file": "MEMORY.md",
        "status": "written",
        "candidate_fact": f"number {number}",
    }
    defaults |= {"created_at": T0 + number, "lines_added": 1, "lines_removed": 0}
    return WriteGuardianAudit.objects.using(db).create(id=f"w{number}", **(defaults | columns))


def read_numbers(response):
    """Return the numbers in the facts of a page, in order."""
    return [int(number) for number in re.findall(r"number (\d+)<", get_text(response))]


def test_it_works(client, session):
    TurnFactory(session=session, id="s1:u4", turn_number=4, user_message_content="I moved to Oslo.")
    write(1, turn_id="s1:u4", lines_added=12, lines_removed=3, origin="imported", match="near", rule_id="r1")
    page = client.get(ADA)
    words = ("1 write of ada", "number 1", "MEMORY.md", "Written", "I moved to Oslo.", "The nightly import", "Imported")
    for word in (*words, "+12", "−3", "Rule"):
        assert word in get_text(page)
    assert 'href="/agents/ada/writes/w1/"' in get_text(page) and 'href="/agents/ada/sessions/s1/?turn=4"' in get_text(
        page
    )


def test_what_is_not_known_is_not_nothing(client):
    write(1, session_id=None, candidate_fact=None, lines_added=None, lines_removed=None, origin="unattributed")
    row = re.search(r"<tbody>.*</tbody>", get_text(client.get(ADA)), re.DOTALL)[0]
    assert ">+0" not in row and row.count('<span class="muted">–</span>') == 2
    assert "Changed outside this site&#x27;s records" in row


def test_rollbacks_say_what_they_are_about(client):
    create_write(DB, 1, b"a\n", b"b\n"), create_write(DB, 2, b"b\n", b"c\n", candidate_fact="Likes milk.")
    create_rollback(DB, 3, ["w1"], b"c\n", b"c1\n"), create_rollback(DB, 4, ["w3"], b"c1\n", b"c2\n")
    page = get_text(client.get(ADA))
    assert ">Rollback: Likes tea.</span>" in page and ">Rollback undone: Likes tea.</span>" in page
    assert "Undone</span>" in page and "Reason 4." in page
    create_rollback(DB, 5, ["w4", "w2"], b"c2\n", b"d\n"), create_rollback(DB, 6, ["w5"], b"d\n", b"e\n")
    page = get_text(client.get(ADA))
    assert ">Rollback of 2 writes</span>" in page and ">Rollback of 2 writes undone</span>" in page


def test_why_something_was_not_written_is_said(client):
    write(1, status="refused", reason="It is a password.")
    write(2, reason="It is worth keeping.")
    page = get_text(client.get(f"{ADA}?segment=all"))
    assert "It is a password." in page and "It is worth keeping." not in page


@pytest.fixture
def three(session):
    """Three writes, of which the second differs from the others in every column.

    The second has no turn.
    """
    SessionFactory(id="s2", session_key="agent:ada:main")
    columns = {"session_id": "s1", "turn_id": "s1:u1", "decision_id": "d1"}
    write(1, **columns, origin="imported")
    others = {"session_id": "s2", "target_file": "USER.md", "status": "refused", "reason": "Too private."}
    write(2, **others, origin="own", rule_id="r2", decision_id="d2")
    write(3, **columns, origin="rollback", status="rolled_back")


def test_segments(client, three):
    write(4, origin="unattributed", session_id=None)
    page = client.get(ADA)
    assert read_numbers(page) == [4, 3, 1], "writes that changed a file come first"
    assert re.search(r'aria-current="true">Changed the file <[^>]+>3<', get_text(page))
    assert len(client.get(API).json()["items"]) == 4, "the API holds everything unless it is asked"


@pytest.mark.parametrize("home", ["/", "/agents/ada/"])
def test_decisions_are_another_view_that_keeps_common_filters(client, session, home):
    common = "?q=a%20b%26c&session=%3Ds1&unmatched=on&from=2026-02-01&to=2026-02-09&sort=time"
    for own, other, more in (("writes", "gate", "status=written"), ("gate", "writes", "decision=NO_WRITE")):
        answer = client.get(f"{home}{own}/{common}&{more}")
        assert answer.status_code == 200
        links = re.findall(r'<li><a href="([^"]+)"( aria-current="page")?>(?:Decisions|Writes)</a>', answer.text)
        assert {(unescape(href), bool(current)) for href, current in links} == {
            (f"{home}{own}/{common}", True),
            (f"{home}{other}/{common}", False),
        }
