"""The programs whose rules rows are checked against (checks.find_broken_rules), and the version each was read from."""

LLAMA_FACTORY = {"program": "LLaMA-Factory", "version": "0.9.5"}
DATASETS = {"program": "HF datasets", "version": "4.0.0"}
UNSLOTH = {"program": "Unsloth", "version": "2026.10.9"}
OPENAI = {"program": "OpenAI fine-tuning", "version": "2026"}  # a service: the year its rules were read
MESSAGES = "messages"
ALPACA_TEXTS, SIDES, CALLS, TWO_KEYS, COLUMNS, DATES = "alpaca_texts", "sides", "calls", "two_keys", "columns", "dates"


def list_checks(kind: str, *, is_marked: bool, has_tools: bool = True) -> list[dict[str, str]]:
    """The checks that every row of a format went through: `rule`, `program`, `version`.

    Samples as they are stored have none. `is_marked`: messages say in a third key what is to be learned. `has_tools`:
    they may hold calls, which Unsloth refuses.
    """
    loader_checks = [{"rule": COLUMNS, **DATASETS}, {"rule": DATES, **DATASETS}]
    if kind == "alpaca":
        return [{"rule": ALPACA_TEXTS, **LLAMA_FACTORY}, *loader_checks]
    if kind == "openai":
        return [{"rule": MESSAGES, **OPENAI}]
    if kind != "sharegpt":
        return []
    rules = [{"rule": SIDES, **LLAMA_FACTORY}, {"rule": CALLS, **LLAMA_FACTORY}]
    return [*rules, *([] if is_marked or has_tools else [{"rule": TWO_KEYS, **UNSLOTH}]), *loader_checks]
