"""`dataset_info.json`, which tells LLaMA-Factory what is in the files beside it."""

from typing import Any

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


def dataset_info(kind: str, sides: list[str]) -> dict[str, Any]:
    """One entry for each file: `ocl_alpaca` for the training side, `ocl_alpaca_test` for the other one."""
    return {
        f"ocl_{kind}" + ("" if side == "train" else f"_{side}"): {
            "file_name": file_name(kind, side),
            **ENTRIES[kind],
        }
        for side in sides
    }


def file_name(kind: str, side: str) -> str:
    """What the file of one side is called."""
    return f"{kind}.{side}.jsonl"
