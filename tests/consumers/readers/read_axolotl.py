"""Run inside a consumer's environment: exports as axolotl tokenizes them. Prints one JSON object.

Its own loading and prompt strategies, with the settings of the card.
"""

import contextlib
import json
import os
import sys
from importlib.metadata import version

import yaml
from axolotl.utils.data.sft import _load_and_process_single_dataset
from axolotl.utils.dict import DictDefault
from axolotl.utils.schemas.datasets import SFTDataset
from card_blocks import read_blocks, run_python
from tiny_tokenizer import empty_system_turns, learned, tiny_tokenizer


def read(folder):
    """The texts that axolotl learns from each row, and the number of empty system turns."""
    os.chdir(folder)  # its files name each other without a folder
    blocks = read_blocks(".")
    if ("Axolotl", "python") in blocks:
        run_python(".", "HF datasets", "TRL", "Axolotl")
    [dataset] = yaml.safe_load(blocks["Axolotl", "yaml"])["datasets"]
    dataset = DictDefault(SFTDataset(**dataset).model_dump(exclude_none=True))
    tokenizer = tiny_tokenizer()
    whole = DictDefault({"sequence_len": 1_000_000, "train_on_inputs": False, "datasets": [dataset]})
    rows, _ = _load_and_process_single_dataset(dataset, whole, tokenizer, "train", 0)
    texts = [tokenizer.decode(row["input_ids"]) for row in rows]
    return {
        "learned": [learned(tokenizer, row["input_ids"], row["labels"]) for row in rows],
        "texts": texts,
        "system_turns": sum("<|im_start|>system\n" in text for text in texts),
        "empty_system_turns": empty_system_turns(texts),
    }


with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("axolotl"), "answers": answers}))
