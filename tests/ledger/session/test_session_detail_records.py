"""The page of a session: what records of each kind look like."""

import orjson
import pytest

from ledger.collectors.envelopes import content_digest
from ledger.models import ConversationTurn, RejectedRecord, Session, TranscriptEvent
from ledger.transcripts.trimming import full_record
from tests.factories import T0
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import get_text, store_session

PAGE = "/agents/ada/sessions/s1/"
CONTEXT = "/api/v1/agents/ada/turns/context"
pytestmark = pytest.mark.django_db


def test_channel_users_have_names_and_no_envelope(client):
    block = 'Sender (untrusted metadata):\n```json\n{"sender": "alice", "name": "Alice <a>"}\n```\n\n'
    store_session(user(block + "What is new?"))
    page = get_text(client.get(PAGE))
    assert "untrusted" not in page
    assert "Alice &lt;a&gt;" in page


def test_automatic_messages_are_not_a_persons(client):
    store_session(user("[cron:1 Morning brief] Go."))
    page = get_text(client.get(PAGE))
    assert "<span>Automatic</span><span>Scheduled task</span>" in page
    assert "text--plain" in page


def test_images_are_counted_and_not_shown(client):
    store_session(user("look", content=[{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]))
    page = get_text(client.get(PAGE))
    assert "1 image, not shown" in page
    assert "aGVsbG8" not in page
    assert "<img" not in page


def test_markdown_of_agents_is_rendered(client):
    store_session(assistant("# Done\n\n| a | b |\n|---|---|\n| **1** | `2` |\n\n[see](https://example.org/x)"))
    page = get_text(client.get(PAGE))
    assert "<strong>1</strong>" in page
    assert '<a href="https://example.org/x" rel="noopener noreferrer nofollow">see</a>' in page


def test_thinking_is_folded(client):
    record = assistant("Yes.")
    record["message"]["content"].insert(0, {"type": "thinking", "thinking": "Is it <so>?"})
    store_session(record)
    page = get_text(client.get(PAGE))
    assert "<summary>Thinking" in page
    assert "Is it &lt;so&gt;?" in page


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"details": {"exitCode": 3}}, "Failed, exit 3"),
        ({"isError": True}, ">Failed<"),
        ({"details": {"status": "error"}}, ">Failed<"),
    ],
)
def test_failed_calls_say_so(client, more, words):
    store_session(user("go"), assistant("", ("c", "exec", {"command": "false"})), result("c", "no", **more))
    page = get_text(client.get(PAGE))
    assert "call--failed" in page
    assert words in page
    assert "1 error" in page


def test_a_call_without_a_result_and_a_result_without_a_call(client):
    store_session(user("go"), assistant("", ("c", "exec", {})), result("other", "stray output", name="teleport"))
    page = get_text(client.get(PAGE))
    assert "No result" in page
    assert "Result without a call" in page
    assert "stray output" in page


def test_both_dialects_are_read(client):
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "uname -a"}}
    store_session(user("go"), {"type": "message", "message": {"role": "assistant", "content": [block]}})
    assert "uname -a" in get_text(client.get(PAGE))


def test_arguments_and_results_are_cut_with_a_way_to_the_rest(client):
    call = assistant("", ("c", "write", {"path": "x.txt", "content": "y" * 9000}))
    store_session(user("go"), call, result("c", "z" * 200_000))
    page = get_text(client.get(PAGE))
    assert len(page) < 40_000
    assert "Show more (200,000 characters)" in page
    assert "records/r3/?field=text" in page
    assert "records/r2/?field=arguments&amp;call=0" in page


def test_many_calls_of_one_record_are_not_all_shown(client):
    store_session(user("go"), assistant("", *[(f"c{number}", "exec", {"n": number}) for number in range(50)]))
    assert "30 more calls" in get_text(client.get(PAGE))


def test_a_failed_answer_shows_its_error(client):
    record = assistant("")
    record["message"] |= {"stopReason": "error", "errorMessage": "400 <no such model>"}
    store_session(user("go"), record)
    assert "400 &lt;no such model&gt;" in get_text(client.get(PAGE))


def test_synthetic_answers_are_marked(client):
    store_session(
        user("hi"), assistant("Model set.", model="gateway-injected"), assistant("hi", model="delivery-mirror")
    )
    page = get_text(client.get(PAGE))
    assert "<span>Gateway</span>" in page
    assert "<span>Copy of the delivered message</span>" in page


def test_quiet_records_are_one_line(client):
    store_session(
        {"type": "model_change", "provider": "p", "modelId": "m-2"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "label", "label": "<i>here"},
        {"type": "session_info", "name": "Taxes"},
        {"type": "reset", "reason": "new"},
    )
    page = get_text(client.get(PAGE))
    for words in ("p/m-2", "high", "&lt;i&gt;here", "Taxes", "Session reset: new"):
        assert words in page


@pytest.mark.parametrize(
    ("record", "place"),
    [({"type": "reset", "reason": "new"}, {}), ({"type": "session", "parentId": None}, {"parentId": None})],
)
def test_a_reset_or_a_second_header_is_a_divider(client, record, place):
    store_session(user("one"), assistant("1"), record, user("two") | place)
    page = get_text(client.get(PAGE))
    assert "record--reset" in page
    assert "What stands above is in no context of" in page


