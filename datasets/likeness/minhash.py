"""MinHash signatures: 128 numbers by which the likeness of two texts can be told without the texts."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from functools import cache
from itertools import islice

from .texts import Gram

NUMBERS = 128
BYTES = 4 * NUMBERS
AT_ONCE = 2_000  # grams: each takes 512 bytes while it is hashed


def signature(found: Iterable[Gram]) -> bytes:
    """The signature of a set of grams; empty for an empty set."""
    hashed = _empty().copy()
    left = iter(found)
    while part := list(islice(left, AT_ONCE)):
        hashed.update_batch(["\x1f".join(gram).encode(errors="surrogatepass") for gram in part])
    return b"" if hashed.is_empty() else hashed.hashvalues.astype("<u4").tobytes()


@cache
def _empty():
    """A MinHash of nothing. Copies share its permutations, which take longer to draw than a short text to hash."""
    return _minhash()(NUMBERS)


def _minhash():
    """The class of datasketch, without what else is in that package: scipy, which its indexes need, takes 75 MB."""
    spec = importlib.util.find_spec("datasketch")
    if spec and "datasketch" not in sys.modules:
        sys.modules["datasketch"] = importlib.util.module_from_spec(spec)  # the folder, and nothing that it imports
        try:
            return importlib.import_module("datasketch.minhash").MinHash
        finally:
            sys.modules.pop("datasketch", None)  # whoever wants all of it still gets it
    return importlib.import_module("datasketch.minhash").MinHash
