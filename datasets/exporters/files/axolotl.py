"""`axolotl.yaml`: how Axolotl reads the rows."""

from collections.abc import Mapping

# How each format is read; one without an entry is not for Axolotl.
CONVERSATIONS = """\
    type: chat_template
    field_messages: conversations
    message_property_mappings: {role: from, content: value}
    roles: {user: [human], assistant: [gpt, function_call], tool: [observation]}
"""
TYPES = {"alpaca": "    type: alpaca\n", "sharegpt": CONVERSATIONS}
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
    kind: str, files: Mapping[str, str], *, is_marked: bool = False, has_system: bool = False, longer: str = "0 rows"
) -> str:
    """The text of `axolotl.yaml` for the files of each side, the training side among them.

    With `is_marked`, messages say whether to learn them. `has_system`: every row has a system prompt. `longer`: the
    rows that are estimated to have more than LONGEST tokens.
    """
    settings = TYPES[kind] + (MARKED if is_marked else "")
    if kind == "sharegpt" and not has_system:
        settings += NO_SYSTEM
    parts = [
        "# Run in this folder, with a model:",
        "#   axolotl train axolotl.yaml --base-model MODEL",
        "datasets:",
        _entry(files["train"], settings),
    ]
    if "validation" in files:
        parts += ["test_datasets:", _entry(files["validation"], "    split: train\n" + settings)]
    return "\n".join([*parts, _TRAINING.format(longer=longer, longest=LONGEST)])


def _entry(file, settings):
    return f"  - path: {file}\n    ds_type: json\n{settings}".removesuffix("\n")


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
