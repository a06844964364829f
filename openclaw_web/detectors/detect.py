"""Finds personal data and secrets in texts and in decoded values of JSON."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from .custom_patterns import CustomPatterns
from .json_layers import BREAK, KEY_BREAK, Layer, build_layers
from .scan_text import FINDERS, STEPS_OF_MATCH, Budget, BudgetExceeded, ScanText
from .spans import (
    CARD,
    CUSTOM,
    EMAIL,
    IBAN,
    ID_NUMBER,
    IP_ADDRESS,
    JWT,
    KEY,
    NOT_FULLY_SCANNED,
    PASSWORD,
    PHONE,
    PRIVATE_KEY,
    SECRET,
    Span,
)
from .token_bounds import TokenBounds

# Of findings that overlap the first of these is whole; of two of a kind the longer.
ORDER = (PRIVATE_KEY, JWT, KEY, PASSWORD, IBAN, ID_NUMBER, CARD, SECRET, EMAIL, IP_ADDRESS, PHONE, CUSTOM)
RANKS = {kind: rank for rank, kind in enumerate(ORDER)}
STEPS_OF_SPAN = 18
_FREE = re.compile(rb"\0+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLACES = re.compile(r"\w{3}")


def find_spans(text: str, custom: CustomPatterns | None = None) -> list[Span]:
    """The personal data and secrets of a text, sorted and disjoint, in characters of the text.

    In JSON, and in JSON within its strings, spans lie inside strings and cut no escape. A text that exceeds its budget
    is one span of NOT_FULLY_SCANNED as a whole.
    """
    _declare_finders()
    try:
        spans = list(_find_in_layers(text, custom, Budget(len(text))))
    except BudgetExceeded:
        return [Span(0, len(text), NOT_FULLY_SCANNED, "over-budget")]
    return resolve_overlaps(text, spans) if len(spans) > 1 else spans


@cache
def _declare_finders():
    # Only here: the patterns of these modules take a fifth of a second, and a site at rest needs none.
    from . import addresses, assignments, credentials, identifiers, keys, logins, phones, table_columns  # noqa: F401


def find_spans_in_value(value: Any, custom: CustomPatterns | None = None) -> list[tuple[str, Span]]:
    """The findings in a decoded value of JSON, each with its path: `$.a[0].b`.

    Characters are those of the string, or of the number as JSON writes it. A key gives its value a name.
    """
    findings = []
    for path, name, leaf in _walk(value):
        is_number = not isinstance(leaf, str)
        text = str(leaf)
        start = len(name) + 2
        for span in find_spans(f"{BREAK}{name}{KEY_BREAK}{text}{BREAK}", custom):
            if span.end > start:
                span = span._replace(start=max(0, span.start - start), end=min(span.end - start, len(text)))
                findings.append((path, span._replace(is_bare=True, quote='"') if is_number else span))
    return findings


def _walk(value):
    """Yield path, nearest key and leaf of a value, in its order."""
    stack = [("$", "", value)]
    while stack:
        path, name, part = stack.pop()
        if isinstance(part, dict):
            stack += [(_join_path(path, str(key)), str(key), child) for key, child in reversed(part.items())]
        elif isinstance(part, list | tuple):
            stack += [(f"{path}[{place}]", name, part[place]) for place in range(len(part) - 1, -1, -1)]
        elif isinstance(part, str) or (isinstance(part, int | float) and not isinstance(part, bool)):
            yield path, name, part


def _join_path(path, key):
    if _NAME.fullmatch(key):
        return f"{path}.{key}"
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{escaped}']"


def _find_in_layers(text, custom, budget):
    for layer in build_layers(text):
        for span in _find_in_layer(layer, custom, budget):
            if layer.is_url:  # a number needs no quotation marks there
                span = span._replace(is_bare=False, quote="")
            if layer.depth:
                span = span._replace(start=layer.find_origin(span.start), end=layer.find_origin(span.end))
            yield span


def _find_in_layer(layer: Layer, custom: CustomPatterns | None, budget: Budget) -> Iterator[Span]:
    scan = ScanText(layer.text, budget)
    finders = _choose_finders(scan.matching)
    if not finders and not custom:
        return
    bounds = TokenBounds(layer)
    spans = (span for find in finders for span in find(scan))
    matches = custom.find(layer.text, budget) if custom else ()
    for span in chain(spans, (Span(start, end, CUSTOM, pattern) for start, end, pattern in matches)):
        budget.spend(STEPS_OF_SPAN)
        if span.kind in (EMAIL, PHONE):
            budget.give_back(STEPS_OF_SPAN + STEPS_OF_MATCH)
        yield from bounds.fit(span)


@lru_cache(maxsize=2_000)  # lines of a transcript are alike
def _choose_finders(matching: frozenset[int] | None) -> tuple[Any, ...]:
    """The finders whose patterns match; all where this is not known."""
    return tuple(find for numbers, find in FINDERS if matching is None or not numbers.isdisjoint(matching))


def resolve_overlaps(text: str, spans: list[Span]) -> list[Span]:
    """Findings without overlaps, sorted: in each group that overlaps the stronger kind stays whole."""
    result: list[Span] = []
    group: list[Span] = []
    end = 0
    for span in sorted(spans):
        if group and span.start >= end:
            result += _resolve_group(text, group)
            group = []
        group.append(span)
        end = max(end, span.end) if len(group) > 1 else span.end
    return result + _resolve_group(text, group)


def _resolve_group(text, group):
    if len(group) < 2:
        return group
    first = group[0].start
    covered = bytearray(max(span.end for span in group) - first)
    chosen = []
    for span in sorted(group, key=lambda span: (RANKS[span.kind], span.start - span.end, -span.confidence)):
        start, end = span.start - first, span.end - first
        parts = []
        if covered.find(1, start, end) < 0:
            parts = [(start, end)]
        elif span.kind == CUSTOM and not span.is_bare:
            free = (part.span() for part in _FREE.finditer(covered, start, end))
            parts = [(a, b) for a, b in free if _PLACES.search(text, a + first, b + first)]
        for a, b in parts:
            chosen.append(span._replace(start=a + first, end=b + first))
            covered[a:b] = b"\1" * (b - a)
    return sorted(chosen)
