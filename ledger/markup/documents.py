"""Renders a Markdown document in blocks that know their lines, so that a page can say whose they are."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape, unescape
from typing import Any, NamedTuple

import nh3
from django.utils.safestring import SafeString

from openclaw_web.pages import glyphs

from . import markdown

MOST_CELLS = 20_000  # of the tables of a document: the parser takes quadratic time for wide ones
LINK = re.compile(r'<a href="([^"]*)"[^>]*>(?!\s*</a>)')
LANGUAGE = re.compile(r"(?<=```|~~~)[\w+#-]{1,20}[ \t]*$", re.MULTILINE)
MOST_COSTLY = 20 * markdown.MOST_COSTLY  # characters that may be syntax, in all paragraphs of a document


class Block(NamedTuple):
    """A part of a document that is read as one: its lines, counted from 1, and its HTML.

    Each line of a paragraph is a block of its own, and each item of a list, `depth` lists deep. `is_apart`: it is
    behind a blank line.
    """

    first: int
    last: int
    depth: int
    html: SafeString
    is_apart: bool = False


def render_blocks(lines: Sequence[str]) -> list[Block]:
    """Render Markdown as blocks that hold every line that is not blank.

    Returns no blocks where the parser would take too long.
    """
    lines = [line.replace("\r", " ").replace("\x00", "‹NUL›") for line in lines]
    text = "\n".join(lines)
    cells = max((line.count("|") for line in lines), default=0) * len(lines)
    if cells > MOST_CELLS or len(text) - len(text.translate(markdown.COSTLY)) > MOST_COSTLY:
        return []
    blocks, done = list[Block](), 0
    for first, end, depth, mark, tokens in _split_blocks(markdown.parse(text)):
        blocks += _build_plain_blocks(lines, done, first)
        html = markdown.render_tokens(tokens)
        is_nested = any(token.level >= markdown.NESTING - 1 for token in tokens)
        if is_nested or _hides_text("\n".join(lines[first:end]), html + mark):
            blocks += _build_plain_blocks(lines, first, end)
        else:
            html = f"<{mark}><li>{html}</li></{mark[:2]}>" if mark else html
            blocks.append(Block(first + 1, end, depth, glyphs.mark_html(html)))
        done = end
    blocks += _build_plain_blocks(lines, done, len(lines))
    ends = [0, *(block.last for block in blocks)]
    return [block._replace(is_apart=block.first > end + 1) for block, end in zip(blocks, ends, strict=False)]


def _hides_text(source, html) -> bool:
    """Whether letters or digits of a source are not in its HTML, such as cells beyond a table's header.

    The agent reads them. Addresses of links count where a text leads to them; the language of a code block may be left
    out.
    """
    text = nh3.clean(html, tags=set()) + "".join(LINK.findall(html))
    return not Counter(filter(str.isalnum, LANGUAGE.sub("", source))) <= Counter(filter(str.isalnum, unescape(text)))


def _split_blocks(tokens) -> Iterator[tuple[int, int, int, str, list[Any]]]:
    """Yield the first line of each block, its end, its depth, the tag of its list if it begins an item, and its tokens.

    Lines are counted from 0. Items without content have no block.
    """
    depth, item, end = 0, None, 0
    for index, token in enumerate(tokens):
        if index < end:  # within the block before
            continue
        if token.type == "list_item_open":
            item = token
        elif token.type.endswith(("_list_open", "_list_close")):
            depth += token.nesting
        elif token.type != "list_item_close":
            nesting, end = token.nesting, index + 1
            while nesting > 0:
                nesting += tokens[end].nesting
                end += 1
            mark = (f'ol start="{item.info}"' if item.info else "ul") if item else ""
            first, parts = (item or token).map[0], [tokens[index:end]]
            if token.type == "paragraph_open" and first == token.map[0]:
                parts = [[token, line, tokens[end - 1]] for line in _split_lines(tokens[index + 1])]
            for number, part in enumerate(parts, start=first + 1):
                yield (
                    number - 1,
                    number if number < first + len(parts) else token.map[1],
                    depth - bool(mark),
                    mark,
                    part,
                )
                mark = ""
            item = None


def _split_lines(paragraph) -> list[Any]:
    """Split what is within a paragraph into its lines; whole where something goes over the end of a line."""
    lines, level = [[]], 0
    for child in paragraph.children or ():
        level += child.nesting
        if child.type in ("softbreak", "hardbreak") and not level:
            lines.append([])
        else:
            lines[-1].append(child)
    is_whole = len(lines) != paragraph.content.count("\n") + 1
    return [paragraph] if is_whole else [paragraph.copy(children=children) for children in lines]


def _build_plain_blocks(lines, first, end) -> list[Block]:
    """Build a block of each line that is not blank and that the parser left out."""
    rows = ((number, lines[number].strip()) for number in range(first, end))
    return [Block(number + 1, number + 1, 0, glyphs.mark_html(f"<p>{escape(row)}</p>")) for number, row in rows if row]
