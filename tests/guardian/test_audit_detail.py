"""One write to a memory file, on its page and in the API."""

import pytest

from guardian import services
from guardian.models import BehaviorCorrection, GuardianStatus, Rollback, WriteGuardianAudit
from people.configuration import setting_values as configuration
from tests.factories import DecisionFactory
from tests.guardian.write_rows import T0, create_rollback, create_write, share_diff
from tests.ledger.transcript_records import get_text, store_group_chat, store_session, working_turns

DB = "agent_ada"
URL, API = "/agents/ada/writes/{}/", "/api/v1/agents/ada/guardian/writes/{}"
pytestmark = pytest.mark.django_db
LINES = b"".join(b"line %d\n" % number for number in range(60))


@pytest.fixture
def turn(ada):
    """The first turn of a session that is stored."""
    return store_session(*working_turns(2), session_id="s1").turns.get(turn_number=1)


def page(client, name="w1", query=""):
    return get_text(client.get(URL.format(name) + query))


def test_it_shows_what_changed_and_where_it_came_from(as_stranger, turn):
    DecisionFactory(id="d1", session_id="s1", turn_id=turn.id, reason="Says what they like.")
    columns = {"turn_id": turn.id, "decision_id": "d1", "match": "exact", "llm_model": "guardian-1", "agent_steps": 3}
    create_write(DB, 1, b"# Memory\nMei likes tea\n", b"# Memory\nMei likes coffee\n", reason="New.", **columns)
    page_text = page(as_stranger)
    assert "Mei likes <del>tea</del>" in page_text and "Mei likes <ins>coffee</ins>" in page_text
    for word in ("Likes tea.", "New.", "Says what they like.", "guardian-1", "1 added, 1 removed, 1 of them modified"):
        assert word in page_text
    assert 'href="/agents/ada/gate/d1/"' in page_text and f"?turn={turn.turn_number}" in page_text
    assert "plugin" in page_text  # who gave it its status


def test_both_sides_below_each_other(as_stranger, ada):
    create_write(DB, 1, b"a\nb\n", b"c\nd\n")
    page_text = page(as_stranger, query="?view=unified")
    texts = [
        page_text.index(f'diff__text">{mark}{text}') for mark, text in (("", "a"), ("", "b"), ("", "c"), ("", "d"))
    ]
    assert texts == sorted(texts) and "diff--one" in page_text
    assert "diff--one" not in page(as_stranger)


def test_several_changed_places_are_numbered(as_stranger, ada):
    after = LINES.replace(b"line 10\n", b"line ten\n").replace(b"line 50\n", b"")
    create_write(DB, 1, LINES, after), create_write(DB, 2, after, after + b"one\n")
    page_text = page(as_stranger)
    assert 'id="hunk-1"' in page_text and 'href="#hunk-2"' in page_text and "Change 2 of 2" in page_text
    assert "hunk-1" not in page(as_stranger, "w2")


@pytest.mark.parametrize("data", [b"a\r\nb\x00\xff\n", "\ufeff# Memory".encode(), b""])
def test_both_sides_are_downloaded_byte_for_byte(as_stranger, ada, data):
    create_write(DB, 1, data, b"x"), create_write(DB, 2, b"x", data)
    assert as_stranger.get(URL.format("w1"), {"download": "before"}).content == data
    assert as_stranger.get(URL.format("w2"), {"download": "after"}).content == data


def test_bytes_that_were_not_kept_are_refused(as_stranger, ada):
    row = create_write(DB, 1, None, b"a\xff\n")
    type(row.after_snapshot).objects.using(DB).update(raw=None)
    answer = as_stranger.get(URL.format("w1"), {"download": "after"})
    assert answer.status_code == 409 and "its hash is another one" in get_text(answer)
    assert "Not all of this file is UTF-8 text" in page(as_stranger)
    assert as_stranger.get(URL.format("w1"), {"download": "before"}).status_code == 404


def test_stored_places_that_are_not_the_changes_are_not_believed(as_stranger, ada):
    create_write(DB, 1, b"a\nb\n", b"a\nc\n")
    WriteGuardianAudit.objects.using(DB).update(hunks_json="[[0,1,0,1]]")
    page_text = page(as_stranger)
    assert "−1" in page_text and 'id="old-L2"' in page_text


