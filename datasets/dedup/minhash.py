"""MinHash signatures: 128 numbers by which the likeness of two texts can be told without the texts.

They are those of the package datasketch with its scheme affine32 and the seed 1, to which tests compare them. It needs
scipy: 145 MB of an installation. Here one integer of Python holds all 128 numbers, 64 bits for each, and what is done
to one is done to all.
"""

from array import array
from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from random import Random
from sys import byteorder

from .texts import Gram

NUMBERS = 128
BYTES = 4 * NUMBERS
WIDTH = 64  # bits that a number has room in: it has 32 of its own, and a product of two of them has 64
MOST = 2**32 - 1
SEED = 1


def compute_signature(grams: Iterable[Gram]) -> bytes:
    """The signature of a set of grams; empty for an empty set."""
    factors, terms, mosts, carries = _permutations()
    smallest, is_empty = mosts, True
    for gram in grams:
        is_empty = False
        permuted = (_hash(gram) * factors + terms) & mosts
        # Of each number that is not smaller than before, its carry; then all 32 bits below that.
        smaller = ((smallest | carries) - permuted) & carries
        smallest ^= (smallest ^ permuted) & (smaller - (smaller >> 32))
    return b"" if is_empty else _every_other(smallest)


def _hash(gram):
    """32 bits of a gram's SHA-1, mixed by the finalizer of MurmurHash3."""
    text = "\x1f".join(gram).encode(errors="surrogatepass")
    number = int.from_bytes(sha1(text, usedforsecurity=False).digest()[:4], "little")
    number = (number ^ (number >> 16)) * 0x85EBCA6B & MOST
    number = (number ^ (number >> 13)) * 0xC2B2AE35 & MOST
    return number ^ (number >> 16)


@cache
def _permutations():
    """Factors, all odd, and terms; each pair brings the numbers of 32 bits into another order. Then MOST, its carry."""
    drawn = _drawn(2 * NUMBERS)
    factors = [2 * (number & MOST >> 1) + 1 for number in drawn[:NUMBERS]]
    same = [MOST] * NUMBERS, [MOST + 1] * NUMBERS
    return tuple(map(_side_by_side, (factors, drawn[NUMBERS:], *same)))


def _drawn(count):
    """What the generator of Mersenne gives when it is seeded by a single number, which Python's never is."""
    state = [SEED]
    for number in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + number) & MOST)
    chance = Random()  # noqa: S311 - no secret
    chance.setstate((3, (*state, 624), None))
    return [chance.getrandbits(32) for _ in range(count)]


def _side_by_side(numbers):
    return sum(number << (WIDTH * place) for place, number in enumerate(numbers))


def _every_other(numbers):
    """The lower 32 bits of each of the 128, one after the other."""
    halves = array("I", numbers.to_bytes(2 * BYTES, "little"))[::2]
    if byteorder == "big":
        halves.byteswap()
    return halves.tobytes()
