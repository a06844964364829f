"""How trainers read the rows of an export: `dataset_info.json`, and settings as the card has them.

A format that a trainer cannot read has no entry in its table, and no settings.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from .files import file_name, side_name
from .formats import COLUMNS, FORMATS
from .histories import CONTEXT

# OpenAI's format has no entry: LLaMA-Factory writes its arguments twice as JSON, and a sentence into its system prompt.
# A column that `columns` leaves out counts as missing, not as its default: they are always written in full.
SHAREGPT: dict[str, Any] = {
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
}
ANSWERS = {"chosen": "chosen", "rejected": "rejected"}
ENTRIES: dict[str, dict[str, Any]] = {
    "alpaca": {"columns": {"prompt": "instruction", "query": "input", "response": "output"}},
    "sharegpt": SHAREGPT,
    "sharegpt_reflection": SHAREGPT,
    "llamafactory_preference": {**SHAREGPT, "ranking": True, "columns": {**SHAREGPT["columns"], **ANSWERS}},
}
INFO_FILE = "dataset_info.json"
# Formats whose messages say what is to be learned, where the turns before a reply are in the row as context.
MARKED = frozenset({"sharegpt", "sharegpt_reflection", "openai", "messages", "parquet"})
CONVERSATIONS = frozenset({"sharegpt", "sharegpt_reflection"})
CUT_AT = 2_048  # tokens: the default of LLaMA-Factory
LONGEST = 8_192  # tokens: what Axolotl is told
DATASETS_LINE = "datasets.load_dataset(os.getcwd())"  # in Python; it stops at ".", whose name is empty
# The settings of Axolotl for each format; one without an entry is not for it.
AXOLOTL_MESSAGES = ["type: chat_template", "field_messages: messages"]
AXOLOTL_CONVERSATIONS = [
    "type: chat_template",
    "field_messages: conversations",
    "message_property_mappings: {role: from, content: value}",
    "roles: {user: [human], assistant: [gpt]}",
]
AXOLOTL = {
    "alpaca": ["type: alpaca"],
    "sharegpt": AXOLOTL_CONVERSATIONS,
    "sharegpt_reflection": AXOLOTL_CONVERSATIONS,
    "messages": AXOLOTL_MESSAGES,
    "parquet": AXOLOTL_MESSAGES,
}
# The formats that each trainer reads, first the one that loses the fewest samples: conversations have a place for calls
# and their results, which Alpaca has not. Pairs and labels come last: they teach otherwise, and only if chosen.
READS = {
    "trl": ("messages", "parquet", "sharegpt", "sharegpt_reflection", "alpaca", "preference", "kto"),
    "llamafactory": ("sharegpt", "sharegpt_reflection", "alpaca", "llamafactory_preference"),
    "axolotl": ("messages", "parquet", "sharegpt", "sharegpt_reflection", "alpaca"),
    "openai": ("openai", "openai_preference"),
    "table": ("csv", "raw"),
}
# The columns that TRL reads, of formats that it takes as they are.
TRL_COLUMNS = {
    "messages": ["messages", "tools"],
    "preference": ["prompt", "chosen", "rejected", "tools"],
    "kto": ["prompt", "completion", "label", "tools"],
}


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The rows of an export, as trainers are told about them.

    `dataset` names their data set; `kind` is the format; `sides` are those that have rows. `history`: what stands
    before a reply, empty where nothing does. `has_system`: every row has a system prompt. `has_tools`: some have tools.
    `has_calls`: some call a tool. `above`: rows that are estimated to have more than so many tokens (lengths.ABOVE).
    `labels`: rows for training with each label of KTO.
    """

    dataset: str
    kind: str
    sides: tuple[str, ...]
    history: str = ""
    has_system: bool = False
    has_tools: bool = False
    has_calls: bool = False
    above: Mapping[int, int] = field(default_factory=dict)
    labels: Mapping[bool, int] = field(default_factory=dict)

    @property
    def is_marked(self) -> bool:
        """Whether messages say what is to be learned."""
        return self.history == CONTEXT and self.kind in MARKED

    @property
    def files(self) -> dict[str, str]:
        """The file of each side."""
        return {side: file_name(self.dataset, side, self.kind) for side in self.sides}

    def longer(self, tokens: int) -> str:
        """The rows that are estimated to have more tokens, in words."""
        rows = self.above.get(tokens, 0)
        return "1 row" if rows == 1 else f"{rows:,} rows"


