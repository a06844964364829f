"""`load.py`: the rows of an export as HF `datasets`, as a script that lies beside them."""

import json
from collections.abc import Mapping

# The rows as TRL wants them, for the formats that it cannot read as they are.
MESSAGES = """
# TRL knows other names for who speaks; a tool call stays a text.
ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}


def messages_of(row):
    \"\"\"The system prompt, where the row has one, and the conversation.\"\"\"
    given = [{"role": "system", "content": row["system"]}] if row["system"] else []
    return given + [{"role": ROLES[said["from"]], "content": said["value"]} for said in row["conversations"]]

"""
CONVERSATIONS = f"""{MESSAGES}
def for_trl(row):
    \"\"\"A row as TRL's SFTTrainer takes it.\"\"\"
    return {{"messages": messages_of(row)}}
"""
# TRL does not read `train: false`: only the last reply is what is to be learned.
MARKED = f"""{MESSAGES}
def for_trl(row):
    \"\"\"A row as TRL's SFTTrainer takes it: with a prompt and a completion, it learns the completion only.\"\"\"
    messages = messages_of(row)
    return {{"prompt": messages[:-1], "completion": messages[-1:]}}
"""
INSTRUCTIONS = """

def for_trl(row):
    \"\"\"A row as TRL's SFTTrainer takes it.\"\"\"
    asked = [{"role": "user", "content": "\\n".join(filter(None, (row["instruction"], row["input"])))}]
    return {"prompt": asked, "completion": [{"role": "assistant", "content": row["output"]}]}
"""
CONVERSIONS = {"alpaca": INSTRUCTIONS, "sharegpt": CONVERSATIONS}


def script(kind: str, files: Mapping[str, str], *, is_marked: bool = False) -> str:
    """The text of `load.py` for the files of each side; with `is_marked`, messages say whether to learn them."""
    conversion = MARKED if is_marked else CONVERSIONS.get(kind, "")
    names = json.dumps(dict(files), indent=4).replace('"\n}', '",\n}')
    return f"""\
{_about(bool(conversion))}

from pathlib import Path

from datasets import load_dataset

FOLDER = Path(__file__).resolve().parent
FILES = {names}
{conversion}

def load():
    \"\"\"The rows of each split.\"\"\"
    files = {{split: str(FOLDER / name) for split, name in FILES.items()}}
    return load_dataset("{"csv" if kind == "csv" else "json"}", data_files=files)


if __name__ == "__main__":
    for split, rows in load().items():
        print(f"{{split}}: {{len(rows)}} rows")
"""


def _about(is_converted):
    said = ["Loads the rows beside this file. Needs: pip install datasets"]
    if is_converted:
        said += ["", 'For TRL: rows = load()["train"]; rows.map(for_trl, remove_columns=rows.column_names)']
    return '"""' + "\n".join(said) + ('\n"""' if is_converted else '"""')
