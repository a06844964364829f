"""`load.py`: the rows of an export as HF `datasets`, as a script that lies beside them."""

import json
from collections.abc import Mapping, Sequence

from ..formats.checks import COLUMNS, NO_TEXTS
from . import script_parts

# The columns that TRL reads, of formats that it takes as they are.
TRL_COLUMNS = {
    "messages": ("messages", "tools"),
    "preference": ("prompt", "chosen", "rejected", "tools"),
    "kto": ("prompt", "completion", "label", "tools"),
}
SHAREGPT = ("sharegpt", "sharegpt_reflection")
# Columns whose values are neither texts nor lists of messages.
KINDS = {"input": "value", "label": "truth"}


def build_script(kind: str, files: Mapping[str, str], *, is_marked: bool = False, has_tools: bool = False) -> str:
    """The text of `load.py` for the files of each side.

    `is_marked`: messages say whether to learn them. `has_tools`: rows of OpenAI's format have a list of tools.
    """
    names = json.dumps(dict(files), indent=4).replace('"\n}', '",\n}')
    parts = list(_choose_parts(kind, is_marked=is_marked, has_tools=has_tools))
    imports, main = script_parts.IMPORTS, script_parts.MAIN
    if kind in SHAREGPT:
        imports, main = f"{imports}import sys\n", script_parts.MAIN_WITH_MESSAGES
    if any("json." in part for part in parts) or kind in SHAREGPT:
        imports = f"import json\n{imports}"
    first = "\n".join(sorted(imports.splitlines(), key=lambda line: (line.startswith("from"), line)))
    is_for_trl = any("def load_for_trl" in part for part in parts)
    return "\n".join(
        [
            _build_docstring(kind, is_for_trl=is_for_trl),
            "",
            first,
            "",
            "import datasets",
            "",
            "FOLDER = Path(__file__).resolve().parent",
            f"FILES = {names}",
            *parts,
            main,
        ]
    )


def _choose_parts(kind, *, is_marked, has_tools):
    """The pieces of the script, in their order."""
    if kind == "openai":
        columns = {"messages": "messages"} | ({"tools": "value"} if has_tools else {})
        yield from _list_typed(columns)
    elif kind in TRL_COLUMNS or kind == "openai_preference":
        yield from _list_typed(_list_kinds(COLUMNS[kind], NO_TEXTS[kind]))
    else:
        yield script_parts.AS_IT_IS.replace("KIND", kind if kind in ("csv", "parquet") else "json")
    if kind in SHAREGPT:
        message = 'message | {"train": said["train"]}' if is_marked else "message"
        yield script_parts.MESSAGES_OF_SHAREGPT.replace("MESSAGE)", f"{message})")
        yield script_parts.ANSWER_ONLY if is_marked else script_parts.WHOLE
        yield script_parts.CONVERTED
    elif kind == "parquet":
        yield script_parts.MESSAGES_OF_PARQUET
        yield script_parts.ANSWER_ONLY if is_marked else script_parts.WHOLE
        yield script_parts.CONVERTED
    elif kind == "messages" and is_marked:
        yield script_parts.MESSAGES_AS_THEY_ARE
        yield script_parts.ANSWER_ONLY
        yield script_parts.CONVERTED
    elif kind in TRL_COLUMNS:
        yield script_parts.SELECTED.replace("COLUMNS_OF_TRL", json.dumps(TRL_COLUMNS[kind]))
    elif kind == "alpaca":
        yield script_parts.INSTRUCTIONS


def _list_kinds(columns: Sequence[str], no_texts: Sequence[str]) -> dict[str, str]:
    """The kind of each column: messages, value (any JSON), truth or text."""
    return {name: KINDS.get(name, "messages" if name in no_texts else "text") for name in columns}


def _list_typed(columns):
    yield f"COLUMNS = {json.dumps(columns)}"
    yield script_parts.TYPED


def _build_docstring(kind, *, is_for_trl):
    lines = ["Loads the rows beside this file. Needs: pip install datasets"]
    if is_for_trl:
        lines += ["", 'For TRL: rows = load_for_trl()["train"]']
    if kind in SHAREGPT:
        lines += ["", "For Axolotl: python load.py --messages writes the rows as messages, in which calls are calls."]
    return '"""' + "\n".join(lines) + ('\n"""' if len(lines) > 1 else '"""')
