"""Repeatable randomness: the same words give the same stream on every machine."""

import random

VARIANTS = "89ab"


class Chance(random.Random):
    """A stream of choices that depends on its name alone; `Chance.from_words(seed, "sessions")`."""

    @classmethod
    def from_words(cls, *words):
        """The stream named by `words`."""
        return cls("|".join(map(str, words)))

    def hex(self, digits):
        """A text of this many hexadecimal digits."""
        return f"{self.getrandbits(4 * digits):0{digits}x}"

    def uuid(self):
        """A version 4 UUID."""
        raw = self.hex(32)
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-{VARIANTS[int(raw[16], 16) % 4]}{raw[17:20]}-{raw[20:]}"

    def between(self, low, high):
        """A whole number of milliseconds between two numbers of seconds."""
        return self.randint(round(low * 1000), round(high * 1000))
