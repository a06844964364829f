"""Words of people without the lines of channels, queues and attachments around them.

Also prompts that nobody typed.
"""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger.collectors.machine_prompts import TEXTS, session_kind, text_kind
from ledger.collectors.message_unwrapping import unwrap_message
from ledger.collectors.records import read_facts
from ledger.collectors.senders import WithheldReason, find_withheld_reason, read_sender
from ledger.injected_prompts import find_heading
from ledger.words import INJECTED_WORDS
from tests.ledger.collectors.envelope_table import LINES, MARK, PREFIX
from tests.suite.nightly import first

QUEUE = "[Queued messages while agent was busy]"
HINT = "To send an image back, prefer the message tool (media/path/filePath). Keep the caption in the text body.\n"
HEADER = "[Telegram Ada (@ada) id:42 +3m 2026-02-01 10:00 UTC] "
MEDIA = f"[media attached: /home/u/media/a.jpg (image/jpeg) | https://files.example.org/a.jpg]\n{HINT}"


def queued(*messages):
    return "\n\n".join([QUEUE, *(f"---\nQueued #{n}\n{text}" for n, text in enumerate(messages, 1))])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADER}Hello\n[message_id: 55]", "Hello"),
        ("[WhatsApp +4915112345678 2026-01-30T10:00Z] Hello", "Hello"),
        ("[WhatsApp +4915112345678] Hello", "Hello"),
        ("[Signal Ada id:4a-b Sun 2026-02-01 10:00 UTC] Hello", "Hello"),
        ("[Discord Guild #lab channel id:9 2026-02-01 10:00 UTC] Ada (77): Hello\n[from: Ada (77)]", "Hello"),
        ("[Telegram Lab id:-100 2026-02-01 10:00 UTC] Ada: Hello\n[message_id: 5]", "Hello"),
        ("[Slack Ada 2026-02-01 10:00 UTC] Hello\n[slack message id: 17.0 channel: C1]", "Hello"),
        (f"{HEADER}Yes\n\n[Replying to Bob id:5]\nTea?\n\nOr cake?\n[/Replying]\n[message_id: 55]", "Yes"),
        (f'{HEADER}Yes\n\n[Quoting Bob id:5]\n"Tea?"\n[/Quoting]', "Yes"),
        (f"{HEADER}[Forwarded from Bob at 2026-01-01T10:00:00.000Z]\nHello", "Hello"),
        (
            "[Chat messages since your last reply - for context]\n[Slack Bob 2026-02-01 10:00 UTC] Tea?\n\n"
            f"[Current message - respond to this]\n{HEADER}Hello",
            "Hello",
        ),
        (f"{MEDIA}Hello", "Hello"),
        ("[media attached: 2 files]\n[media attached 1/2: a.pdf (application/pdf)]\n[media attached 2/2: b]\nHi", "Hi"),
        ("<media:image> Hello", "Hello"),
        ("<media:image> (2 images)", ""),
        ("[User sent media without caption]", ""),
        ("[Audio]\nTranscript:\nHello\nthere", "Hello\nthere"),
        ("[Audio]\nUser text:\nListen\nTranscript:\nHello", "Listen\n\nHello"),
        ("[Image]\nUser text:\nA bird?\nDescription:\nA tit.", "A bird?"),
        ("User text:\nBoth\n\n[Audio 1/2]\nTranscript:\nOne\n\n[Audio 2/2]\nTranscript:\nTwo", "Both\n\nOne\n\nTwo"),
        ('Read this\n\n<file name="a.txt" mime="text/plain">\nwords of a file\n</file>', "Read this"),
        ('Use the "maps" skill for this request.\n\nUser input:\nto Rome', "to Rome"),
        (
            "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\n\nGo on",
            "Go on",
        ),
        ("System: WhatsApp: linked\nSystem: [2026-01-30 10:00:00] x\nSystem: more of it\n\nHello", "Hello"),
        (queued("One", "Two"), "One\n\nTwo"),
        (queued(f"{HEADER}One\n[message_id: 1]", f"{MEDIA}Two"), "One\n\nTwo"),
        (queued("One", "An async command you ran earlier has completed."), "One"),
        (f"{QUEUE}\n\n[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- x\n\n---\nQueued #1\nOne", "One"),
    ],
)
def test_only_the_words_are_left(text, words):
    parsed = unwrap_message(text)
    assert (parsed.words, parsed.unknown) == (words, "")


