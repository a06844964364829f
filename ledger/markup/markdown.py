"""Renders Markdown as safe HTML: no images, no raw HTML, only http, https and mailto links."""

import re
from functools import cache, lru_cache
from html import escape
from typing import Any

import nh3
from django.utils.safestring import SafeString

from openclaw_web.pages import glyphs

TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "a", "ul", "ol", "li"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
LEVELS = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6", "h6": "h6"}  # below the page's own headings
# A text without any of these says the same as Markdown and as plain text; most messages are such texts.
SYNTAX = re.compile(r"[*_`\[\]<>&\\~|#]|^[ \t]*(?:[-+=]|\d{1,9}[.)])|^(?: {4}|\t)|  $", re.MULTILINE)
# The parser takes quadratic time for these; a text made of them is shown as plain text instead.
COSTLY = str.maketrans("", "", "*_[]<&!~|")
MOST_COSTLY = 1_000
NESTING = 12  # the parser leaves out what is deeper

LONGEST_KEPT = 8_000  # characters of a text whose HTML is remembered: 512 of them are a few megabytes


def render(text: str) -> SafeString:
    """Markdown as safe HTML."""
    return _render_cached(text) if len(text) <= LONGEST_KEPT else _render_text(text)


@lru_cache(maxsize=512)
def _render_cached(text):
    return _render_text(text)


def _render_text(text):
    text = text.replace("\r\n", "\n").replace("\x00", "‹NUL›")
    is_rich = SYNTAX.search(text) and len(text) - len(text.translate(COSTLY)) <= MOST_COSTLY
    return glyphs.mark_html(render_tokens(parse(text)) if is_rich else _render_plain(text))


def _render_plain(text):
    paragraphs = (part.strip("\n") for part in re.split(r"\n[ \t]*\n", text))
    return "".join("<p>" + escape(part).replace("\n", "<br>") + "</p>" for part in paragraphs if part.strip())


@cache
def _build_parser():
    from markdown_it import MarkdownIt  # only here: a site at rest needs none of its sixty modules

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": NESTING})
    parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline", "reference", "lheading"])
    parser.core.ruler.at("inline", _parse_paragraphs)
    parser.validateLink = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE).match
    return parser


def _parse_paragraphs(state):
    """Parse what is within paragraphs; one that is made of costly characters remains a text."""
    for token in state.tokens:
        if token.type == "inline" and len(token.content) - len(token.content.translate(COSTLY)) > MOST_COSTLY:
            token.type = "text"
        elif token.type == "inline":
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def parse(text: str) -> list[Any]:
    """Parse Markdown into the tokens of its blocks."""
    return _build_parser().parse(text)


def render_tokens(tokens: list[Any]) -> str:
    """Render tokens as safe HTML."""
    parser = _build_parser()
    for token in tokens:
        token.tag = LEVELS.get(token.tag, token.tag)
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=TAGS,
        attributes={"a": {"href"}, "ol": {"start"}, "*": set()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
