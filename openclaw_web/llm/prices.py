"""What calls cost, and about how many tokens a text has: no guess is ever taken for a number that is known."""

from collections.abc import Mapping

Prices = Mapping[str, tuple[float | None, float | None]]  # of a model: US dollars for a million tokens, in and out

CHARACTERS_PER_TOKEN = 4


def cost(prices: Prices, model: str, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
    """US dollars for a call; None, never 0, when the model has no price or a number of tokens is not known."""
    prompt_price, completion_price = prices.get(model) or (None, None)
    if prompt_price is None or completion_price is None or prompt_tokens is None or completion_tokens is None:
        return None
    return (prompt_tokens * prompt_price + completion_tokens * completion_price) / 1_000_000


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, rounded up: four ASCII characters are a token, any other character is one.

    English prose has a little fewer, code and JSON some more; Chinese characters are between half a token and two.
    """
    plain = sum(character.isascii() for character in text)
    return len(text) - plain + -(-plain // CHARACTERS_PER_TOKEN)