def dump_document(value: Any) -> bytes:
    """A document of JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def build_dataset_info(dataset: str, kind: str, files: Mapping[str, str]) -> dict[str, Any]:
    """The entries of `dataset_info.json`, one for the file of each side.

    The file tells LLaMA-Factory how to read the files beside it. `dataset` names the training side, `dataset_test`
    another one.
    """
    return {side_name(dataset, side): {"file_name": name, **ENTRIES[kind]} for side, name in files.items()}


def list_settings(written: WrittenRows) -> Iterator[tuple[str, str, str, str]]:
    """The settings of each program that reads the rows: its name, what to do with them, their language, and the text.

    Settings of a training need rows to train on. Everything runs in the folder of the export.
    """
    about = "Needs `datasets` 4.7 or newer:" if _is_typed(written.kind) else "Needs `datasets`:"
    yield "HF datasets", about, "python", _load_with_datasets(written)
    if trl := _load_for_trl(written):
        yield "TRL", "After the lines above; needs `datasets` 4.7 or newer, as TRL does:", "python", trl
    if "train" not in written.sides:
        return
    if written.kind in ENTRIES:
        line = "llamafactory-cli train llamafactory.yaml model_name_or_path=MODEL template=TEMPLATE"
        yield "LLaMA-Factory", f"As `llamafactory.yaml`: `{line}`", "yaml", _llamafactory(written)
    if written.kind in AXOLOTL:
        line = "axolotl train axolotl.yaml --base-model MODEL"
        if written.has_calls and written.kind in CONVERSATIONS:
            # Axolotl has no name for a call in a conversation of ShareGPT.
            about = "After the lines for Python, to write the rows as messages, in which calls are calls:"
            yield "Axolotl", about, "python", WRITE_MESSAGES
        yield "Axolotl", f"As `axolotl.yaml`: `{line}`", "yaml", _axolotl(written)


def _llamafactory(written):
    """A training of these rows in which only the model and its template have to be named."""
    is_paired = "ranking" in ENTRIES[written.kind]
    lines = [
        *(["stage: dpo", "pref_beta: 0.1", "pref_loss: sigmoid"] if is_paired else ["stage: sft"]),
        "do_train: true",
        "finetuning_type: lora",
        "dataset_dir: .",
        f"dataset: {side_name(written.dataset, 'train')}",
    ]
    if written.is_marked:  # this trainer does not read `train: false`
        lines += [
            "mask_history: true",
            "# Only the last reply of each row is learned. Tool calls of the same turn are then not learned either.",
        ]
    lines += [
        f"# Rows with more tokens than this are cut: an estimated {written.longer(CUT_AT)} of all files.",
        f"cutoff_len: {CUT_AT}",
    ]
    if "validation" in written.sides:
        lines.append(f"eval_dataset: {side_name(written.dataset, 'validation')}")
    return "\n".join([*lines, f"output_dir: output/{written.dataset}"])


def _axolotl(written):
    """A training of these rows in which only the model has to be named."""
    files, settings = written.files, list(AXOLOTL[written.kind])
    if written.kind in CONVERSATIONS and written.has_calls:
        files = {side: name.removesuffix(".jsonl") + ".messages.jsonl" for side, name in files.items()}
        settings = list(AXOLOTL_MESSAGES)
    if written.is_marked:
        settings += ["# Only messages with train: true are learned.", "message_field_training: train"]
    if settings[:4] == AXOLOTL_CONVERSATIONS and not written.has_system:
        settings += [
            "# Not all rows have a system prompt: else an empty system message would stand before the others.",
            "drop_system_message: true",
        ]
    kind = "parquet" if written.kind == "parquet" else "json"

    def describe_file(side, *more):
        return [f"  - path: {files[side]}", *(f"    {line}" for line in (f"ds_type: {kind}", *more, *settings))]

    lines = ["datasets:", *describe_file("train")]
    if "validation" in files:
        lines += ["test_datasets:", *describe_file("validation", "split: train")]
    return "\n".join([*lines, AXOLOTL_TRAINING.format(longer=written.longer(LONGEST), longest=LONGEST)])


AXOLOTL_TRAINING = """\
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
output_dir: output"""


def _is_typed(kind):
    """Whether `datasets` has to be told the types of the columns.

    Messages have different keys, and no two tools the same form: else it looks at the first megabytes, and stops at
    what comes later.
    """
    return kind in TRL_COLUMNS or kind in ("openai", "openai_preference")


def _load_with_datasets(written):
    """Python that gives `rows`, those of each side."""
    kind, features = written.kind, ""
    lines = [*(["import json", ""] if kind in CONVERSATIONS or kind == "parquet" else []), "import datasets", ""]
    lines.append(f"files = {json.dumps(dict(written.files))}")
    if _is_typed(kind):
        others = {"input": "datasets.Json()", "label": 'datasets.Value("bool")'}
        columns = {"messages": 0, **({"tools": 0} if written.has_tools else {})} if kind == "openai" else COLUMNS[kind]
        types = {name: "messages" if name in FORMATS[kind].lists else 'datasets.Value("string")' for name in columns}
        types |= {name: others[name] for name in columns if name in others}
        if "tools" in types and kind == "openai":
            types["tools"] = "datasets.Json()"
        lines.append("messages = datasets.List(datasets.Json())")
        listed = ", ".join(f'"{name}": {text}' for name, text in types.items())
        lines.append(f"features = datasets.Features({{{listed}}})")
        features = ", features=features"
    reader = kind if kind in ("csv", "parquet") else "json"
    return "\n".join([*lines, f'rows = datasets.load_dataset("{reader}", data_files=files{features})'])


def _load_for_trl(written):
    """Python that makes `trl_rows` of `rows`, as TRL's trainers take them; empty where none does."""
    kind = written.kind
    if kind == "alpaca":
        return ALPACA_FOR_TRL
    if kind in TRL_COLUMNS and not written.is_marked:
        lines = [f"trl_rows = rows.select_columns({json.dumps(TRL_COLUMNS[kind])})"]
        if kind == "kto" and written.labels:
            lines += _weigh(written.labels)
        return "\n".join(lines)
    if kind not in {*CONVERSATIONS, "messages", "parquet"}:
        return ""
    parts = {"parquet": PARQUET_AS_MESSAGES, "messages": ""}.get(kind, CONVERSATIONS_AS_MESSAGES)
    if not written.is_marked:
        parts = parts.replace(MARK, "")
    taken = ANSWER_FOR_TRL if written.is_marked else MESSAGES_FOR_TRL
    source = 'row["messages"]' if kind == "messages" else "messages_of(row)"
    return parts + taken.replace("FOUND", source) + json.dumps(list(COLUMNS[kind])) + ", features=features)"


