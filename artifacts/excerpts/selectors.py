"""Selectors for parts of a content, with limits for the answer."""

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..errors import WrongSelector
from . import line_search, patterns

if TYPE_CHECKING:
    from .jsonpaths import Matches

MODES = ("headtail", "head", "tail", "range", "grep", "jsonpath")
USUAL_CHARS, MOST_CHARS, MAX_REASON = 8_000, 20_000, 300
PEEK_CHARS, MOST_PEEK_CHARS = 500, 800
MAX_OFFSET = 2**53
_LINES = re.compile(r"([1-9][0-9]{0,14})?(:)?([1-9][0-9]{0,14})?")


@dataclass(frozen=True, slots=True)
class Selector:
    """The part of a content to read.

    `lines` is for range (`10:20`, `10:`, `:20`, `7`), `pattern` for grep, `path` for jsonpath. `offset` is the
    character to go on from, in what the selector gives; the `next` of an answer sets it.
    """

    mode: str = "headtail"
    max_chars: int = USUAL_CHARS
    reason: str = ""
    offset: int = 0
    lines: str = ""
    pattern: str = ""
    ignore_case: bool = False
    context: int = 0
    path: str = ""

    def check(self) -> None:
        """Raises Refused for a selector that is not allowed."""
        if self.mode not in MODES:
            raise WrongSelector(_("The mode must be one of %(modes)s.") % {"modes": ", ".join(MODES)})
        self._check_size()
        if not 0 <= self.offset <= MAX_OFFSET or (self.offset and self.mode in ("headtail", "tail")):
            raise WrongSelector(_("An offset must be 0 or more; headtail and tail have no offset."))
        given = {"range": self.lines, "grep": self.pattern, "jsonpath": self.path}
        if self.mode in given and not given[self.mode]:
            raise WrongSelector(_("Give lines for range, a pattern for grep, or a path for jsonpath."))
        if any(value for mode, value in given.items() if mode != self.mode):
            raise WrongSelector(
                _("Lines belong to range, a pattern to grep, and a path to jsonpath, not to this mode.")
            )
        if self.mode == "range":
            self.line_numbers()
        if not 0 <= self.context <= line_search.MAX_CONTEXT:
            refusal = WrongSelector if self.context < 0 else Refused
            raise refusal(
                _("The number of lines around a match must be 0 to %(most)s.") % {"most": line_search.MAX_CONTEXT}
            )

    def _check_size(self):
        sizes = {"usual": f"{USUAL_CHARS:,}", "most": f"{MOST_CHARS:,}"}
        if not 1 <= self.max_chars <= MOST_CHARS:
            refusal = WrongSelector if self.max_chars < 1 else Refused
            raise refusal(_("An answer can have 1 to %(most)s characters.") % sizes)
        if self.max_chars > USUAL_CHARS and not any(map(str.isalnum, self.reason)):
            raise Refused(_("More than %(usual)s characters require a reason, which is recorded.") % sizes)
        if len(self.reason) > MAX_REASON:
            raise Refused(_("A reason can have at most %(most)s characters.") % {"most": MAX_REASON})

    def line_numbers(self) -> tuple[int, int | None]:
        """First and last line (None: to the end), both included. Raises Refused."""
        match = _LINES.fullmatch(self.lines)
        if not match or not (match[1] or match[3]):
            raise WrongSelector(_("Write lines as 10:20, 10:, :20 or 7; the first line is 1."))
        first = int(match[1] or 1)
        last = int(match[3]) if match[3] else None if match[2] else first
        if last is not None and last < first:
            raise WrongSelector(_("The last line is before the first line."))
        return first, last

    def grep(self) -> line_search.Grep:
        """The search of a grep. Raises Refused for a pattern that cannot be used."""
        return line_search.Grep(
            patterns.compile_pattern(self.pattern, ignore_case=self.ignore_case), context=self.context
        )

    def matches(self) -> "Matches":
        """The search of a jsonpath. Raises Refused for a path that is not valid."""
        from .jsonpaths import Matches  # its library takes 3 MB

        return Matches(self.path)

    def as_receipt(self) -> dict[str, Any]:
        """The selector as an answer repeats it, without the fields that are not set."""
        fields = {
            "offset": self.offset,
            "lines": self.lines,
            "pattern": self.pattern,
            "ignoreCase": self.ignore_case,
            "context": self.context,
            "path": self.path,
            "reason": self.reason,
        }
        return {"mode": self.mode, "maxChars": self.max_chars} | {
            name: value for name, value in fields.items() if value
        }

    def as_options(self) -> str:
        """The selector as options of `openclaw-web artifact fetch`."""
        words = ["--mode", self.mode, "--max-chars", str(self.max_chars)]
        for name in ("offset", "lines", "pattern", "context", "path", "reason"):
            value = getattr(self, name)
            words += [f"--{name}", str(value)] if value else []
        return shlex.join([*words, *(["--ignore-case"] if self.ignore_case else [])])