@pytest.mark.parametrize(
    "text",
    [
        "[1] is a list item",
        "[ ] buy milk",
        "[Slack is down] again",
        "[link](https://example.org)",
        "see [message_id: 5] in the log",
        "---\nQueued #1\nno list",
        "[/Replying]",
        "Transcript:\nmine",
        "User text:\nmine",
        "my boat\n[from: me]",
    ],
)
def test_words_that_look_like_it_stay(text):
    parsed = unwrap_message(text)
    assert (parsed.words, parsed.unknown) == (text, "")


WRAPPERS = [
    lambda words: HEADER + words,
    lambda words: f"{HEADER}{words}\n[message_id: 55]",
    lambda words: MEDIA + words,
    lambda words: f"[Audio]\nTranscript:\n{words}",
    lambda words: f"{HEADER}{words}\n\n[Replying to Bob id:5]\nTea?\n[/Replying]",
    lambda words: f'{words}\n\n<file name="a.txt">\nwords\n</file>',
    lambda words: f"[Sat 2026-11-21 11:16 GMT+8] {words}",
    lambda words: f'Sender: ⟦openclaw:ctx⟧\n```json\n{{"id": "42"}}\n```\n\n{words}',
    lambda words: f"System: [2026-11-21 11:16:00 GMT+8] Model switched.\n\n{words}",
    lambda words: f'Use the "maps" skill for this request.\n\nUser input:\n{words}',
    queued,
]
WORDS = st.from_regex(r"\A[a-zäß][a-z ?!äß\n]{0,30}[a-z?!]\Z").filter(lambda words: "\n\n" not in words)


@settings(max_examples=400)
@given(words=WORDS, around=st.lists(st.sampled_from(WRAPPERS), max_size=6))
@example(words="a?", around=[WRAPPERS[3], WRAPPERS[8], WRAPPERS[3]])
def test_any_nesting_of_wrappers_gives_the_words_back(words, around):
    text = words
    for wrap in around:
        text = wrap(text)
    parsed = unwrap_message(text)
    assert (parsed.words, parsed.unknown) == (words, "")
    assert unwrap_message(parsed.words).words == words


@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(st.sampled_from(WRAPPERS[:-1]), max_size=3))
def test_every_message_that_waited_is_read_on_its_own(messages, around):
    wrapped = list(messages)
    for wrap in around:
        wrapped = [wrap(message) for message in wrapped]
    assert unwrap_message(queued(*wrapped)).words == "\n\n".join(messages)


# Whose words they are


def withheld(text, *opted_out, is_group=True):
    parsed = unwrap_message(text)
    return find_withheld_reason(read_sender(parsed.blocks, None), parsed, frozenset(opted_out), is_group=is_group)


def test_senders_of_messages_that_waited_can_opt_out():
    text = f"{QUEUE}\n\n---\nQueued #1 (from Ada)\nHi\n\n---\nQueued #2 (from Bob)\nHi"
    assert withheld(text, "bob") == WithheldReason.SENDER
    assert withheld(text, "carol") is None
    assert withheld(queued("Hi", "Ho"), "carol") == WithheldReason.UNKNOWN_SENDER
    assert withheld(queued("Hi", "Ho"), "carol", is_group=False) is None
    inside = queued(f"{HEADER}Hi", 'Sender: ⟦openclaw:ctx⟧\n```json\n{"id": "7"}\n```\n\nHo')
    assert withheld(inside, "7", is_group=False) == WithheldReason.SENDER
    assert withheld(inside, "ada", is_group=False) == WithheldReason.SENDER


