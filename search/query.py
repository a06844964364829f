"""A query as it is typed: words, "phrases", -without, pre*, and filters such as `agent:ada`.

What a term finds is decided here, by the text itself: the index only names texts that may have its words. A term is one
or more words side by side; `gpt-5.6` has three.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite import word_index

from . import words

LONGEST = 1_000  # characters of a query
MOST_ENTRIES = 64  # of the index, that one query asks for
FILTERS = ("agent", "tool", "channel", "model", "kind", "before", "after")
PART = re.compile(
    rf'(?P<minus>-)?(?:(?P<name>{"|".join(FILTERS)})[:：](?P<value>"[^"]*"?|\S*)|"(?P<phrase>[^"]*)"?|(?P<word>\S+))',
    re.I,
)
GAP = re.compile(f"[^{words.LETTERS}]*")
LETTER = re.compile(f"[{words.LETTERS}]")
CLUSTER = re.compile(f".[{words.MARKS}]*", re.DOTALL)  # a character with the marks above and below it
LONGEST_EXACT = 50_000  # characters of a text in which a place is found exactly
MOST_PARTS = 32  # of all terms
MOST_PLACES, PASSAGE = 100, 150  # places of each term, and characters, of which a passage with most terms is chosen
FIRST, LAST = 0, word_index.LATEST  # moments of a query without days, in seconds


@dataclass(frozen=True, slots=True)
class Term:
    """Words side by side; with `is_prefix` the last one may go on."""

    parts: tuple[str, ...]
    is_prefix: bool = False

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Find the first place of the term in a folded text: where it begins and ends."""
        place = text.find(self.parts[0], start)
        while place >= 0:
            if end := self._match(text, place):
                return place, end
            place = text.find(self.parts[0], place + 1)
        return None

    def iterate(self, text: str) -> Iterator[tuple[int, int]]:
        """Find all places of the term in a folded text."""
        end = 0
        while place := self.find(text, end):
            yield place
            end = place[1]

    def _match(self, text, place):
        """The end of the term that begins at a place; 0 when none does."""
        last = len(self.parts) - 1
        for number, part in enumerate(self.parts):
            if number:
                place = GAP.match(text, place).end()  # type: ignore[union-attr] - it matches anywhere
                if not text.startswith(part, place):
                    return 0
            end = place + len(part)
            if not words.is_unspaced(part):  # the neighbours of a word are no letters
                goes_on = end < len(text) and _is_spaced(text[end]) and not (self.is_prefix and number == last)
                if goes_on or (place and _is_spaced(text[place - 1])):
                    return 0
            place = end
        return place


def _is_spaced(sign):
    """Whether a character is a letter of a word that has blanks around it."""
    if sign.isascii():
        return sign.isalnum()
    return bool(LETTER.match(sign)) and not words.is_unspaced(sign)


