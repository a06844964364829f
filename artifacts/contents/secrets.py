"""Finds the kinds of secrets that a content seems to hold.

It searches bytes, in time that grows with their number only. The words for each kind are in
people.configuration.catalogue.SECRET_KINDS.
"""

import re2

# The first five are the patterns of the Reflection spec, as wide as it has them; the others are keys by their shape.
PATTERNS = {
    "api_key": r"(?i)api[_-]?key",
    "password": r"(?i)password",
    "token": r"(?i)token",
    "secret": r"(?i)secret",
    "private_key": r"-----BEGIN.*-----",
    "aws_key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "bearer": r"(?i)\bbearer [0-9a-z._~+/-]{16,}",
    "github_key": r"\bgh[pousr]_[0-9A-Za-z]{36}",
    "google_key": r"\bAIza[0-9A-Za-z_-]{35}",
    "jwt": r"\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.",
    "model_key": r"\bsk-[0-9A-Za-z_-]{20,}",
    "slack_key": r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",
}
KINDS = tuple(PATTERNS)
OVERLAP = 4096  # bytes of the chunk before that are searched again: a longer match across a border may be missed


def _compile_patterns():
    options = re2.Options()
    options.log_errors = False
    pattern_set = re2.Set.SearchSet(options)
    for pattern in PATTERNS.values():
        pattern_set.Add(pattern)
    pattern_set.Compile()
    return pattern_set


_SET = _compile_patterns()


class Scan:
    """A scan of a content that comes in chunks.

    `kinds` are those found so far, in the order of the table.
    """

    def __init__(self) -> None:
        self._numbers: set[int] = set()
        self._before = b""

    def feed(self, chunk: bytes) -> None:
        """Scan the next chunk, also without zero bytes, so that UTF-16 and UTF-32 hide nothing."""
        if len(self._numbers) < len(KINDS):
            data = self._before + chunk
            self._numbers.update(_SET.Match(data) or ())
            if b"\0" in data:
                self._numbers.update(_SET.Match(data.replace(b"\0", b"")) or ())
            self._before = data[-OVERLAP:]

    @property
    def kinds(self) -> list[str]:
        return [KINDS[number] for number in sorted(self._numbers)]


def find_kinds(content: bytes | str) -> list[str]:
    """The kinds of secrets in a content: names of PATTERNS."""
    scan = Scan()
    scan.feed(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    return scan.kinds
