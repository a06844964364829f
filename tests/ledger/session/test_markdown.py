"""Markdown of agents as HTML that can do nothing."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.markup import markdown
from openclaw_web.pages import glyphs

PIECES = st.sampled_from(
    [
        *(
            "<script>",
            "<img src=x onerror=x>",
            "![a](http://e/x.png)",
            "[a](javascript:x)",
            "[b](https://e/\u202e 't')",
        ),
        *("*", "**", "`", "```\n", "\n\n", "- ", "1. ", "| a | b |\n|---|---|\n", "&#x202e;", "&lt;", "<", ">", '"'),
        *("\x00", "\x1b", "\u200b", "\r\n", "    ", "> ", "# ", "~~", "\\", "文", "🚀", "<https://e/\u2066>"),
        *("mailto:a@b", "---\n", "x"),
    ]
)


class Reader(HTMLParser):
    """Collects the tags and links of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "<p>plain</p>"),
        ("two\nlines\n\nand more", "<p>two<br>lines</p><p>and more</p>"),
        ("**bold** `code`", "<p><strong>bold</strong> <code>code</code></p>\n"),
        ("# Big", "<h3>Big</h3>\n"),
        ("[a](/sign-out/)", "<p>[a](/sign-out/)</p>\n"),
        ("a & b", "<p>a &amp; b</p>\n"),
        ('it\'s "so"', "<p>it&#x27;s &quot;so&quot;</p>"),
        (
            "![alt](https://e.example/x.png)",
            '<p>!<a href="https://e.example/x.png" rel="noopener noreferrer nofollow">alt</a></p>\n',
        ),
    ],
)
def test_it_works(text, html):
    assert markdown.render(text) == html


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_nothing_gets_through(text):
    html = markdown.render(text)
    parsed = Reader(html)
    assert parsed.tags <= markdown.TAGS | {"span"}
    for name, value in parsed.attributes:
        assert (name, value) in {("class", "glyph"), ("rel", "noopener noreferrer nofollow")} or (
            name == "href" and re.match(r"https?://|mailto:", value)
        )
    assert not glyphs.HIDDEN.search(html)


@pytest.mark.parametrize("piece", ["*", "[", "![[", "a*", "_a*", "<", "&#x", "~~", "|a", "[a](b", "`a`", "> ", "- "])
def test_a_text_made_to_be_slow_is_shown_as_it_is(piece):
    assert len(markdown.render(piece * (8000 // len(piece)))) < 60_000


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\u202eb", 'a<span class="glyph">U+202E</span>b'),
        ("\x1b[31m", '<span class="glyph">ESC</span>[31m'),
        ("a\r\nb\tc", "a\nb\tc"),
        ("\u200b" * 100, f'<span class="glyph">{" ".join(["U+200B"] * 8)}×100</span>'),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("<&>", "&lt;&amp;&gt;"),
    ],
)
def test_hidden_characters_become_readable(text, html):
    assert glyphs.to_html(text) == html


def test_thousands_of_hidden_characters_do_not_make_a_page_heavy():
    assert len(glyphs.to_html("a\x01" * 5000)) < 40_000


def test_one_line_is_one_line():
    assert glyphs.to_one_line("a\nb\u202e  c") == "a b ‹U+202E› c"
