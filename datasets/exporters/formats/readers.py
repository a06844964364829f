"""The programs whose rules rows are checked against (checks.find_broken_rules), and the version each was read from."""

LLAMA_FACTORY = {"program": "LLaMA-Factory", "version": "0.9.5"}
DATASETS = {"program": "HF datasets", "version": "4.0.0"}
UNSLOTH = {"program": "Unsloth", "version": "2026.10.9"}
TRL = {"program": "TRL", "version": "1.16.0"}
OPENAI = {"program": "OpenAI fine-tuning", "version": "2026"}  # a service: the year its rules were read
MESSAGES, ANSWERS = "messages", "answers"
ALPACA_TEXTS, SIDES, CALLS, TWO_KEYS, COLUMNS, DATES = "alpaca_texts", "sides", "calls", "two_keys", "columns", "dates"
# The rules of each format, beside those of the loader.
RULES = {
    "alpaca": [{"rule": ALPACA_TEXTS, **LLAMA_FACTORY}],
    "sharegpt": [{"rule": SIDES, **LLAMA_FACTORY}, {"rule": CALLS, **LLAMA_FACTORY}],
    "sharegpt_reflection": [{"rule": SIDES, **LLAMA_FACTORY}, {"rule": CALLS, **LLAMA_FACTORY}],
    "messages": [{"rule": MESSAGES, **TRL}],
    "parquet": [{"rule": MESSAGES, **TRL}],
    "preference": [{"rule": MESSAGES, **TRL}, {"rule": ANSWERS, **TRL}],
    "llamafactory_preference": [
        {"rule": SIDES, **LLAMA_FACTORY},
        {"rule": CALLS, **LLAMA_FACTORY},
        {"rule": ANSWERS, **LLAMA_FACTORY},
    ],
    "kto": [{"rule": MESSAGES, **TRL}, {"rule": ANSWERS, **TRL}],
}


def list_checks(kind: str, *, is_marked: bool, has_tools: bool = True) -> list[dict[str, str]]:
    """The checks that every row of a format went through: `rule`, `program`, `version`.

    Samples as they are stored have none. `is_marked`: messages say in a third key what is to be learned. `has_tools`:
    they may hold calls, which Unsloth refuses.
    """
    if kind in ("openai", "openai_preference"):
        return [{"rule": rule, **OPENAI} for rule in ([MESSAGES] if kind == "openai" else [MESSAGES, ANSWERS])]
    if kind not in RULES:
        return []
    is_plain = kind == "sharegpt" and not is_marked and not has_tools
    loader_checks = [{"rule": COLUMNS, **DATASETS}, {"rule": DATES, **DATASETS}]
    return [*RULES[kind], *([{"rule": TWO_KEYS, **UNSLOTH}] if is_plain else []), *loader_checks]
