"""`dataset_info.json` and `llamafactory.yaml`, which tell LLaMA-Factory what is in the files beside it."""

from typing import Any

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


def dataset_info(kind: str, sides: list[str]) -> dict[str, Any]:
    """One entry for each file: `ocl_alpaca` for the training side, `ocl_alpaca_test` for the other one."""
    return {
        f"ocl_{kind}" + ("" if side == "train" else f"_{side}"): {
            "file_name": file_name(kind, side),
            **ENTRIES[kind],
        }
        for side in sides
    }


def masked_history(kind: str) -> bytes:
    """`llamafactory.yaml` for rows whose earlier turns are only context: this trainer does not read `train: false`."""
    return f"""\
# Only the last reply of each row is learned. Tool calls of the same turn are then not learned either.
dataset: ocl_{kind}
mask_history: true
""".encode()


def file_name(kind: str, side: str) -> str:
    """What the file of one side is called."""
    return f"{kind}.{side}.{'csv' if kind == 'csv' else 'jsonl'}"
