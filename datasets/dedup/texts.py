"""The words of samples, in grams of five, by which two samples are compared.

Without Django and without tables.
"""

import hashlib
import re
from collections.abc import Collection, Set
from functools import lru_cache

from openclaw_web.detectors.detect import find_spans
from openclaw_web.detectors.spans import NOT_FULLY_SCANNED
from openclaw_web.normal_forms import to_nfkc

from ..markers import replace_by_kinds

GRAM = 5  # words
ALIKE = 0.8  # Jaccard of the sets of grams, from which two samples say the same
# Scripts without blanks between words, and pictures: each character is a word.
SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2600-\u27bf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001f300-\U0001faff\U00020000-\U0003ffff"
)
WORD = re.compile(rf"[{SINGLE}]|[^\W{SINGLE}]+")
Gram = tuple[str, ...]


def compute_identity(prompt: str, reply: str) -> bytes:
    """The 32 bytes that identify a pair: they change with each character."""
    prompt_bytes, reply_bytes = (text.encode(errors="surrogatepass") for text in (prompt, reply))
    return hashlib.sha256(len(prompt_bytes).to_bytes(8) + prompt_bytes + reply_bytes).digest()


def split_words(prompt: str, reply: str) -> list[str]:
    """The words of prompt and reply, without case, width variants, punctuation and layout.

    Personal data and secrets are the words of their kinds, also where somebody dismissed them: texts that differ in a
    telephone number only have the same words.
    """
    text = f"{name_values(prompt)}\n{name_values(reply)}"
    return WORD.findall(to_nfkc(text).casefold())


@lru_cache(maxsize=256)  # the turns of a session are compared in several spellings
def name_values(text: str) -> str:
    """A text with a kind, such as `[EMAIL]`, in place of each value that detectors find."""
    text = replace_by_kinds(text)
    parts, end = [], 0
    for span in find_spans(text):
        if span.kind == NOT_FULLY_SCANNED:
            return text
        parts += [text[end : span.start], f"[{span.kind.upper()}]"]
        end = span.end
    return "".join([*parts, text[end:]]) if parts else text


def hash_words(words: list[str], made_from: bytes) -> bytes:
    """The hash of words, whatever their layout.

    For a pair without words it is the hash of its identity.
    """
    return hashlib.blake2b(" ".join(words).encode(errors="surrogatepass") or made_from, digest_size=16).digest()


def compute_words_number(prompt: str, reply: str) -> int:
    """The first 64 bits of the hash of a pair's words."""
    words = split_words(prompt, reply)
    return int.from_bytes(hash_words(words, b"" if words else compute_identity(prompt, reply))[:8])


def build_grams(words: list[str]) -> Set[Gram]:
    """The grams of words: every five words in a row.

    Fewer than five words are one gram: such texts are similar when all words are the same.
    """
    if len(words) < GRAM:
        return {tuple(words)} if words else frozenset()
    return set(zip(*(words[start:] for start in range(GRAM)), strict=False))


def jaccard(first: Set[object], second: Collection[object]) -> float:
    """The Jaccard index of two sets: the shared part of their union, 0 to 1.

    The second may be any collection without repetitions.
    """
    shared = len(first & second if isinstance(second, Set) else first.intersection(second))
    return shared / (len(first) + len(second) - shared) if shared else 0.0
