"""MinHash signatures: 128 numbers that estimate the similarity of two texts.

They are those of the package datasketch with its scheme affine32 and the seed 1, to which tests compare them. It needs
scipy: 145 MB of an installation. Here one integer of Python holds all 128 numbers, 64 bits for each, so that one
operation changes all of them.
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
    factors, terms, mosts, carries = _build_permutations()
    smallest, is_empty = mosts, True
    for gram in grams:
        is_empty = False
        # 32 bits of a gram's SHA-1, mixed by the finalizer of MurmurHash3.
        text = "\x1f".join(gram).encode(errors="surrogatepass")
        number = int.from_bytes(sha1(text, usedforsecurity=False).digest()[:4], "little")
        number = (number ^ (number >> 16)) * 0x85EBCA6B & MOST
        number = (number ^ (number >> 13)) * 0xC2B2AE35 & MOST
        permuted = ((number ^ (number >> 16)) * factors + terms) & mosts
        # Of each number that is not smaller than before, its carry; then all 32 bits below that.
        smaller = ((smallest | carries) - permuted) & carries
        smallest ^= (smallest ^ permuted) & (smaller - (smaller >> 32))
    return b"" if is_empty else _unpack_lower_halves(smallest)


@cache
def _build_permutations():
    """Factors, all odd, and terms of the permutations; then MOST and its carry.

    Each pair of factor and term brings the numbers of 32 bits into another order.
    """
    drawn = _draw_numbers(2 * NUMBERS)
    factors = [2 * (number & MOST >> 1) + 1 for number in drawn[:NUMBERS]]
    same = [MOST] * NUMBERS, [MOST + 1] * NUMBERS
    return tuple(map(_pack_numbers, (factors, drawn[NUMBERS:], *same)))


def _draw_numbers(count):
    """Numbers of the Mersenne Twister seeded by a single number, as Python's never is."""
    state = [SEED]
    for number in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + number) & MOST)
    generator = Random()  # noqa: S311 - no secret
    generator.setstate((3, (*state, 624), None))
    return [generator.getrandbits(32) for _ in range(count)]


def _pack_numbers(numbers):
    return sum(number << (WIDTH * place) for place, number in enumerate(numbers))


def _unpack_lower_halves(numbers):
    """The lower 32 bits of each of the 128 numbers, one after another."""
    halves = array("I", numbers.to_bytes(2 * BYTES, "little"))[::2]
    if byteorder == "big":
        halves.byteswap()
    return halves.tobytes()
