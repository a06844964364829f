"""Run inside a consumer's environment: exports through Unsloth's `standardize_sharegpt`. Prints one JSON object."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ["UNSLOTH_ZOO_DISABLE_GPU_INIT"] = "1"  # its own switch for machines without a GPU

from unsloth_zoo.dataset_utils import standardize_data_formats  # `standardize_sharegpt` is an alias of it

from datasets import load_dataset


def read(folder):
    """The rows of an export as Unsloth converts them, or its error."""
    [file] = Path(folder).glob("ocl_*.train.jsonl")
    rows = load_dataset("json", data_files=str(file), split="train")
    try:
        converted = standardize_data_formats(rows, num_proc=1)
    except (AssertionError, RuntimeError, TypeError) as exc:
        return {"refused": f"{type(exc).__name__}: {exc}"}
    return {"conversations": converted["conversations"][:] if "conversations" in converted.column_names else []}


answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("unsloth_zoo"), "answers": answers}))
