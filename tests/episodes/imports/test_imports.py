"""`episodes extract-sessions`: what people and the agent said in transcript files becomes events."""

import hashlib
import json
import os
import signal
import threading

import pytest

from agents.databases import get_alias
from agents.models import Agent
from episodes import redaction
from episodes.models import EpisodicEvent
from episodes.redaction import Redaction
from people.configuration import setting_values as configuration
from tests.episodes.commands.command_line import ask, fail, run

pytestmark = pytest.mark.django_db
TIME = "2026-02-21T03:00:00.000Z"


@pytest.fixture
def root(real_files, tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


def say(root, role, text, *, name="s1.jsonl", **fields):
    """Append a line of a transcript, and return its byte offset."""
    content = [{"type": "text", "text": text}, {"type": "thinking", "thinking": "secret thoughts"}]
    record = {"type": "message", "id": "r", "timestamp": TIME, "message": {"role": role, "content": content}, **fields}
    return add(root, json.dumps(record, ensure_ascii=False), name=name)


def add(root, text, *, name="s1.jsonl"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    offset = path.stat().st_size if path.exists() else 0
    with path.open("a") as file:
        file.write(f"{text}\n")
    return offset


def extract(root, *words):
    return ask("extract-sessions", "--sessions-root", str(root), *words)


def events():
    return list(EpisodicEvent.objects.using(get_alias("main")).order_by("id"))


def test_messages_become_events_as_the_existing_tool_makes_them(root):
    add(root, '{"type":"session","id":"s1"}')
    offset = say(root, "user", "Buy bread\nand milk")
    say(root, "assistant", "Done.")
    say(root, "toolResult", "output")
    add(root, "no json")
    receipt = extract(root)
    counts = {"files_seen": 1, "files_with_updates": 1, "lines_total": 5, "unsupported_rows": 2, "invalid_json": 1}
    assert receipt | counts | {"emitted": 2, "stop_reason": "one_shot", "iterations": 1} == receipt
    assert receipt["source"] == {"sessions_root": str(root), "state": None, "spool": None}
    question, answer = events()
    path = f"{root}/s1.jsonl"
    digest = hashlib.sha256(f"{path}:{offset}:conversation.user:Buy bread\nand milk".encode()).hexdigest()
    assert question.event_id == f"ep-{digest[:32]}"
    assert (question.type, question.scope, question.session_id, question.agent_id, question.ts_ms) == (
        *("conversation.user", "global", "s1", "main"),
        1_771_642_800_000,
    )
    assert question.summary == "conversation.user: Buy bread and milk"
    assert question.payload == {"text": "Buy bread\nand milk"}
    assert question.refs == {"source": "session_jsonl_tail", "path": path, "offset": offset}
    assert answer.type == "conversation.assistant" and "thoughts" not in answer.payload_json


def test_only_new_lines_are_read_and_nothing_is_written_beside_them(root):
    say(root, "user", "one")
    extract(root)
    before = sorted(path.name for path in root.parent.iterdir() if path.name.startswith(("sess", "mem")))
    say(root, "user", "two")
    say(root, "user", "three", name="below/s2.jsonl")
    receipt = extract(root)
    assert (receipt["lines_total"], receipt["emitted"], receipt["files_with_updates"]) == (2, 2, 2)
    assert extract(root)["lines_total"] == 0
    assert sorted(path.name for path in root.parent.iterdir() if path.name.startswith(("sess", "mem"))) == before
    assert sorted(path.name for path in root.rglob("*")) == ["below", "s1.jsonl", "s2.jsonl"]


def test_copies_links_and_second_names_are_not_read(root, tmp_path):
    say(root, "user", "mine")
    say(root, "user", "a copy", name="s1.bak.jsonl")
    say(root, "user", "a checkpoint", name="s1.checkpoint.1.jsonl")
    say(tmp_path, "user", "elsewhere", name="other.jsonl")
    (root / "link.jsonl").symlink_to(tmp_path / "other.jsonl")
    (root / "second.jsonl").hardlink_to(tmp_path / "other.jsonl")
    receipt = extract(root)
    assert (receipt["emitted"], receipt["ignored_files"]) == (1, 4)
    assert "link.jsonl: " in " ".join(receipt["errors_sample"])


def test_what_nobody_said_is_left_out(root):
    say(root, "user", "<relevant-memories>secret sauce</relevant-memories>\nhello")
    say(root, "user", 'Sender (untrusted):\n```json\n{"name":"Ada"}\n```\nhi <|im_start|>there')
    say(root, "assistant", "NO_REPLY")
    say(root, "assistant", "Here it is.\nMEDIA:/tmp/x.png\n\n\n\nAUDIO_AS_VOICE")
    receipt = extract(root)
    assert receipt["sanitized_dropped"] == 1
    assert [event.payload["text"] for event in events()] == ["hello", "hi there", "Here it is."]


def test_a_scope_tag_is_obeyed(root):
    say(root, "user", "[SCOPE: Team B] plan the trip")
    extract(root)
    (event,) = events()
    assert (event.scope, event.payload) == ("team-b", {"text": "plan the trip"})


def test_secrets_and_tool_output_leave_an_event_without_texts(root):
    say(root, "user", "my password: hunter2")
    say(root, "assistant", "Traceback (most recent call last)")
    receipt = extract(root)
    assert receipt["payload_redacted"] == 2
    for event in events():
        assert (event.redacted, event.summary, event.payload_json, event.refs_json) == (1, "[REDACTED]", None, None)


def test_addresses_are_masked_and_long_texts_cut(root):
    say(root, "user", "write to bob@corp-mail.io")
    say(root, "user", "word " * 2_000)
    receipt = extract(root, "--summary-max-chars", "50", "--payload-cap-bytes", "1000")
    assert (receipt["payload_truncated"], receipt["payload_cap_bytes"]) == (1, 1000)
    masked, long = events()
    assert masked.payload == {"text": "write to [REDACTED_EMAIL]"}
    assert long.payload["_truncated"] and long.summary == "conversation.user: " + ("word " * 10)[:50] + "…"


def test_what_was_redacted_here_does_not_come_back(root):
    say(root, "user", "keep flour")
    extract(root)
    agent = Agent.objects.get(agent_id="main")
    assert redaction.redact(agent, Redaction.parse("global", session_id="s1"), by="test") == 1
    text = (root / "s1.jsonl").read_text()
    (root / "s1.jsonl").write_text("")
    extract(root)
    (root / "s1.jsonl").write_text(text)
    assert extract(root)["known"] == 1
    assert [event.summary for event in events()] == ["[REDACTED]", "Redaction removed the texts of 1 events"]


def test_while_somebody_is_opted_out_only_direct_conversations_of_others_are_stored(root):
    configuration.put("collector.optedOutSenders", ["bob"])
    say(root, "user", "hello")
    say(root, "user", "hello", sessionKey="agent:main:telegram:direct:alice")
    receipt = extract(root)
    assert (receipt["emitted"], receipt["withheld"]) == (1, 1)
    configuration.put("collector.optedOutSenders", [])
    assert extract(root)["emitted"] == 1


def test_options_without_effect_are_named(root, tmp_path, capsys):
    say(root, "user", "hello")
    run("extract-sessions", "--sessions-root", str(root), "--file", str(tmp_path / "f"), "--state", str(tmp_path / "s"))
    err = capsys.readouterr().err
    assert "--file is ignored" in err and "--state is ignored" in err
    assert not (tmp_path / "f").exists() and not (tmp_path / "s").exists()


def test_wrong_input_ends_with_status_2(root):
    status, receipt = fail("extract-sessions", "--sessions-root", str(root / "nowhere"))
    assert (status, receipt["error"]) == (2, f"sessions root not found: {root}/nowhere")
    status, receipt = fail("extract-sessions", "--sessions-root", str(root), "--max-duration-seconds", "nan")
    assert (status, receipt["error"]) == (2, "--max-duration-seconds must be a finite value >= 0")


def test_following_ends_after_its_time_or_with_a_signal(root):
    say(root, "user", "one")
    writer = threading.Timer(0.3, say, [root, "user", "two"])
    writer.start()
    receipt = extract(root, "--follow", "--poll-interval-ms", "100", "--max-duration-seconds", "1")
    writer.join()
    assert (receipt["stop_reason"], receipt["aggregate"]["emitted"]) == ("max_duration", 2)
    threading.Timer(0.4, os.kill, [os.getpid(), signal.SIGINT]).start()
    assert extract(root, "--follow", "--poll-interval-ms", "100")["stop_reason"] == "keyboard_interrupt"
