"""The models of the demo, their prices, and the `usage` object of a call."""

from dataclasses import dataclass

MILLION = 1_000_000
CACHE_LIVES_MS = 300_000
NO_USAGE = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}


@dataclass(frozen=True, slots=True)
class Model:
    """One configured model; prices are US dollars for a million tokens."""

    provider: str
    id: str
    name: str
    api: str
    input: float
    output: float
    cache_read: float
    cache_write: float
    window: int

    @property
    def ref(self):
        return f"{self.provider}/{self.id}"


MODELS = {
    model.ref: model
    for model in (
        Model("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5", "anthropic-messages", 3, 15, 0.3, 3.75, 200_000),
        Model("anthropic", "claude-opus-4-5", "Claude Opus 4.5", "anthropic-messages", 5, 25, 0.5, 6.25, 200_000),
        Model("anthropic", "claude-haiku-4-5", "Claude Haiku 4.5", "anthropic-messages", 1, 5, 0.1, 1.25, 200_000),
        Model("openai", "gpt-5.2", "GPT-5.2", "openai-responses", 1.75, 14, 0.175, 0, 272_000),
        Model("openai", "gpt-5-mini", "GPT-5 mini", "openai-responses", 0.25, 2, 0.025, 0, 32_000),
        Model("ollama", "qwen3:14b", "Qwen3 14B (back office)", "openai-completions", 0, 0, 0, 0, 40_960),
    )
}


def build_usage(model, *, context, known, idle_ms, output):
    """The `usage` object of a call with a prompt of `context` tokens.

    The provider saw `known` of these tokens `idle_ms` milliseconds ago; `output` are the tokens of the answer.
    """
    if idle_ms > CACHE_LIVES_MS or model.provider == "ollama":
        known = 0
    if model.cache_write:
        fresh = min(context, 4 + context % 9)
        counts = (fresh, output, min(known, context - fresh), max(0, context - fresh - known))
    else:
        known = min(known, context) // 128 * 128
        counts = (context - known, output, known, 0)
    prices = (model.input, model.output, model.cache_read, model.cache_write)
    costs = [round(count * price / MILLION, 10) for count, price in zip(counts, prices, strict=True)]
    names = ("input", "output", "cacheRead", "cacheWrite")
    cost = dict(zip(names, costs, strict=True)) | {"total": round(sum(costs), 10)}
    return dict(zip(names, counts, strict=True)) | {"totalTokens": sum(counts), "cost": cost}


def count_tokens(text):
    """An estimate of a text's tokens; a Chinese character counts as most of one."""
    return max(1, (len(text) + len(text.encode())) // 7)