def test_a_typed_separator_hides_nobody():
    text = f"{QUEUE}\n\n---\nQueued #1 (from Ada)\nHi\n---\nQueued #2 (from Ada)\nx\n\n---\nQueued #2 (from Bob)\nHi"
    assert withheld(text, "bob") == WithheldReason.SENDER


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[Telegram Lab id:-100 2026-02-01 10:00 UTC] Bob (7): Hi", WithheldReason.SENDER),
        ("[Telegram Lab id:-100 2026-02-01 10:00 UTC] Ada (42): Hi", None),
        (
            "[Telegram Lab id:-100 2026-02-01 10:00 UTC] Ada: Hi",
            WithheldReason.UNKNOWN_SENDER,
        ),  # anybody may be called so
        (
            "[Signal Lab id:abc 2026-02-01 10:00 UTC] Hi\n[from: Ada (42)]",
            WithheldReason.UNKNOWN_SENDER,
        ),  # anybody can type it
        (f"{HEADER}Hi\n\n[Replying to Bob id:7]\nTea?\n[/Replying]", WithheldReason.UNKNOWN_SENDER),
    ],
)
def test_headers_of_groups_tell_who_speaks_or_nobody_does(text, why):
    assert withheld(text, "bob") == why


def test_what_is_quoted_may_opt_out():
    assert (
        withheld(f"{HEADER}Hi\n\n[Replying to Bob id:7]\nTea?\n[/Replying]", "bob", is_group=False)
        == WithheldReason.QUOTE
    )
    assert withheld(f"{HEADER}[Forwarded from Bob]\nHi", "carol", is_group=False) == WithheldReason.QUOTE


# Prompts that nobody typed


def test_every_text_of_the_table_is_recognized_and_has_a_word():
    for row in TEXTS:
        assert row.kind in INJECTED_WORDS and row.versions and row.file
        if not row.is_pattern:
            assert text_kind(f"{row.start} and more") == row.kind
    assert {row.kind for row in TEXTS} <= INJECTED_WORDS.keys()


PROMPTS = {
    "boot": "You are running a boot check. Follow BOOT.md.",
    "cron": "[cron:74a5 Morning] Sum up.",
    "hook": "Task: Gmail Hook | Job ID: x\n\nSECURITY NOTICE: The following content is from an EXTERNAL source",
    "task_result": 'A background task "survey\nof boats" just completed successfully.\n\nFindings:\nnone',
    "command_result": "An async command did not run.\nDo not run it again.",
    "other_session": "[Inter-session message] sourceSession=agent:main:main isUser=false\nHi",
    "continuation": "Continue where you left off. The previous model attempt failed or timed out.",
    "naming": "Based on this conversation, generate a short 1-2 word filename slug (lowercase).",
    "dream_diary": "Write a dream diary entry from these memory fragments:\n\n- tea",
    "startup_context": "[Startup context loaded by runtime]\nBootstrap files",
    "system_message": "[System] Your previous turn was interrupted by a gateway restart.",
    "new_session": "A new session was started via /new or /reset while bootstrap is still pending",
    "heartbeat": "[OpenClaw heartbeat poll]",
    "memory_flush": "Pre-compaction memory flush turn.",
    "command": 'Use the "maps" skill for this request.',
}


COMMANDS = (
    "/status", "/status@baker_bot", "/model", "/model fakeai/fake-gpt-mini", "/think high", "/think:low", "/new",
    "/compact", "/compact Focus on decisions and file names", "/whoami", "/approve 12ab allow-once", "/verbose on\n",
)  # fmt: skip
SENTENCES = (
    "/status is red again, what can I do?", "/usr/bin/python is missing", "/think about it until tomorrow",
    "Please run /status", "/new recipe: bread with seeds", "/send Ada the list", "/model trains are fun", "/s",
)  # fmt: skip


