"""Renders Markdown as safe HTML: no images, no raw HTML, only http, https and mailto links."""

import re
from functools import cache, lru_cache
from html import escape

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
    return glyphs.mark_html(_render_rich(text) if is_rich else _render_plain(text))


def _render_plain(text):
    paragraphs = (part.strip("\n") for part in re.split(r"\n[ \t]*\n", text))
    return "".join("<p>" + escape(part).replace("\n", "<br>") + "</p>" for part in paragraphs if part.strip())


@cache
def _build_parser():
    from markdown_it import MarkdownIt  # only here: a site at rest needs none of its sixty modules

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 12})
    parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline", "reference", "lheading"])
    parser.validateLink = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE).match
    return parser


def _render_rich(text):
    parser = _build_parser()
    tokens = parser.parse(text)
    for token in tokens:
        token.tag = LEVELS.get(token.tag, token.tag)
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=TAGS,
        attributes={"a": {"href"}, "*": set()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
