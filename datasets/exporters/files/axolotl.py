"""`axolotl.yaml`: how Axolotl reads the rows."""

from collections.abc import Mapping

# How each format is read; one without an entry is not for Axolotl.
CONVERSATIONS = """\
    type: chat_template
    field_messages: conversations
    message_property_mappings: {role: from, content: value}
    roles: {user: [human], assistant: [gpt]}
"""
MESSAGES = """\
    type: chat_template
    field_messages: messages
"""
TYPES = {
    "alpaca": "    type: alpaca\n",
    "sharegpt": CONVERSATIONS,
    "sharegpt_reflection": CONVERSATIONS,
    "messages": MESSAGES,
    "parquet": MESSAGES,
}
# Axolotl has no name for a call in a conversation of ShareGPT: load.py writes such rows as messages, with their calls.
CALLS_FIRST = """\
# First write the rows as messages, in which calls are calls:
#   python load.py --messages
"""
LONGEST = 8_192  # tokens
NO_SYSTEM = """\
    # Rows have no system prompt, or not all of them do: else an empty system message would stand before those.
    drop_system_message: true
"""
MARKED = """\
    # Only messages with train: true are learned.
    message_field_training: train
"""


def build_config(
    kind: str,
    files: Mapping[str, str],
    *,
    is_marked: bool = False,
    has_system: bool = False,
    has_calls: bool = False,
    longer: str = "0 rows",
) -> str:
    """The text of `axolotl.yaml` for the files of each side, the training side among them.

    With `is_marked`, messages say whether to learn them. `has_system`: every row has a system prompt. `has_calls`: some
    row calls a tool. `longer`: the rows that are estimated to have more than LONGEST tokens.
    """
    is_converted = has_calls and TYPES[kind] == CONVERSATIONS
    if is_converted:
        files = {side: name_messages(name) for side, name in files.items()}
    settings = (MESSAGES if is_converted else TYPES[kind]) + (MARKED if is_marked else "")
    if TYPES[kind] == CONVERSATIONS and not is_converted and not has_system:
        settings += NO_SYSTEM
    parts = [
        *([CALLS_FIRST.removesuffix("\n")] if is_converted else []),
        "# Run in this folder, with a model:",
        "#   axolotl train axolotl.yaml --base-model MODEL",
        "datasets:",
        _entry(files["train"], settings),
    ]
    if "validation" in files:
        parts += ["test_datasets:", _entry(files["validation"], "    split: train\n" + settings)]
    return "\n".join([*parts, _TRAINING.format(longer=longer, longest=LONGEST)])


def name_messages(file: str) -> str:
    """The name of the file that `load.py --messages` writes for a file of conversations."""
    return file.removesuffix(".jsonl") + ".messages.jsonl"


def _entry(file, settings):
    kind = "parquet" if file.endswith(".parquet") else "json"
    return f"  - path: {file}\n    ds_type: {kind}\n{settings}".removesuffix("\n")


_TRAINING = """\
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
# Rows with more tokens than this are left out: an estimated {longer} of all files.
sequence_len: {longest}
micro_batch_size: 1
gradient_accumulation_steps: 8
num_epochs: 1
learning_rate: 0.0002
optimizer: adamw_torch
lr_scheduler: cosine
output_dir: output
"""