def test_commands_that_the_gateway_answers_are_no_questions():
    assert [text for text in COMMANDS if read_facts(message(text)).sender.get("injected") != "command"] == []
    assert [text for text in SENTENCES if "injected" in read_facts(message(text)).sender] == []
    own = {"contextFreeCommand": True, "senderId": "42"}
    assert read_facts(message("/weather Bern", __openclaw=own)).sender == {"senderId": "42", "injected": "command"}


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("[cron:74a5 Morning news] Sum up.", "Morning news"),
        ("[cron:74a5] Sum up.", "Sum up."),
        ("[cron:74a5 ]  Sum up.", "Sum up."),
        ("[cron:74a5 A name that was cut of", "A name that was cut of"),
        ("[cron:74a5]", ""),
        ("Why does [cron:74a5 Morning] begin it?", "Why does [cron:74a5 Morning] begin it?"),
        ("[cron] is a word", "[cron] is a word"),
    ],
)
def test_a_scheduled_prompt_gives_the_name_of_its_task(line, title):
    assert find_heading(line) == title


def message(text, **more):
    return {"type": "message", "message": {"role": "user", "content": text, **more}}


@pytest.mark.parametrize(("kind", "text"), PROMPTS.items())
def test_a_prompt_is_recognized_also_after_a_time(kind, text):
    assert read_facts(message(text)).sender["injected"] == kind
    assert read_facts(message(f"[Sat 2026-02-14 10:16 GMT+1] {text}")).sender["injected"] == kind
    assert "injected" not in read_facts(message(f"I read: {text}")).sender
    assert read_facts(message(text)).text == text and not (read_facts(message(text)).sender.get("envelope"))


@pytest.mark.parametrize("end", ["", "\n", "\nSystem: more of it"])
def test_system_events_without_words_are_a_prompt_that_nobody_typed(end):
    parsed = read_facts(message(f"System: [2026-02-01 10:00:00 UTC] Node connected{end}"))
    assert (parsed.text, parsed.sender["injected"]) == ("", "system_message")


@pytest.mark.parametrize("label", ["Audio", "Image 1/2"])
def test_a_section_of_media_that_is_spelled_otherwise_is_counted(label):
    text = f"[{label}] User audio message:\n[Telegram Bo id:5 2026-02-01 10:00 UTC]\nTranscript:\nbuy milk"
    assert read_facts(message(text)).sender["envelope"] == "unknown" and read_facts(message(text)).text == text


@pytest.mark.parametrize(
    ("provenance", "text", "sender"),
    [
        ({"kind": "external_user", "sourceChannel": "voice"}, PROMPTS["boot"], {"is_person": True}),
        ({"kind": "external_user"}, "/status", {"injected": "command"}),
        ({"kind": "external_user"}, "[OpenClaw Web task] One exact change", {"injected": "handover"}),
        ({"kind": "internal_system", "sourceTool": "cron"}, "Hello", {"injected": "cron"}),
        ({"kind": "internal_system"}, "Hello", {"injected": "internal"}),
        ({"kind": "inter_session", "sourceTool": "subagent_announce"}, "Hello", {"injected": "task_result"}),
        ({"kind": "inter_session", "sourceTool": 7}, "Hello", {"injected": "other_session"}),
        ({"sourcePromptPrefix": "[night:1 watch]"}, "[night:1 watch] Hello", {"injected": "internal"}),
        ({"sourcePromptPrefix": ["odd"]}, "Hello", {}),
        ({"kind": "a kind to come"}, "Hello", {"envelope": "unknown"}),
        ({"kind": None}, "Hello", {}),
        ("odd", "Hello", {}),
    ],
)
def test_provenance_is_believed_before_the_words(provenance, text, sender):
    assert read_facts(message(text, provenance=provenance)).sender == sender