def test_what_is_not_known_is_said(as_stranger, ada):
    rows, about = WriteGuardianAudit.objects.using(DB), {"session_id": "x", "created_at": T0, "origin": "imported"}
    rows.create(id="r", status="refused", reason="It is a password.", **about)
    rows.create(id="w", status="written", decision_id="gone", **about)
    rows.create(id="d", status="written", diff="@@ -1 +1 @@", **about)
    assert "Nothing was written." in page(as_stranger, "r") and "It is a password." in page(as_stranger, "r")
    assert "What changed is not known" in page(as_stranger, "w") and "not stored" in page(as_stranger, "w")
    assert "@@ -1 +1 @@" in page(as_stranger, "d")
    assert as_stranger.get(URL.format("nothing")).status_code == 404


def test_writes_with_one_diff_say_so(as_stranger, ada):
    for number in (1, 2, 3):
        create_write(DB, number, b"a\n", b"a\nb\n")
    share_diff(DB, "w1", "w2")
    assert "they share one diff" in page(as_stranger) and 'href="/agents/ada/writes/w2/"' in page(as_stranger)
    assert "w3" not in as_stranger.get(API.format("w1")).json()["shared_with"]


def test_an_unattributed_write_has_a_window_and_the_turns_in_it(as_stranger, turn):
    window = {"earliest_at": turn.created_at - 1, "origin": "unattributed", "session_id": None, "candidate_fact": None}
    row = create_write(DB, 1, b"a\n", b"b\n", **window)
    WriteGuardianAudit.objects.using(DB).filter(id=row.id).update(created_at=turn.created_at + 1)
    page_text = page(as_stranger)
    assert "No fact was recorded." in page_text and "Turns in this time" in page_text
    assert as_stranger.get(API.format("w1")).json()["turns_in_window"] == [turn.id]


def test_a_flagged_write_names_its_rule(as_stranger, ada):
    create_write(DB, 1, None, b"a\n", rule_id="c1")
    columns = {"original_status": "written", "corrected_status": "refused", "correction_reason": "No passwords."}
    rule = BehaviorCorrection(id="c1", audit_id="w1", correction_pattern="password*", corrected_by="mei", **columns)
    rule.corrected_at = T0
    rule.save(using=DB)
    assert "password*" in page(as_stranger) and "No passwords." in page(as_stranger)


def test_a_rollback_leads_both_ways(as_stranger, ada):
    create_write(DB, 1, b"a\n", b"b\n", status="rolled_back"), create_write(DB, 2, b"b\n", b"a\n", origin="rollback")
    columns = {"rolled_back_at": T0, "rolled_back_by": "mei", "reason": "Wrong.", "previous_status": "written"}
    Rollback.objects.using(DB).create(id="r1", audit_id="w1", own_audit_id="w2", way="merged", **columns)
    GuardianStatus.objects.using(DB).create(audit_id="w1", status="rolled_back", given_by="mei", created_at=T0 + 9**9)
    page_text = page(as_stranger)
    assert "Rolled back by mei" in page_text and "Wrong." in page_text and 'href="/agents/ada/writes/w2/"' in page_text
    assert page_text.count("Rolled back</span>") == 3  # the status twice, and the first status of the write
    assert 'href="/agents/ada/writes/w1/"' in page(as_stranger, "w2")
    answer = as_stranger.get(API.format("w1")).json()
    assert answer["rolled_back"]["previous_status"] == "written"
    assert answer["rolled_back"]["own_audit_id"] == "w2" and len(answer["status_history"]) == 2


