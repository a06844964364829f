"""Files that tell LLaMA-Factory, Axolotl and HF `datasets` how to read the rows.

All of them follow from `WrittenRows`.

A format that a trainer cannot read has no entry in its table, and no file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..conversations.histories import CONTEXT
from . import axolotl, load_script
from .file_names import file_name, side_name

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
# Formats whose messages say what is to be learned, where the turns before a reply are in the row as context.
MARKED = frozenset({"sharegpt", "sharegpt_reflection", "openai", "messages", "parquet"})


LLAMAFACTORY, AXOLOTL, LOAD = "llamafactory.yaml", "axolotl.yaml", "load.py"
INFO_FILE = "dataset_info.json"
CUT_AT = 2_048  # tokens: the default of LLaMA-Factory


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The rows of an export, as the files for trainers describe them.

    `dataset` names their data set; `kind` is the format; `sides` are those that have rows. `history`: what stands
    before a reply, empty where nothing does. `has_system`: every row has a system prompt. `has_tools`: some have tools.
    `has_calls`: some call a tool. `above`: rows that are estimated to have more than so many tokens (lengths.ABOVE).
    """

    dataset: str
    kind: str
    sides: tuple[str, ...]
    history: str = ""
    has_system: bool = False
    has_tools: bool = False
    has_calls: bool = False
    above: Mapping[int, int] = field(default_factory=dict)

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


def build_trainer_files(written: WrittenRows) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file that tells a trainer how to read the rows.

    Without rows to train on, there is no training to describe.
    """
    is_trained = "train" in written.sides
    if written.kind in ENTRIES:
        yield INFO_FILE, dump_document(build_dataset_info(written.dataset, written.kind, written.files))
        if is_trained:
            yield LLAMAFACTORY, llamafactory(written).encode()
    if written.kind in axolotl.TYPES and is_trained:
        options = {name: getattr(written, name) for name in ("is_marked", "has_system", "has_calls")}
        longer = written.longer(axolotl.LONGEST)
        yield AXOLOTL, axolotl.build_config(written.kind, written.files, **options, longer=longer).encode()
    options = {"is_marked": written.is_marked, "has_tools": written.has_tools}
    yield LOAD, load_script.build_script(written.kind, written.files, **options).encode()


def llamafactory(written: WrittenRows) -> str:
    """`llamafactory.yaml`: a training of these rows in which only the model has to be named."""
    lines = [
        "# Run in this folder, with a model and the template that belongs to it:",
        f"#   {LLAMAFACTORY_LINE}",
        *(DPO if "ranking" in ENTRIES[written.kind] else ["stage: sft"]),
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
    return "\n".join([*lines, f"output_dir: output/{written.dataset}", ""])


DPO = ["stage: dpo", "pref_beta: 0.1", "pref_loss: sigmoid"]
LLAMAFACTORY_LINE = f"llamafactory-cli train {LLAMAFACTORY} model_name_or_path=MODEL template=TEMPLATE"
AXOLOTL_LINE = f"axolotl train {AXOLOTL} --base-model MODEL"
LOAD_LINE = f"python {LOAD}"
DATASETS_LINE = "datasets.load_dataset(os.getcwd())"  # in Python; it stops at ".", whose name is empty
# The command to type in the folder of an export, by the file that it reads.
COMMAND_LINES = {LLAMAFACTORY: LLAMAFACTORY_LINE, AXOLOTL: AXOLOTL_LINE, LOAD: LOAD_LINE}


def dump_document(value: Any) -> bytes:
    """A document of JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def build_dataset_info(dataset: str, kind: str, files: Mapping[str, str]) -> dict[str, Any]:
    """The entries of `dataset_info.json`, one for the file of each side.

    The file tells LLaMA-Factory how to read the files beside it. `dataset` names the training side, `dataset_test`
    another one.
    """
    return {side_name(dataset, side): {"file_name": name, **ENTRIES[kind]} for side, name in files.items()}
