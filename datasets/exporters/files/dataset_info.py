"""`dataset_info.json`, which tells LLaMA-Factory what is in the files beside it."""

from collections.abc import Mapping
from typing import Any

from .naming import side_name

# OpenAI's format has no entry: LLaMA-Factory writes its arguments twice as JSON, and a sentence into its system prompt.
# Whatever `columns` leaves out counts as missing, not as its default: they are always written in full.
ENTRIES: dict[str, dict[str, Any]] = {
    "alpaca": {"columns": {"prompt": "instruction", "query": "input", "response": "output"}},
    "sharegpt": {
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
        "tags": {
            "role_tag": "from",
            "content_tag": "value",
            "user_tag": "human",
            "assistant_tag": "gpt",
            "observation_tag": "observation",
            "function_tag": "function_call",
            "system_tag": "system",
        },
    },
}


def dataset_info(dataset: str, kind: str, files: Mapping[str, str]) -> dict[str, Any]:
    """One entry for the file of each side: `dataset` itself is the training side, `dataset_test` another one."""
    return {side_name(dataset, side): {"file_name": name, **ENTRIES[kind]} for side, name in files.items()}