def test_a_write_that_was_restored_says_by_whom_and_can_be_rolled_back_again(as_operator, ada):
    create_write(DB, 1, b"a\n", b"b\n")
    create_rollback(DB, 2, ["w1"], b"b\n", b"a\n"), create_rollback(DB, 3, ["w2"], b"a\n", b"b\n", by="tom")
    page_text, rollback = page(as_operator), page(as_operator, "w2")
    assert "Rolled back by mei" in page_text and "Restored by tom" in page_text and "Reason: Reason 3." in page_text
    assert "/agents/ada/writes/rollback/of/w3/" in page_text and "Preview rollback" in page_text
    assert "Undone by tom" in rollback and "Preview" not in rollback
    assert "Back in the file</span>" in page_text
    assert "Undone</span>" in rollback and "Back in the file</span>" in as_operator.get("/agents/ada/writes/").text
    answer = as_operator.get(API.format("w1")).json()
    assert answer["is_back_in_file"] and answer["status"] == "rolled_back"
    assert not as_operator.get(API.format("w3")).json()["is_back_in_file"]
    create_rollback(DB, 4, ["w3"], b"b\n", b"a\n")
    assert not as_operator.get(API.format("w1")).json()["is_back_in_file"]
    assert "Back in the file" not in page(as_operator) and "Done again</span>" in page(as_operator, "w2")
    assert "Preview rollback" not in page(as_operator) and "writes/w4/" in page(as_operator)
    assert "/agents/ada/writes/rollback/of/w4/" in page(as_operator, "w2")


def test_a_rollback_is_named_as_one(as_operator, ada):
    create_write(DB, 1, b"a\n", b"b\n"), create_rollback(DB, 2, ["w1"], b"b\n", b"a\n")
    page_text = page(as_operator, "w2")
    assert "<h1>Rollback in MEMORY.md" in page_text and "Undo this rollback" in page_text
    assert "No turn was found" not in page_text and ">Written<" not in page_text
    assert "No turn was found" in page(as_operator)
    create_rollback(DB, 3, ["w2"], b"a\n", b"b\n")
    assert "Rollback undone in MEMORY.md" in page(as_operator, "w3")


def test_it_says_that_somebody_of_the_conversation_has_opted_out(as_stranger, ada):
    (turn,) = store_group_chat("tom")
    create_write(DB, 1, None, b"a\n", turn_id=turn.id)
    assert "has opted out" not in page(as_stranger)
    configuration.put("collector.optedOutSenders", ["tom"])
    assert "Somebody in this conversation has opted out." in page(as_stranger)


def test_the_api_tells_all_of_it(as_stranger, turn):
    DecisionFactory(id="d1", session_id="s1", turn_id=turn.id)
    create_write(DB, 1, b"tea\n", b"coffee\n", turn_id=turn.id, decision_id="d1")
    create_write(DB, 2, b"coffee\n", b"milk\n", retry_of="w1")
    answer = as_stranger.get(API.format("w1")).json()
    assert answer["diff"].splitlines()[-2:] == ["-tea", "+coffee"]
    assert [line["kind"] for line in answer["hunks"][0]["lines"]] == ["removed", "added"]
    assert (answer["turn"]["id"], answer["decision"]["id"], answer["retries"]) == (turn.id, "d1", ["w2"])
    assert (answer["before"]["size_bytes"], answer["sources"]) == (4, ["api"])
    assert as_stranger.get(API.format("nothing")).status_code == 404


def test_the_way_through_the_list_keeps_its_filters(as_stranger, ada):
    for number in (1, 2, 3):
        create_write(DB, number, None, b"%d" % number, target_file="USER.md" if number == 2 else "MEMORY.md")
    page_text = page(as_stranger, query="?file=MEMORY.md")
    assert 'href="/agents/ada/writes/w3/?file=MEMORY.md"' in page_text and "/writes/w2/" not in page_text


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("Likes green tea.", 'L3">3</a> <span class="mono small break">- likes Green tea, always'),
        ("Tea, green: likes it.", "L3"),
        ("喜欢绿茶。", 'L4">4</a>'),
        ("Drinks coal.", "No line of the file says it now."),
    ],
)
def test_a_fact_whose_change_is_not_known_is_found_in_the_file(as_stranger, ada, fact, line):
    services.store_version(
        DB, "MEMORY.md", "# Memory\n\n- likes Green tea, always\n- 她喜欢绿茶\n".encode(), modified_ms=T0
    )
    WriteGuardianAudit(
        id="w",
        created_at=T0 + 1000,
        status="written",
        target_file="MEMORY.md",
        candidate_fact=fact,
        sources=2,
        session_id="s1",
    ).save(using=DB)
    page_text = page(as_stranger, "w")
    assert "is not known" in page_text and "This fact in the file now" in page_text and line in page_text