@pytest.mark.parametrize(
    ("key", "session_id", "kind"),
    [
        ("agent:main:cron:74a5:run:1", "x", "cron"),
        ("agent:main:subagent:4f", "x", "subagent_task"),
        ("agent:main:hook:gmail:1", "x", "hook"),
        ("hook:gmail:1", "x", "hook"),
        ("agent:main:main:heartbeat", "x", "heartbeat"),
        ("agent:main:dreaming-narrative-light-1", "x", "dream_diary"),
        ("temp:slug-generator", "x", "naming"),
        (None, "boot-2026-02-01_10-00-00-000-abcdef12", "boot"),
        ("agent:main:openclaw-web", "x", "handover"),
        ("agent:openclaw-web:main", "x", ""),
        ("agent:main:main", "x", ""),
        ("agent:cron:main", "x", ""),
        ("agent:main:telegram:direct:heartbeat", "x", "heartbeat"),
        (None, "x", ""),
    ],
)
def test_the_key_of_a_session_says_who_speaks_in_it(key, session_id, kind):
    assert session_kind(key, session_id) == kind


HOSTILE = {
    "open fences": f"Sender: {MARK}\n```json\n",
    "fences": f"Sender: {MARK}\n```json\n{{}}\n```\n",
    "fences within lines": f"Sender: {MARK}\n```json\nx ```\n",
    "memory": "Context:\n<active_memory_plugin>\n",
    "memory that ends within a line": "w\nContext:\n<active_memory_plugin>\n x</active_memory_plugin>\n",
    "marks": MARK,
    "headers with a mark": f"a: {MARK}\n",
    "history": "a (untrusted, chronological):\n",
    "history in one line": " (untrusted, chronological, ",
    "odd headers": "x (untrusted y):\n",
    "odd headers in one line": "x (untrusted ",
    "prefixes": PREFIX,
    "spaces": " " * 40,
    "empty lines": " \n" * 20,
    "dated system lines": "System: [2026-11-21 x] y\n",
    "half a system line": "System: [2026",
    "goals": "Active goal:  — advance; keep active until ",
    "quotes of telegram": 'Current message:\n[Replying to: "\\a',
    "first spellings": "[A 2026-01-3 ",
    "chats": LINES,
    "queues": f"{QUEUE}\n\n---\nQueued #1\n",
    "separators": "---\nQueued #1 (from x\n",
    "headers": HEADER,
    "media": "[media attached: a",
    "media lines": "[media attached: a]\n",
    "ids": "x\n[message_id: 1]\n",
    "senders": f"{HEADER}\n[from: a]\n",
    "quotes": "[Replying to a]\n[/Replying]\n",
    "ends of quotes": "[/Replying]\n",
    "files": '<file name="a">\n</file>\n',
    "ends of files": "</file>\n",
    "sections": "[Audio]\nTranscript:\nx\n\n",
    "users": "User text:\nx\n\n",
    "histories": "[Chat messages since your last reply - for context]\n",
    "forwards": "[Forwarded from a]\n",
    "skills": 'Use the "a" skill for this request.\n\nUser input:\n',
    "placeholders": "<media:image> ",
    "system": "System: x\n",
    "tasks": 'A background task "',
    "odd": "[a - for ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("start", first(("", f"{QUEUE}\n")))
def test_hostile_texts_take_no_longer_than_their_length_asks_for(piece, start):
    short, long = (_measure_seconds(start + piece * (size // len(piece))) for size in (50_000, 500_000))
    assert long <= 40 * max(short, 0.002)


def _measure_seconds(text):
    """Return the seconds of processor time that unwrapping a text takes, the best of three."""
    durations = []
    for _try in range(3):
        begun = time.process_time()
        unwrap_message(text)
        durations.append(time.process_time() - begun)
    return min(durations)
