"""Lines of memory files from people who opted out, and how to remove them."""

import re

import orjson
import pytest

from guardian.detail import opted_out_lines
from ledger.models import ConversationTurn, Session
from people.configuration import setting_values as configuration
from tests.guardian.write_rows import create_rollback, create_write, share_diff
from tests.homes import assistant
from tests.ledger.transcript_records import channel_message, get_text, store_group_chat, store_session
from tests.people import settings_page

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def post(client, address, body):
    return client.post(address, orjson.dumps(body), content_type="application/json")


PAGE = "/agents/ada/writes/opted-out/"


@pytest.fixture
def turns(ada):
    """A chat of mei and tom, each of whom left a line in MEMORY.md.

    Two more lines of the file have no known author.
    """
    turns = store_group_chat("mei", "tom")
    create_write(DB, 1, b"# Memory\n", b"# Memory\nMei likes tea.\n", turn_id=turns[0].id, session_id="s1")
    both = b"# Memory\nMei likes tea.\n\nTom <b>moves</b>.\n"
    create_write(DB, 2, b"# Memory\nMei likes tea.\n", both, turn_id=turns[1].id, session_id="s1")
    create_write(DB, 3, both, both + b"From nowhere.\n")
    return turns


def test_nothing_is_listed_while_nobody_has_opted_out(as_stranger, turns):
    assert "Nobody has opted out" in get_text(as_stranger.get(PAGE))
    answer = as_stranger.get("/api/v1/agents/ada/guardian/opted-out").json()
    assert answer == {"is_asked": False, "theirs": [], "unknown": [], "without_write": {}, "more": 0}


def test_lines_of_a_person_lead_to_the_rollback_of_their_write(as_operator, as_stranger, turns):
    configuration.put("collector.optedOutSenders", ["tom"])
    edges = get_text(as_operator.get("/agents/ada/files/MEMORY.md/"))
    assert re.findall(r'/writes/w(\d)/">([^<]+)</a>', edges) == [("1", "mei"), ("2", "Opted out"), ("3", "Not known")]
    page = get_text(as_operator.get(PAGE))
    theirs, unknown = page.split("Unknown speaker")
    assert "Tom &lt;b&gt;moves&lt;/b&gt;." in theirs and "Mei likes tea" not in page
    assert "/agents/ada/files/MEMORY.md/?line=4#L4" in theirs
    assert "/agents/ada/writes/rollback/of/w2/" in theirs and "?record=r3#r-r3" in theirs and "tom in " in theirs
    assert "From nowhere." in unknown and "/agents/ada/writes/rollback/of/w3/" in unknown
    assert "1 line of MEMORY.md comes from no recorded write." in unknown
    assert "rollback/of" not in get_text(as_stranger.get(PAGE))


def test_lines_that_were_restored_lead_to_the_rollback_of_what_restored_them(as_operator, turns):
    both = b"# Memory\nMei likes tea.\n\nTom <b>moves</b>.\nFrom nowhere.\n"
    without = both.replace(b"Tom <b>moves</b>.\n", b"")
    create_rollback(DB, 4, ["w2"], both, without), create_rollback(DB, 5, ["w4"], without, both)
    configuration.put("collector.optedOutSenders", ["tom"])
    theirs = get_text(as_operator.get(PAGE)).split("Unknown speaker")[0]
    assert "Tom &lt;b&gt;moves&lt;/b&gt;." in theirs and "/agents/ada/writes/rollback/of/w5/" in theirs


def test_an_admin_is_led_to_the_settings(as_admin, as_stranger, ada):
    assert 'href="/operations/settings/">Open settings' in get_text(as_admin.get(PAGE))
    assert "Open settings" not in get_text(as_stranger.get(PAGE))


def test_the_api_tells_the_same(as_stranger, turns):
    configuration.put("collector.optedOutSenders", ["mei", "tom"])
    answer = as_stranger.get("/api/v1/agents/ada/guardian/opted-out").json()
    assert [item["audit_id"] for item in answer["theirs"]] == ["w2", "w1"]
    assert answer["theirs"][1]["lines"] == [{"file": "MEMORY.md", "number": 2, "text": "Mei likes tea."}]
    assert answer["theirs"][1]["turn_id"] == turns[0].id
    assert [item["audit_id"] for item in answer["unknown"]] == ["w3"]
    assert answer["unknown"][0]["turn_id"] is None and answer["without_write"] == {"MEMORY.md": 1}


def test_all_that_was_said_in_a_direct_chat_is_of_its_person(as_operator, as_stranger, turns):
    """The messages there name no sender: the key of the session names the person."""
    store_session(channel_message("", "Alice one"), assistant("To Alice"), session_id="s2")
    Session.objects.using(DB).filter(id="s2").update(session_key="agent:ada:irc:direct:alice", origin="direct")
    turn = ConversationTurn.objects.using(DB).get(session_id="s2")
    create_write(DB, 4, None, b"Alice sings.\n", target_file="USER.md", turn_id=turn.id, session_id="s2")
    configuration.put("collector.optedOutSenders", ["alice"])
    answer = as_stranger.get("/api/v1/agents/ada/guardian/opted-out").json()
    assert [item["audit_id"] for item in answer["theirs"]] == ["w4"]
    report = {"id": "n1", "session_id": "agent:ada:irc:direct:alice", "turn_id": turn.id, "target_file": "USER.md"}
    report |= {"candidate_fact": "Alice dances.", "status": "refused", "created_at": 1}
    answer = post(as_operator, "/api/v1/agents/ada/guardian/writes", {"writes": [report]})
    assert (answer.json()["recorded"], answer.json()["withheld"]) == ([], 1)
    correction = {"status": "refused", "reason": "No."}
    answer = post(as_operator, "/api/v1/agents/ada/guardian/writes/w4/correction", correction)
    assert (answer.status_code, "opted out" in answer.json()["detail"]) == (409, True)
    answer = post(as_operator, "/api/v1/agents/ada/guardian/writes/w4/sample", {"verdict": "right"})
    assert (answer.status_code, "opted out" in answer.json()["detail"]) == (409, True)


def test_lines_that_several_writes_share_are_of_each_of_them(ada, turns):
    before = b"# Memory\nMei likes tea.\n\nTom <b>moves</b>.\nFrom nowhere.\n"
    for number, turn in ((4, turns[1]), (5, turns[0])):
        create_write(DB, number, before, before + b"Tom is ill.\n", turn_id=turn.id, session_id="s1")
    share_diff(DB, "w4", "w5")
    configuration.put("collector.optedOutSenders", ["tom"])
    opted_out = opted_out_lines.find_opted_out_lines(ada)
    assert [(write_lines.audit.id, write_lines.lines[0][2]) for write_lines in opted_out.theirs] == [
        ("w4", "Tom is ill."),
        ("w2", "Tom <b>moves</b>."),
    ]
    configuration.put("collector.optedOutSenders", ["mei", "tom"])
    assert opted_out_lines.find_opted_out_lines(ada).line_count == 3


def test_whoever_saves_who_opted_out_is_told_where_their_lines_are(as_admin):
    fields = settings_page.read_form(as_admin) | {"collector.optedOutSenders": "tom"}
    answer = as_admin.post(settings_page.SAVE, fields, follow=True)
    assert "Lines that they left in memory files are listed for each agent" in get_text(answer)
