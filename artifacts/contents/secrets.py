"""Finds the kinds of secrets that a content seems to hold.

It searches bytes, in time that grows with their number only. Keys are judged by the detectors. The words for each kind
are in people.configuration.catalogue.SECRET_KINDS.
"""

from functools import cache

import re2

from openclaw_web.detectors import rules
from openclaw_web.detectors.detect import resolve_overlaps
from openclaw_web.detectors.scan_text import Budget, BudgetExceeded, ScanText

# The patterns of the Reflection spec, as wide as it has them.
WORDS = {
    "api_key": r"(?i)api[_-]?key",
    "password": r"(?i)password",
    "token": r"(?i)token",
    "secret": r"(?i)secret",
    "private_key": r"-----BEGIN.*-----",
}
# Kinds that say whose key it is, by the first word of the detectors' rule.
ISSUERS = {"aws": "aws_key", "bearer": "bearer", "github": "github_key", "google": "google_key", "jwt": "jwt"}
ISSUERS |= {shape.rule.split("-")[0]: "model_key" for shape in rules.MODELS}
ISSUERS |= {"slack": "slack_key", "putty": "private_key", "pem": "private_key"}
OTHER = "other_key"
KINDS = (*WORDS, "aws_key", "bearer", "github_key", "google_key", "jwt", "model_key", "slack_key", OTHER)
WINDOW = 16_384  # bytes that are searched at once
OVERLAP = 4096  # bytes of the window before that are searched again: a longer key across a border may be missed
MOST_JUDGED = 400  # windows of one content whose candidates are judged; one with more may hold any key


def _name_kind(rule):
    return ISSUERS.get(rule.split("-")[0], OTHER)


# What each pattern may find, words first: one that may find nothing new is not asked.
_POSSIBLE = [{word} for word in WORDS] + [{_name_kind(shape.rule) for shape in family} for family in rules.FAMILIES]
_POSSIBLE += [{OTHER}, {"bearer"}, {"jwt"}, {"private_key"}, {"private_key"}]


@cache
def _compile_patterns():
    from openclaw_web.detectors import keys  # only here and below: a site at rest needs none of its patterns

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 * 1024 * 1024
    pattern_set = re2.Set.SearchSet(options)
    for pattern in (*WORDS.values(), *(pattern.pattern for pattern in keys.PATTERNS)):
        pattern_set.Add(pattern)
    pattern_set.Compile()
    return pattern_set


class Scan:
    """A scan of a content that comes in chunks.

    `kinds` are those found so far, in the order of the table.
    """

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._before = b""
        self._judged = 0

    def feed(self, chunk: bytes) -> None:
        """Scan the next chunk, also without zero bytes, so that UTF-16 and UTF-32 hide nothing."""
        data = self._before + chunk
        for text in (data, data.replace(b"\0", b"")) if b"\0" in data else (data,):
            for start in range(0, max(1, len(text) - OVERLAP), WINDOW):
                self._search(text[start : start + WINDOW + OVERLAP])
        self._before = data[-OVERLAP:]

    def _search(self, window):
        numbers = _compile_patterns().Match(window) or ()
        self._kinds.update(KINDS[number] for number in numbers if number < len(WORDS))
        if all(_POSSIBLE[number] <= self._kinds for number in numbers):
            return
        from openclaw_web.detectors import keys

        self._judged += 1
        text = ScanText(window.decode("utf-8", "replace"), Budget(len(window)))
        try:
            spans = [span for find in keys.FINDERS for span in find(text)] if self._judged <= MOST_JUDGED else []
            self._kinds.update(_name_kind(span.rule) for span in resolve_overlaps(text.text, spans))
        except BudgetExceeded:
            self._judged = MOST_JUDGED + 1
        if self._judged > MOST_JUDGED:
            self._kinds.add(OTHER)

    @property
    def kinds(self) -> list[str]:
        return [kind for kind in KINDS if kind in self._kinds]


def find_kinds(content: bytes | str) -> list[str]:
    """The kinds of secrets in a content: names of KINDS."""
    scan = Scan()
    scan.feed(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    return scan.kinds
