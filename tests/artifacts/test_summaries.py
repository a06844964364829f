import json

import pytest

from artifacts.contents import adoption
from artifacts.contents.measurement import measure_content
from artifacts.contents.summaries import LINE, summarise
from artifacts.excerpts.previews import build_preview

PDF = b"%PDF-1.7\n1 0 obj <</Type /Pages /Kids [] /Count 12>>\n" + bytes(range(256))
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 50


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "text · 0 bytes · 0 lines"),
        ("one", "text · 3 bytes · 1 line"),
        ('{"a": 1, "items": [1, 2]}', "JSON · 25 bytes · 1 line · keys: a, items (2)"),
        ("[1, 2, 3]", "JSON · 9 bytes · 1 line · 3 items"),
        ("{}", "JSON · 2 bytes · 1 line · no keys"),
        (json.dumps(dict.fromkeys("abcdefgh", 0)), "JSON · 64 bytes · 1 line · keys: a, b, c, d, e, f and 2 more"),
        ('{"a":1}\n{"a":2}\n', "JSON lines · 16 bytes · 2 lines"),
        ("{not json}", "text · 10 bytes · 1 line"),
        ("<!DOCTYPE html>\n<title> The\n page </title>", "HTML · 42 bytes · 3 lines · title: The page"),
        ("<b>no page</b>", "text · 14 bytes · 1 line"),
        (PDF, "application/pdf · 309 bytes · 12 pages"),
        (PNG, "image/png · 58 bytes"),
        (b"\0\1\2", "application/octet-stream · 3 bytes"),
        ("all well\nCommand exited with code 0\n", "text · 36 bytes · 2 lines · exit code 0"),
        (
            "start\nValueError: no\nexit code: 2",
            "text · 33 bytes · 3 lines · exit code 2 · first error: ValueError: no",
        ),
        ("terrorists errorless", "text · 20 bytes · 1 line"),
    ],
)
def test_one_line(content, line):
    measured = measure_content(content.encode() if isinstance(content, str) else content)
    assert summarise(measured) == line


def test_json_that_holds_an_exit_code_did_not_end_with_it():
    assert "exit code" not in summarise(measure_content(b'{"runs": [{"exit_code": 4}]}'))


def test_the_exit_code_a_tool_told_comes_first():
    assert "exit code 3" in summarise(measure_content(b"exit code 1"), exit_code=3)


@pytest.mark.parametrize("content", ["x" * 100_000 + " fatal error", "\u202e" * 500, "<html><title>" + "t" * 900])
def test_it_stays_one_short_line(content):
    line = summarise(measure_content(content.encode()))
    assert len(line) <= LINE
    assert "\n" not in line


@pytest.mark.parametrize("content", [b"x" * 5000, "漢".encode() * 5000, PDF * 50, b"", b"\xff" * 30 + b"a" * 5000])
def test_a_preview_is_short(content):
    assert len(build_preview(measure_content(content))) <= 500


@pytest.mark.parametrize(
    ("text", "is_adopted"),
    [
        ("", False),
        ("short", False),
        ("x" * 8000, False),
        ("x" * 8001, True),
        ("x\n" * 200, False),
        ("x\n" * 200 + "x", True),
        ("x\n" * 201, True),
        (json.dumps(["x" * 1996]), False),
        (json.dumps(["x" * 1997]), True),
        ('{"a":1}\n' * 200, False),
        ("[" + "x" * 3000, False),
        ("<!doctype html><p>small", True),
        ("  <html lang=en>", True),
        ("<?xml version='1.0'?> <!-- a --><!--\nb -->\n<HTML>", True),
        ("<!---->" * 40 + "<p>", False),  # time doubles with each comment if the pattern can backtrack
        ("see <html> in the text", False),
        ("<p>a fragment</p>", False),
        ("%PDF-1.4 ...", True),
        ("a %PDF-1.4", False),
        ("\ud800" * 9000, True),
    ],
)
def test_the_rule_of_adoption(text, is_adopted):
    assert adoption.is_adoptable(text) is is_adopted


def test_injected_context_is_never_adopted():
    assert not adoption.is_adoptable("x" * 9000, injected=True)
    assert not adoption.is_adoptable("<relevant-memories>" + "x" * 9000)
    assert not adoption.is_adoptable('{\n  "schema": "openclaw-mem.artifact.fetch.v1", "text": "' + "x" * 9000 + '"}')
    assert adoption.is_adoptable("x" * 9000 + "<relevant-memories>")
