"""Cuts texts into the words that the index has.

A text is brought to one form (NFKC, without upper case) and cut at everything that is no letter, digit or mark. Scripts
that are written without spaces have no words to cut: of them the index has each pair of neighbours, and the last
character of a run by itself, so that every run of one character or more is found.
"""

import re
import unicodedata

LONGEST = 64  # characters of a word that the index has
# Thai and Lao, Burmese, Khmer, signs, Han, kana and bopomofo. And all beyond the first plane: rare Han, and emoji.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u2600-\u27bf\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff"
    "\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U00010000-\U0010ffff"
)


def _list_ranges(categories, signs=()):
    """The characters of some categories in the first plane beyond ASCII, and some signs, as ranges of a set."""
    ranges: list[list[int]] = []
    for code in range(0x80, 0x10000):
        if unicodedata.category(chr(code))[0] in categories or code in signs:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


LETTERS = f"0-9A-Za-z{_list_ranges('LMN', range(0x2600, 0x27C0))}\U00010000-\U0010ffff"
MARKS = _list_ranges("M")
RUN = re.compile(f"[{LETTERS}]+")
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
UNSPACED_RUN = re.compile(f"([{UNSPACED}]+)")
# Everything in ASCII that is no letter or digit, as a blank: most words are found by splitting bytes.
_BLANKS = bytes(code if code >= 0x80 or chr(code).isalnum() else 0x20 for code in range(256))


def fold(text: str) -> str:
    """Return a text in the form in which words are compared."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def split(text: str) -> list[str]:
    """Split a folded text into its words and its runs of unspaced scripts, in order."""
    parts = []
    for run in RUN.findall(text):
        parts += [part for part in UNSPACED_RUN.split(run) if part] if IS_UNSPACED.search(run) else [run]
    return parts


def is_unspaced(part: str) -> bool:
    """Whether a part of `split` is a run of a script without spaces."""
    return IS_UNSPACED.match(part) is not None


def list_entries(part: str) -> list[str]:
    """List the entries of the index that every text with this part has: the word, or the pairs of a run."""
    return (
        [part[start : start + 2] for start in range(max(1, len(part) - 1))] if is_unspaced(part) else [part[:LONGEST]]
    )


def index_text(text: str) -> str:
    """Return the entries of a text, each once, with blanks between them."""
    runs = set(fold(text).encode(errors="replace").translate(_BLANKS).split())
    plain = [run if len(run) <= LONGEST else run[:LONGEST] for run in runs if run.isascii()]
    entries: set[str] = set()
    for run in b" ".join(run for run in runs if not run.isascii()).decode().split(" "):
        for part in split(run):
            if is_unspaced(part):
                entries.update([part[start : start + 2] for start in range(len(part))])
            else:
                entries.add(part[:LONGEST])
    return " ".join([b" ".join(plain).decode(), *entries])
