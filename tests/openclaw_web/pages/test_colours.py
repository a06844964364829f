"""Contrast of the colours of app.css on every ground, in light and in dark."""

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parents[3] / "static" / "app.css").read_text()
TOKENS = {
    name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", CSS)
}
GROUNDS = ("surface", "raised", "sunken", "hover")
WORDS = ("text", "muted", "accent", "ok", "warn", "bad", "info", "user", "agent", "thinking", "tool", "system",
         "update-memory", "update-user", "update-soul", "update-identity", "update-tools")  # fmt: skip
MARKS = ("added", "removed", "marked")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(first, second):
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def mix_colours(colour, share, ground):
    """Returns the colour that color-mix(in srgb, colour share, ground) gives."""
    pairs = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("word", WORDS)
def test_words_can_be_read(word, theme):
    colour = TOKENS[word][theme]
    grounds = {ground: TOKENS[ground][theme] for ground in GROUNDS}
    grounds["its badge"] = mix_colours(colour, 0.11, TOKENS["raised"][theme])
    poor = {
        name: round(compute_contrast(colour, ground), 2)
        for name, ground in grounds.items()
        if compute_contrast(colour, ground) < 4.5
    }
    assert not poor


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_on_marks_and_buttons(theme):
    for mark in MARKS:
        assert compute_contrast(TOKENS["text"][theme], TOKENS[mark][theme]) >= 4.5
    assert compute_contrast(TOKENS["on-accent"][theme], TOKENS["accent"][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_the_edge_of_a_field_can_be_seen(theme):
    assert compute_contrast(TOKENS["line-strong"][theme], TOKENS["raised"][theme]) >= 3


def test_colours_are_written_once():
    rules = CSS.partition("/* 2 Ground")[2]
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", rules) == []