@dataclass(slots=True)
class Query:
    """A parsed query: what a text must have, what it must not have, and the filters of its row.

    `since` and `until` are moments in seconds, both included: `after:` includes its day, `before:` does not.
    """

    text: str
    terms: list[Term] = field(default_factory=list)
    without: list[Term] = field(default_factory=list)
    filters: dict[str, str] = field(default_factory=dict)
    since: int = FIRST
    until: int = LAST

    @property
    def match(self) -> str:
        """The expression of all texts that may fit, for the index."""
        entries: dict[str, None] = {}
        for term in self.terms:
            for number, part in enumerate(term.parts):
                is_start = self._is_start(term, number)
                entries |= dict.fromkeys(word_index.quote(entry, is_start) for entry in words.list_entries(part))
        if len(entries) > MOST_ENTRIES:
            raise Refused(_("This search has too many words. Use at most %(most)s.") % {"most": MOST_ENTRIES})
        return word_index.join_all(list(entries))

    @property
    def is_exact(self) -> bool:
        """Whether every text with the entries of the query has the query itself."""
        terms = [*self.terms, *self.without]
        return all(len(term.parts) == 1 and len(words.list_entries(term.parts[0])) == 1 for term in terms)

    @property
    def match_without(self) -> list[str]:
        """The expressions of what a text must not have, where one entry tells."""
        single = [(term, words.list_entries(term.parts[0])) for term in self.without if len(term.parts) == 1]
        return [word_index.quote(entries[0], self._is_start(term, 0)) for term, entries in single if len(entries) == 1]

    @staticmethod
    def _is_start(term, number):
        """Whether entries of the index begin with a part of a term."""
        part = term.parts[number]
        return (term.is_prefix and number == len(term.parts) - 1) or (words.is_unspaced(part) and len(part) == 1)

    def find_fields(self, texts: dict[str, str]) -> dict[str, bool]:
        """Return which of these folded texts have a term, each with whether all terms stand there side by side.

        Empty unless all of them together have each term, and none that they must not have.
        """
        fields: dict[str, bool] = {}
        for term in self.terms:
            with_term = [name for name, text in texts.items() if term.find(text)]
            if not with_term:
                return {}
            fields |= dict.fromkeys(with_term, len(self.terms) == 1)
        if any(term.find(text) for term in self.without for text in texts.values()):
            return {}
        if len(self.terms) > 1:
            parts = tuple(part for term in self.terms for part in term.parts)
            whole = Term(parts, self.terms[-1].is_prefix)
            fields = {name: whole.find(texts[name]) is not None for name in fields}
        return fields

    def find_places(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield the places of all terms in a folded text, by term."""
        for term in self.terms:
            yield from term.iterate(folded)


def parse(text: str) -> Query:
    """Read a query as it was typed.

    Raises Refused, with a sentence for whoever typed it, when it has no word to search for or a filter without sense.
    """
    if len(text) > LONGEST:
        raise Refused(_("A search has at most %(most)s characters.") % {"most": f"{LONGEST:,}"})
    query = Query(text.strip())
    for part in PART.finditer(text):
        if part["name"]:
            if part["minus"]:
                raise Refused(_("A filter cannot have a minus: name what to search for."))
            _read_filter(query, part["name"].lower(), part["value"].strip('"'))
            continue
        word = part["phrase"] if part["phrase"] is not None else part["word"]
        parts = tuple(words.split(words.fold(word)))
        is_prefix = part["word"] is not None and word.endswith("*") and bool(parts) and not words.is_unspaced(parts[-1])
        term, terms = Term(parts, is_prefix), query.without if part["minus"] else query.terms
        if parts and term not in terms:
            terms.append(term)
    if sum(len(term.parts) for term in (*query.terms, *query.without)) > MOST_PARTS:
        raise Refused(_("This search has too many words. Use at most %(most)s.") % {"most": MOST_PARTS})
    if not query.terms:
        raise Refused(_("Enter a word to search for. Signs, and words with a minus, are not enough."))
    return query


def _read_filter(query, name, value):
    if name not in ("before", "after"):
        query.filters |= {name: value} if value else {}  # nothing is typed yet
        return
    try:
        moment = int(datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise Refused(_("Write days like 2026-02-21.")) from None
    if name == "before":
        query.until = moment - 1
    else:
        query.since = moment


def find_first(query: Query, text: str) -> int:
    """Find about where in a text most terms of a query stand near each other; 0 where none does."""
    folded, most = words.fold(text), MOST_PLACES if len(query.terms) > 1 else 1
    places = sorted(
        (start, number) for number, term in enumerate(query.terms) for start, _end in islice(term.iterate(folded), most)
    )

    def count(number):
        end = bisect_left(places, (places[number][0] + PASSAGE,))
        return len({term for _start, term in places[number:end]})

    first = places[max(range(len(places)), key=count)][0] if places else 0
    if len(folded) == len(text):
        return first
    if len(text) > LONGEST_EXACT:
        return first * len(text) // len(folded)
    return bisect_left(range(len(text)), first, key=lambda place: len(words.fold(text[:place])))


def mark(query: Query, text: str, length: int) -> list[tuple[str, bool]]:
    """Cut the part of a text around the first place of the query: pieces, each with whether a term stands there."""
    begin = max(0, find_first(query, text) - length // 4)
    part = text[begin : begin + length]
    folded = words.fold(part)
    places = sorted(query.find_places(folded))
    if len(folded) != len(part):
        origins = _find_origins(part, folded)
        places = [(origins[start][0], origins[end - 1][1]) for start, end in places] if origins else []
    at, pieces = 0, [("…" if begin else "", False)]
    for start, end in places:
        if at <= start:
            pieces += [(part[at:start], False), (part[start:end], True)]
            at = end
    pieces += [(part[at:], False), ("…" if begin + length < len(text) else "", False)]
    return [piece for piece in pieces if piece[0]]


def _find_origins(text, folded):
    """Where each character of a folded text comes from: begin and end; none where it cannot be told."""
    origins, letters = [], []
    for match in CLUSTER.finditer(text):
        letter = words.fold(match[0])
        origins += [match.span()] * len(letter)
        letters.append(letter)
    return origins if "".join(letters) == folded else []