def test_what_the_model_saw_stands_beside_the_words(client):
    text = "Project rules first. " + "x" * 9_000
    own = {"modelPromptProjection": {"version": 1, "text": text}}
    store_session(
        user("Hello", __openclaw=own), user("Ho", __openclaw={"modelPromptProjection": {"version": 2, "text": "odd"}})
    )
    page = get_text(client.get(PAGE))
    assert page.count("What the model saw") == 1
    assert "Project rules first." in page
    assert "Show all 9,021 characters" in page
    piece = get_text(client.get(f"{PAGE}records/r1/?field=model_prompt"))
    assert piece.count("x" * 9_000)
    turn = ConversationTurn.objects.using("agent_ada").get(turn_number=1)
    assert turn.user_message_content == "Hello"
    answers = [client.get(CONTEXT, {"turn_id": f"s1:{record}"}).json()["model_prompt"] for record in ("r1", "r2")]
    assert answers == [text, None]


def test_what_newer_entries_say_is_shown(client):
    store_session(user("Hello"))
    about = {"status": "interrupted", "activitySummary": "They <b>met</b>", "pinnedAt": T0, "snoozedUntil": "odd"}
    Session.objects.using("agent_ada").update(metadata=orjson.dumps(about).decode())
    page = get_text(client.get(PAGE))
    for words in ("<dd>interrupted</dd>", "They &lt;b&gt;met&lt;/b&gt;", "Pinned"):
        assert words in page
    assert "Snoozed until" not in page


def test_what_the_model_saw_may_come_later(client):
    """OpenClaw adds it to a message that may already be stored."""
    store_session(user("Hello"), assistant("Hi"))
    before = content_digest(full_record(TranscriptEvent.objects.using("agent_ada").get(seq=0)))
    own = {"modelPromptProjection": {"version": 1, "text": "Rules. Hello"}}
    store_session(user("Hello", __openclaw=own), assistant("Hi"), user("More"))
    record = full_record(TranscriptEvent.objects.using("agent_ada").get(seq=0))
    assert record["message"]["__openclaw"] == own
    assert content_digest(record) == before
    assert not RejectedRecord.objects.using("agent_ada").exists()


def test_what_the_model_saw_is_not_kept_while_somebody_is_opted_out(client):
    sender = 'Sender: ⟦openclaw:ctx⟧\n```json\n{"id": "ann"}\n```\n\n'
    own = {"modelPromptProjection": {"version": 1, "text": "bob said: secret"}, "senderId": "ann"}
    store_session(user(sender + "Hello", __openclaw=own), opted_out=("bob",))
    event = TranscriptEvent.objects.using("agent_ada").get()
    assert event.kind == "user"
    assert "secret" not in event.event_json
    store_session(user(sender + "Hello", __openclaw=own), opted_out=("bob",))
    assert "secret" not in TranscriptEvent.objects.using("agent_ada").get().event_json


def test_a_compaction_says_what_went(client):
    summary = "## Goal\nFix it\n\n<read-files>\nAGENTS.md\n</read-files>"
    store_session(user("go"), {"type": "compaction", "summary": summary, "tokensBefore": 52_179})
    page = get_text(client.get(PAGE))
    for words in ("Compaction", "52.2k tokens before the compaction", "AGENTS.md", "1 compaction"):
        assert words in page


def test_bookkeeping_is_hidden_until_asked_for(client):
    store_session(user("go"), {"type": "custom", "customType": "model-snapshot", "data": {"secret": "sauce"}})
    page = client.get(PAGE)
    assert "1 internal record hidden" in get_text(page)
    assert "sauce" not in get_text(page)
    assert "?all=1" in get_text(page)
    assert "sauce" in get_text(client.get(PAGE + "?all=1"))
    assert "sauce" in get_text(client.get(PAGE + "?record=r2"))


def test_unknown_types_are_kept_as_they_are(client):
    store_session({"type": "hologram", "beam": "<up>"})
    page = get_text(client.get(PAGE))
    assert "unknown type" in page
    assert "&lt;up&gt;" in page


def test_withheld_records_say_so(client):
    store_session(user("secret", __openclaw={"senderId": "eve"}), assistant("for eve"), opted_out=["eve"])
    page = get_text(client.get(PAGE))
    assert page.count("No content was kept") == 2
    assert "secret" not in page


def test_nothing_that_was_said_can_do_anything(client):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)> ![x](https://evil.example/t.png) [a](javascript:x)"
    store_session(
        user(evil),
        assistant(evil, ("c", evil, {evil: evil, "path": evil})),
        result("c", evil, name=evil, details={"diff": evil}),
        {"type": "compaction", "summary": evil},
        {"type": evil},
    )
    page = get_text(client.get(PAGE + "?all=1"))
    for tag in ("<script>a", "<img", 'href="javascript', " onerror=alert(1)>\n"):
        assert tag not in page


def test_characters_that_hide_are_made_visible(client):
    odd = "a\u202eb\x00c\x1b[31md\u200be \u200d\r\nf"
    store_session(user(odd), assistant(odd + " **x**", ("c", "exec", {"command": odd})), result("c", odd))
    page = get_text(client.get(PAGE))
    for character in "\u202e\x00\x1b\u200b\r":
        assert character not in page
    for code in ("U+202E", "NUL", "ESC", "U+200B"):
        assert page.count(f'<span class="glyph">{code}</span>') >= 3