def _weigh(labels):
    """The weights of KTO with which good and bad rows count the same, as its authors advise."""
    good, bad = labels.get(True, 0), labels.get(False, 0)
    if not (good and bad):
        return ["# All rows for training have one label: KTO needs both."]
    desirable, undesirable = (round(bad / good, 3), 1.0) if bad > good else (1.0, round(good / bad, 3))
    return [
        f"# {good:,} good rows and {bad:,} bad ones for training: with these weights both count the same.",
        f'weights = {{"desirable_weight": {desirable}, "undesirable_weight": {undesirable}}}',
        "# trl.KTOConfig(**weights)",
    ]


ALPACA_FOR_TRL = """\
def for_trl(row):
    asked = "\\n".join(filter(None, (row["instruction"], row["input"])))
    answer = [{"role": "assistant", "content": row["output"]}]
    return {"prompt": [{"role": "user", "content": asked}], "completion": answer}


trl_rows = rows.map(for_trl).select_columns(["prompt", "completion"])"""
MARK = '        message["train"] = said["train"]\n'
# Chat templates know other names for who speaks. Calls that ran side by side have one text of results.
CONVERSATIONS_AS_MESSAGES = f"""\
ROLES = {{"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}}


def messages_of(row):
    messages, names = [{{"role": "system", "content": row["system"]}}] if row["system"] else [], []
    for said in row["conversations"]:
        message = {{"role": ROLES[said["from"]], "content": said["value"]}}
        if said["from"] == "function_call":
            calls = json.loads(said["value"])
            calls = calls if isinstance(calls, list) else [calls]
            names = [call["name"] for call in calls]
            message["content"] = ""
            message["tool_calls"] = [{{"type": "function", "function": call}} for call in calls]
        elif said["from"] == "observation":
            message["name"] = names[0] if len(names) == 1 else ""
{MARK}        messages.append(message)
    return messages


"""
# Parquet has every key in every message, and arguments as texts.
PARQUET_AS_MESSAGES = """\
def messages_of(row):
    messages = [{name: value for name, value in said.items() if value is not None} for said in row["messages"]]
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return messages


"""
MESSAGES_FOR_TRL = """\
def for_trl(row):
    return {"messages": FOUND, "tools": row["tools"]}


messages = datasets.List(datasets.Json())
features = datasets.Features({"messages": messages, "tools": datasets.Value("string")})
trl_rows = rows.map(for_trl, remove_columns="""
# TRL does not read `train: false`: with a prompt and a completion, it learns the completion only.
ANSWER_FOR_TRL = """\
def for_trl(row):
    messages = FOUND
    return {"prompt": messages[:-1], "completion": messages[-1:], "tools": row["tools"]}


messages = datasets.List(datasets.Json())
features = datasets.Features({"prompt": messages, "completion": messages, "tools": datasets.Value("string")})
trl_rows = rows.map(for_trl, remove_columns="""
WRITE_MESSAGES = """\
for name in files.values():
    written = name.removesuffix(".jsonl") + ".messages.jsonl"
    with open(name, encoding="utf-8") as lines, open(written, "w", encoding="utf-8") as file:
        for row in map(json.loads, lines):
            said = {"messages": messages_of(row), "tools": row["tools"]}
            file.write(json.dumps(said, ensure_ascii=False) + "\\n")"""
