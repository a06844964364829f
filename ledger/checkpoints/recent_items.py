"""The most recent different items of a long sequence, and how many more there were."""

import hashlib
from collections.abc import Hashable
from typing import Any


class RecentItems:
    """The last `most` values by key, the most recently stored at the end.

    Of older keys only a digest is kept, to count them.
    """

    def __init__(self, most: int):
        self.most = most
        self._kept: dict[Hashable, Any] = {}
        self._gone: set[bytes] = set()

    def get(self, key: Hashable) -> Any:
        """The value of a key; None when it is unknown or among the older ones."""
        return self._kept.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Store a value; its key is now the latest."""
        if self._kept.pop(key, None) is None and self._gone:
            self._gone.discard(_digest(key))
        self._kept[key] = value
        if len(self._kept) > self.most:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._gone.add(_digest(oldest))

    def drop(self, key: Hashable) -> None:
        """Forget a key altogether."""
        self._kept.pop(key, None)
        self._gone.discard(_digest(key))

    @property
    def items(self) -> list[Any]:
        """The values, the latest last."""
        return list(self._kept.values())

    @property
    def more(self) -> int:
        """How many older keys there were."""
        return len(self._gone)


def _digest(key):
    return hashlib.blake2b(repr(key).encode("utf-8", "replace"), digest_size=8).digest()
