"""The cost of calls, and an estimate of the tokens of a text.

A cost is None rather than a guess.
"""

from collections.abc import Mapping

Prices = Mapping[str, tuple[float | None, float | None]]  # by model: US dollars for a million tokens, in and out

CHARACTERS_PER_TOKEN = 4


def cost(prices: Prices, model: str, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
    """The cost of a call in US dollars; None (never 0) when it is unknown.

    It is unknown when the model has no price, or when a number of tokens is unknown.
    """
    prompt_price, completion_price = prices.get(model) or (None, None)
    if prompt_price is None or completion_price is None or prompt_tokens is None or completion_tokens is None:
        return None
    return (prompt_tokens * prompt_price + completion_tokens * completion_price) / 1_000_000


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rounded up.

    Four ASCII characters count as one token, any other character counts as one.

    English prose has a little fewer, code and JSON some more; Chinese characters are between half a token and two.
    """
    ascii_count = sum(character.isascii() for character in text)
    return len(text) - ascii_count + -(-ascii_count // CHARACTERS_PER_TOKEN)
