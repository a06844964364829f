"""Normalises the message of a failed call: words of errors stay, everything else becomes a mark.

No word of a person is kept, because only those of `vocabulary` are (docs/decisions/0080).
"""

import hashlib
import re
from dataclasses import dataclass

from ..collectors.records import Facts
from .vocabulary import ADDRESS, DATE, ID, JOINTS, NAMES, NUMBER, PATH, SIGNS, STATUSES, TEXT, WORDS

READ = 1_000  # characters of a message that are read: as many as a row keeps of a long result
LONGEST = 160  # characters of a normalised message
LONGEST_NAME = 80  # of a tool or model
# A message in JSON, as tools and providers answer it.
IN_JSON = re.compile(r'"(?:error|message|errorMessage|detail|reason)"\s*:\s*"((?:[^"\\]|\\.)+)')
# Quotation marks; an apostrophe inside of a word is none.
QUOTED = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|“[^”\n]*”|‘[^’\n]*’|«[^»\n]*»|(?<!\w)'[^'\n]*'(?!\w)")
URL = re.compile(r"\w+://\S+")
PIECE = re.compile(rf"{TEXT}|{ADDRESS}|" r"[^\s,;:()\[\]{}<>=|]+|[:(),]")
DAY = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}", re.ASCII)
DIGITS = re.compile(r"[-+$€£]?\d+(?:[.,_:-]\d+)*[%kmgts]?[bs]?", re.ASCII | re.IGNORECASE)
STATUS = re.compile(r"\s*(\d{3})(?!\d)", re.ASCII)
REPEATED = re.compile(r"(<\w+>)(?:[ :,]+\1)+")


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """A tool or a model that failed, and the normalised message."""

    tool: str
    model: str
    message: str

    @property
    def id(self) -> str:
        """The id of the group, the same in every agent and every home."""
        return hashlib.sha256("\0".join((self.tool, self.model, self.message)).encode()).hexdigest()[:16]


UNKNOWN = ErrorGroup("", "", TEXT)


def find_group(record_facts: Facts) -> ErrorGroup | None:
    """The group of a record; None for one that is no failed call, or a copy made for delivery."""
    if not record_facts.is_failed or record_facts.is_synthetic:
        return None
    details = record_facts.details
    reported = details.get("error")
    reported = record_facts.error or (reported if isinstance(reported, str) else "")
    exit_code = details.get("exitCode")
    message = normalise(reported or record_facts.text, is_output=not reported)
    if type(exit_code) is int and 0 < exit_code < 256:
        message = f"{message} (exit code {exit_code})"
    is_tool = record_facts.kind == "tool_result"
    tool, model = record_facts.tool_name if is_tool else "", "" if is_tool else record_facts.model
    return ErrorGroup((tool or "")[:LONGEST_NAME], (model or "")[:LONGEST_NAME], message)


def normalise(text: str, *, is_output: bool = False) -> str:
    """Return the first line of an error's message, with a mark for everything that may be somebody's.

    In the output of a tool the first line that names a failure is the message; without such a line it is unknown.
    """
    text = text[:READ]
    status = begin[1] if (begin := STATUS.match(text)) else ""
    inner = IN_JSON.search(text)
    lines = inner[1].split("\\n") if inner else text.splitlines()
    marked = [words for line in lines if (words := _mark(line))] or [[TEXT]]
    first = [TEXT] if is_output and not inner else marked[0]
    words = next((words for words in marked if not SIGNS.isdisjoint(words)), first)
    if status in STATUSES and words[0] != status:
        words.insert(0, status)
    message = _join(words)
    if len(message) > LONGEST:
        message = message[:LONGEST].rpartition(" ")[0] + " …"
    return message[:1].upper() + message[1:]


def _mark(line):
    """The words and marks of a line, in order."""
    pieces = PIECE.findall(URL.sub(f" {ADDRESS} ", QUOTED.sub(f" {TEXT} ", line)))
    return [_mark_piece(piece, is_first=not place) for place, piece in enumerate(pieces)]


def _mark_piece(piece, *, is_first):
    word = piece.strip(".!?*#\"'`“”‘’«»…-").lower() or TEXT
    if piece in (TEXT, ADDRESS, *":(),"):
        return piece
    if word in NAMES:
        return NAMES[word]
    if word in WORDS or (is_first and word in STATUSES):
        return word
    if "@" in piece:
        return ADDRESS
    if "/" in piece or "\\" in piece:
        return PATH
    if DAY.fullmatch(word):
        return DATE
    if DIGITS.fullmatch(word):
        return NUMBER
    return ID if any(map(str.isdigit, word)) else TEXT


def _join(words):
    """The message of words and marks: joints between two unknown texts go, and marks that repeat are one."""
    joined: list[str] = []
    for place, word in enumerate(words):
        following = next((later for later in words[place + 1 :] if later not in JOINTS), TEXT)
        if word in JOINTS and (joined[-1:] or [TEXT]) == [TEXT] and following == TEXT:
            continue
        joined.append(word)
    text = " ".join(joined).replace(" :", ":").replace("( ", "(").replace(" )", ")").replace(" ,", ",")
    return REPEATED.sub(r"\1", text).strip(" :,")
