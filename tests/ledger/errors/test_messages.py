"""Normalised messages of failed calls: what stays of them, and that nothing of a person does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.records import read_facts
from ledger.errors import messages, vocabulary
from tests.homes import assistant, result

# As OpenClaw, its tools and providers of models write them.
EXAMPLES = {
    "code=2\nls: cannot access '/definitely/not/here': No such file or directory": "<text>: cannot access <text>: no"
    " such file or directory",
    '{\n  "status": "error",\n  "tool": "read",\n  "error": "File not found: /srv/oc/no-such-file.txt."\n}': "File not"
    " found: <path>",
    "ENOENT: no such file or directory, access '/srv/oc/x.txt'": "ENOENT: no such file or directory, access <text>",
    "Tool teleport not found": "Tool <text> not found",
    "400 invalid request: bad tool schema": "400 invalid request: bad tool schema",
    "401 Incorrect API key provided: sk-fake-****": "401 incorrect api key provided: <text>",
    "Provider returned an incomplete or malformed tool call": "Provider returned an incomplete or malformed tool call",
    '429 {"type":"error","error":{"type":"rate_limit_error","message":"Too many tokens"}}': "429 too many tokens",
    "Timeout after 30 s": "Timeout after <n> <text>",
    "getaddrinfo ENOTFOUND api.example.com": "<text> ENOTFOUND <text>",
    "Mei said that this is for Ben only": "<text>",
    "Mei is at the table": "<text> is at the table",
    "": "<text>",
    "400512 is no status": "<n> is no status",
}
PEOPLE = ("Mei", "晓雯", "O'Neill", "Müller", "Jean-Luc", "mei.tan")
SECRETS = ("sk-live-9f8a7", "+65 9123 4567", "mei@example.com", "/home/mei/diary.md", r"C:\Users\mei", "4111-1111")
PLANTED = st.sampled_from(
    (*PEOPLE, *SECRETS, "2026-02-21", "10.0.0.7", "S$ 50", "(0)30 901820", "https://a.example/?q=mei")
)
FRAMES = st.sampled_from(
    (
        "Error: {0} not found",
        "Error: \"{0}\" is not allowed for '{1}'",
        "failed to read {0}: permission denied ({1})",
        "500 {0} {1} timeout",
        '{{"error": "cannot write to {0}", "message": "{1}"}}',
        "{0}\n{1}: connection refused",
        "`{0}` failed with {1} {0}{1}",
        "the file of {0} and {1}",
    )
)
ALLOWED = {
    *(word.lower() for word in (*vocabulary.WORDS, *vocabulary.NAMES, *vocabulary.STATUSES)),
    *("<text>", "<path>", "<address>", "<date>", "<n>", "<id>", "…", ""),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_words_of_errors_stay(text):
    assert messages.normalise(text) == EXAMPLES[text]


def only_has_words_of_errors(message):
    return all(word.strip(":,()").lower() in ALLOWED for word in message.split())


@given(FRAMES, PLANTED, PLANTED, st.booleans())
def test_nothing_of_a_person_stays(frame, first, second, is_output):
    message = messages.normalise(frame.format(first, second), is_output=is_output)
    assert only_has_words_of_errors(message), message
    for word in re.findall(r"\w{3,}", f"{first} {second}"):
        assert word.lower() not in message.lower()
    assert not re.search(r"\d", message.removeprefix("500"))


@given(st.text(max_size=3_000))
def test_any_text_becomes_words_of_errors(text):
    message = messages.normalise(text)
    assert message and len(message) <= messages.LONGEST + 2
    assert only_has_words_of_errors(message), message
    assert messages.normalise(text) == message


@given(st.lists(st.sampled_from(sorted(vocabulary.WORDS)), max_size=200), PLANTED)
def test_a_long_line_is_cut_at_a_word(words, name):
    message = messages.normalise(f"{' '.join(words)} {name} failed")
    assert len(message) <= messages.LONGEST + 2 and only_has_words_of_errors(message)


def test_exit_codes_and_reported_errors_count():
    failed = result("c1", "Mei: no", details={"exitCode": 3})
    assert messages.find_group(read_facts(failed)).message == "<text> (exit code 3)"
    reported = result("c1", "x", name="read", details={"status": "error", "error": "File not found: a/b"})
    group = messages.find_group(read_facts(reported))
    assert (group.tool, group.model, group.message) == ("read", "", "File not found: <path>")
    answer = assistant(model="big", stopReason="error", errorMessage="529 overloaded")
    answer["message"] |= {"stopReason": "error", "errorMessage": "529 overloaded"}
    group = messages.find_group(read_facts(answer))
    assert (group.tool, group.model, group.message) == ("", "big", "529 overloaded")
    assert messages.find_group(read_facts(result("c1", "Error"))) is None
