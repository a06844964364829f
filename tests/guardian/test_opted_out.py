"""The lines of memory files that come from people who opted out, and the way to take them out."""

import orjson
import pytest

from guardian.detail import opted_out_lines
from ledger.models import ConversationTurn, Session
from people.configuration import setting_values as configuration
from tests.guardian.written import share, took_back, wrote
from tests.homes import assistant
from tests.ledger.talks import group_chat, says, tell, text_of
from tests.people import settings_page

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def post(client, address, body):
    return client.post(address, orjson.dumps(body), content_type="application/json")


PAGE = "/agents/ada/writes/opted-out/"


@pytest.fixture
def turns(ada):
    """A chat in which mei and tom asked something; each left a line in MEMORY.md, and nobody knows who left two."""
    turns = group_chat("mei", "tom")
    wrote(DB, 1, b"# Memory\n", b"# Memory\nMei likes tea.\n", turn_id=turns[0].id, session_id="s1")
    both = b"# Memory\nMei likes tea.\n\nTom <b>moves</b>.\n"
    wrote(DB, 2, b"# Memory\nMei likes tea.\n", both, turn_id=turns[1].id, session_id="s1")
    wrote(DB, 3, both, both + b"From nowhere.\n")
    return turns


def test_nothing_is_listed_while_nobody_has_opted_out(as_stranger, turns):
    assert "Nobody has opted out" in text_of(as_stranger.get(PAGE))
    answer = as_stranger.get("/api/v1/agents/ada/guardian/opted-out").json()
    assert answer == {"is_asked": False, "theirs": [], "unknown": [], "without_write": {}, "more": 0}


def test_lines_of_a_person_lead_to_the_rollback_of_their_write(as_operator, as_stranger, turns):
    configuration.put("collector.optedOutSenders", ["tom"])
    page = text_of(as_operator.get(PAGE))
    theirs, unknown = page.split("Unknown speaker")
    assert "Tom &lt;b&gt;moves&lt;/b&gt;." in theirs and "Mei likes tea" not in page
    assert "/agents/ada/writes/blame/MEMORY.md/?line=4#L4" in theirs
    assert "/agents/ada/writes/rollback/of/w2/" in theirs and "?record=r3#r-r3" in theirs and "tom in " in theirs
    assert "From nowhere." in unknown and "/agents/ada/writes/rollback/of/w3/" in unknown
    assert "1 line of MEMORY.md comes from no recorded write." in unknown
    assert "rollback/of" not in text_of(as_stranger.get(PAGE))


def test_lines_that_were_restored_lead_to_the_rollback_of_what_restored_them(as_operator, turns):
    both = b"# Memory\nMei likes tea.\n\nTom <b>moves</b>.\nFrom nowhere.\n"
    without = both.replace(b"Tom <b>moves</b>.\n", b"")
    took_back(DB, 4, ["w2"], both, without), took_back(DB, 5, ["w4"], without, both)
    configuration.put("collector.optedOutSenders", ["tom"])
    theirs = text_of(as_operator.get(PAGE)).split("Unknown speaker")[0]
    assert "Tom &lt;b&gt;moves&lt;/b&gt;." in theirs and "/agents/ada/writes/rollback/of/w5/" in theirs


def test_an_admin_is_led_to_the_settings(as_admin, as_stranger, ada):
    assert 'href="/operations/settings/">Open settings' in text_of(as_admin.get(PAGE))
    assert "Open settings" not in text_of(as_stranger.get(PAGE))


def test_the_api_tells_the_same(as_stranger, turns):
    configuration.put("collector.optedOutSenders", ["mei", "tom"])
    answer = as_stranger.get("/api/v1/agents/ada/guardian/opted-out").json()
    assert [one["audit_id"] for one in answer["theirs"]] == ["w2", "w1"]
    assert answer["theirs"][1]["lines"] == [{"file": "MEMORY.md", "number": 2, "text": "Mei likes tea."}]
    assert answer["theirs"][1]["turn_id"] == turns[0].id
    assert [one["audit_id"] for one in answer["unknown"]] == ["w3"]
    assert answer["unknown"][0]["turn_id"] is None and answer["without_write"] == {"MEMORY.md": 1}


def test_all_that_was_said_in_a_direct_chat_is_of_its_person(as_operator, as_stranger, turns):
    """What they said there names no sender: the key of the session does."""
    tell(says("", "Alice one"), assistant("To Alice"), session_id="s2")
    Session.objects.using(DB).filter(id="s2").update(session_key="agent:ada:irc:direct:alice", origin="direct")
    turn = ConversationTurn.objects.using(DB).get(session_id="s2")
    wrote(DB, 4, None, b"Alice sings.\n", target_file="USER.md", turn_id=turn.id, session_id="s2")
    configuration.put("collector.optedOutSenders", ["alice"])
    answer = as_stranger.get("/api/v1/agents/ada/guardian/opted-out").json()
    assert [one["audit_id"] for one in answer["theirs"]] == ["w4"]
    told = {"id": "n1", "session_id": "agent:ada:irc:direct:alice", "turn_id": turn.id, "target_file": "USER.md"}
    told |= {"candidate_fact": "Alice dances.", "status": "refused", "created_at": 1}
    answer = post(as_operator, "/api/v1/agents/ada/guardian/writes", {"writes": [told]})
    assert (answer.json()["recorded"], answer.json()["withheld"]) == ([], 1)
    said = {"status": "refused", "reason": "No."}
    answer = post(as_operator, "/api/v1/agents/ada/guardian/writes/w4/correction", said)
    assert (answer.status_code, "opted out" in answer.json()["detail"]) == (409, True)
    answer = post(as_operator, "/api/v1/agents/ada/guardian/writes/w4/sample", {"verdict": "right"})
    assert (answer.status_code, "opted out" in answer.json()["detail"]) == (409, True)


def test_lines_that_several_writes_share_are_of_each_of_them(ada, turns):
    before = b"# Memory\nMei likes tea.\n\nTom <b>moves</b>.\nFrom nowhere.\n"
    for number, turn in ((4, turns[1]), (5, turns[0])):
        wrote(DB, number, before, before + b"Tom is ill.\n", turn_id=turn.id, session_id="s1")
    share(DB, "w4", "w5")
    configuration.put("collector.optedOutSenders", ["tom"])
    found = opted_out_lines.find_opted_out_lines(ada)
    assert [(one.audit.id, one.lines[0][2]) for one in found.theirs] == [
        ("w4", "Tom is ill."),
        ("w2", "Tom <b>moves</b>."),
    ]
    configuration.put("collector.optedOutSenders", ["mei", "tom"])
    assert opted_out_lines.find_opted_out_lines(ada).line_count == 3


def test_whoever_saves_who_opted_out_is_told_where_their_lines_are(as_admin):
    fields = settings_page.drawn(as_admin) | {"collector.optedOutSenders": "tom"}
    answer = as_admin.post(settings_page.SAVE, fields, follow=True)
    assert "Lines that they left in memory files are under Writes, Opted out" in text_of(answer)
