"""What two samples are compared by: the words of prompt and reply, five at a time.

Without Django and without tables.
"""

import hashlib
import re
import unicodedata
from collections.abc import Set

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
    """What tells a pair from every other one: 32 bytes that change with each character."""
    asked, said = (text.encode(errors="surrogatepass") for text in (prompt, reply))
    return hashlib.sha256(len(asked).to_bytes(8) + asked + said).digest()


def split_words(prompt: str, reply: str) -> list[str]:
    """The words of both, one after the other, without case, accents of width, punctuation and layout."""
    return WORD.findall(unicodedata.normalize("NFKC", f"{prompt}\n{reply}").casefold())


def hash_words(words: list[str], made_from: bytes) -> bytes:
    """What tells words from all others, whatever their layout; of a pair without words, what `identity` tells."""
    return hashlib.blake2b(" ".join(words).encode(errors="surrogatepass") or made_from, digest_size=16).digest()


def compute_words_number(prompt: str, reply: str) -> int:
    """The first 64 bits of the hash of a pair's words."""
    words = split_words(prompt, reply)
    return int.from_bytes(hash_words(words, b"" if words else compute_identity(prompt, reply))[:8])


def build_grams(words: list[str]) -> Set[Gram]:
    """Every five words in a row. Fewer than five are one gram: such texts are alike when all words are the same."""
    if len(words) < GRAM:
        return {tuple(words)} if words else frozenset()
    return set(zip(*(words[start:] for start in range(GRAM)), strict=False))


def jaccard(one: Set[object], other: Set[object]) -> float:
    """How much of what either has both have, 0 to 1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
