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
# Messages of OpenAI have different keys, and no two tools the same form. Where HF `datasets` has a type for that, it is
# said which columns have it: else it looks at the first megabytes, and stops at what comes later.
MESSAGES_OF_OPENAI = """
def load():
    \"\"\"The rows of each split.\"\"\"
    files = {split: str(FOLDER / name) for split, name in FILES.items()}
    if hasattr(datasets, "Json"):
        kinds = {"messages": datasets.List(datasets.Json()), "tools": datasets.Json()}
        features = datasets.Features({name: kinds[name] for name in COLUMNS})
        return datasets.load_dataset("json", data_files=files, features=features)
    return datasets.DatasetDict({split: with_nulls(path) for split, path in files.items()})


def with_nulls(path):
    \"\"\"The rows of a file: every message with every key, and tools as a text of JSON.\"\"\"
    text = datasets.Value("string")
    call = {"id": text, "type": text, "function": {"name": text, "arguments": text}}
    message = {"role": text, "content": text, "tool_call_id": text, "tool_calls": [call]}
    message["weight"] = datasets.Value("int64")
    features = datasets.Features({name: [message] if name == "messages" else text for name in COLUMNS})
    rows = []
    with open(path, encoding="utf-8") as file:
        for row in map(json.loads, file):
            rows.append({"messages": [{name: said.get(name) for name in message} for said in row["messages"]]})
            if "tools" in COLUMNS:
                rows[-1]["tools"] = json.dumps(row["tools"]) if "tools" in row else None
    return datasets.Dataset.from_list(rows, features=features)
"""
AS_IT_IS = """
def load():
    \"\"\"The rows of each split.\"\"\"
    files = {split: str(FOLDER / name) for split, name in FILES.items()}
    return load_dataset("KIND", data_files=files)
"""
CONVERSIONS = {"alpaca": INSTRUCTIONS, "sharegpt": CONVERSATIONS}


def build_script(kind: str, files: Mapping[str, str], *, is_marked: bool = False, has_tools: bool = False) -> str:
    """The text of `load.py` for the files of each side.

    `is_marked`: messages say whether to learn them. `has_tools`: rows of OpenAI's format have a list of tools.
    """
    conversion = MARKED if is_marked and kind in CONVERSIONS else CONVERSIONS.get(kind, "")
    names = json.dumps(dict(files), indent=4).replace('"\n}', '",\n}')
    imports, load = "from pathlib import Path\n\nfrom datasets import load_dataset", AS_IT_IS
    if kind == "openai":
        imports, load = "import json\nfrom pathlib import Path\n\nimport datasets", MESSAGES_OF_OPENAI
        names += f"\nCOLUMNS = {json.dumps(['messages', 'tools'] if has_tools else ['messages'])}"
    return f"""\
{_build_docstring(bool(conversion))}

{imports}

FOLDER = Path(__file__).resolve().parent
FILES = {names}
{conversion}{load.replace("KIND", "csv" if kind == "csv" else "json")}

if __name__ == "__main__":
    for split, rows in load().items():
        print(f"{{split}}: {{len(rows)}} rows")
"""


def _build_docstring(is_converted):
    lines = ["Loads the rows beside this file. Needs: pip install datasets"]
    if is_converted:
        lines += ["", 'For TRL: rows = load()["train"]; rows.map(for_trl, remove_columns=rows.column_names)']
    return '"""' + "\n".join(lines) + ('\n"""' if is_converted else '"""')
