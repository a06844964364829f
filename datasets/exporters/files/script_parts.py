"""Pieces of `load.py`, which load_script puts together for each format."""

IMPORTS = "from pathlib import Path\n"
AS_IT_IS = '''

def load():
    """The rows of each split."""
    files = {split: str(FOLDER / name) for split, name in FILES.items()}
    return datasets.load_dataset("KIND", data_files=files)
'''
# Messages have different keys, and no two tools the same form. Where HF `datasets` has a type for that, it is said
# which columns have it: else it looks at the first megabytes, and stops at what comes later.
TYPED = '''

def load():
    """The rows of each split."""
    files = {split: str(FOLDER / name) for split, name in FILES.items()}
    if not hasattr(datasets, "Json"):
        return datasets.DatasetDict({split: with_nulls(path) for split, path in files.items()})
    kinds = {"messages": datasets.List(datasets.Json()), "value": datasets.Json()}
    kinds |= {"text": datasets.Value("string"), "truth": datasets.Value("bool")}
    features = datasets.Features({name: kinds[kind] for name, kind in COLUMNS.items()})
    return datasets.load_dataset("json", data_files=files, features=features)


def with_nulls(path):
    """The rows of a file: every message with every key, and arguments and values as texts of JSON."""
    text = datasets.Value("string")
    call = {"id": text, "type": text, "function": {"name": text, "arguments": text}}
    message = {"role": text, "content": text, "name": text, "tool_call_id": text, "tool_calls": [call]}
    message |= {"weight": datasets.Value("int64"), "train": datasets.Value("bool")}
    kinds = {"messages": [message], "value": text, "text": text, "truth": datasets.Value("bool")}
    rows = []
    with open(path, encoding="utf-8") as file:
        for row in map(json.loads, file):
            for name, kind in COLUMNS.items():
                if kind == "messages":
                    row[name] = [fill(said, message) for said in row[name]]
                elif kind == "value":
                    row[name] = json.dumps(row[name]) if name in row else None
            rows.append(row)
    features = datasets.Features({name: kinds[kind] for name, kind in COLUMNS.items()})
    return datasets.Dataset.from_list(rows, features=features)


def fill(said, keys):
    """A message with all keys."""
    for call in said.get("tool_calls", ()):
        if not isinstance(call["function"]["arguments"], str):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return {name: said.get(name) for name in keys}
'''
MESSAGES_OF_SHAREGPT = '''
# Chat templates know other names for who speaks.
ROLES = {"human": "user", "gpt": "assistant", "observation": "tool"}
THOUGHT = ("<think>\\n", "\\n</think>\\n\\n")


def messages_of(row):
    """The system prompt, where the row has one, and the conversation, in which calls are calls."""
    messages = [{"role": "system", "content": row["system"]}] if row["system"] else []
    names = []
    for said in row["conversations"]:
        if said["from"] == "function_call":
            message = message_of_calls(said["value"])
            names = [call["function"]["name"] for call in message["tool_calls"]]
        elif said["from"] == "observation":  # the results of calls that ran side by side are one text
            message = {"role": "tool", "name": names[0] if len(names) == 1 else "", "content": said["value"]}
        else:
            message = {"role": ROLES[said["from"]], "content": said["value"]}
        messages.append(MESSAGE)
    return messages


def message_of_calls(value):
    """The message of tool calls, with the agent's words before them."""
    words = ""
    if value.startswith(THOUGHT[0]):
        words, _, value = value.removeprefix(THOUGHT[0]).partition(THOUGHT[1])
    calls = json.loads(value)
    calls = [{"type": "function", "function": call} for call in (calls if isinstance(calls, list) else [calls])]
    return {"role": "assistant", "content": words, "tool_calls": calls}


def write_messages():
    """Write each file again as messages, beside it."""
    for name in FILES.values():
        path = FOLDER / name
        written = path.with_suffix(".messages.jsonl")
        with path.open(encoding="utf-8") as rows, written.open("w", encoding="utf-8") as file:
            for row in map(json.loads, rows):
                row = {"messages": messages_of(row), "tools": row["tools"]}
                file.write(json.dumps(row, ensure_ascii=False) + "\\n")
'''
MESSAGES_OF_PARQUET = '''

def messages_of(row):
    """The messages without nulls, and with the arguments of calls as objects."""
    messages = [{name: value for name, value in said.items() if value is not None} for said in row["messages"]]
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return messages
'''
MESSAGES_AS_THEY_ARE = '''

def messages_of(row):
    """The messages of a row."""
    return row["messages"]
'''
WHOLE = '''
TRL_COLUMNS = {"messages": "messages", "tools": "text"}


def for_trl(row):
    """A row as TRL's SFTTrainer takes it."""
    return {"messages": messages_of(row), "tools": row["tools"]}
'''
# TRL does not read `train: false`: only the last reply is what is to be learned.
ANSWER_ONLY = '''
TRL_COLUMNS = {"prompt": "messages", "completion": "messages", "tools": "text"}


def for_trl(row):
    """A row as TRL's SFTTrainer takes it: with a prompt and a completion, it learns the completion only."""
    messages = messages_of(row)
    return {"prompt": messages[:-1], "completion": messages[-1:], "tools": row["tools"]}
'''
CONVERTED = '''

def load_for_trl():
    """The rows of each split as TRL takes them. Needs datasets 4.7 or newer, as TRL does."""
    kinds = {"messages": datasets.List(datasets.Json()), "text": datasets.Value("string")}
    features = datasets.Features({name: kinds[kind] for name, kind in TRL_COLUMNS.items()})
    return datasets.DatasetDict(
        {
            split: rows.map(for_trl, remove_columns=rows.column_names, features=features)
            for split, rows in load().items()
        }
    )
'''
SELECTED = '''

def load_for_trl():
    """The rows of each split with the columns that TRL reads."""
    return load().select_columns(COLUMNS_OF_TRL)
'''
INSTRUCTIONS = '''

def for_trl(row):
    """A row as TRL's SFTTrainer takes it."""
    asked = [{"role": "user", "content": "\\n".join(filter(None, (row["instruction"], row["input"])))}]
    return {"prompt": asked, "completion": [{"role": "assistant", "content": row["output"]}]}


def load_for_trl():
    """The rows of each split as TRL takes them."""
    return datasets.DatasetDict(
        {split: rows.map(for_trl, remove_columns=rows.column_names) for split, rows in load().items()}
    )
'''
MAIN = """
if __name__ == "__main__":
    for split, rows in load().items():
        print(f"{split}: {len(rows)} rows")
"""
MAIN_WITH_MESSAGES = """
if __name__ == "__main__":
    if sys.argv[1:] == ["--messages"]:
        write_messages()
    else:
        for split, rows in load().items():
            print(f"{split}: {len(rows)} rows")
"""
