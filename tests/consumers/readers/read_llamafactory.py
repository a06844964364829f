"""Run inside a consumer's environment: exports as LLaMA-Factory prepares them for training. Prints one JSON object.

Its own parser of settings, loader, converter and tokenizing, with the settings of the card and `dataset_info.json` of
the export. A second argument is another template of its own.
"""

import contextlib
import json
import os
import sys
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType

os.environ["DISABLE_VERSION_CHECK"] = "1"  # its own switch: what trains a model is not installed

import yaml
from card_blocks import read_blocks
from tiny_tokenizer import learned, tiny_tokenizer
from transformers import HfArgumentParser, Seq2SeqTrainingArguments

if not find_spec("torchaudio"):  # imported for audio, of which there is none; it needs a GPU
    sys.modules["torchaudio"] = ModuleType("torchaudio")
    sys.modules["torchaudio"].__spec__ = ModuleSpec("torchaudio", None)

from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import DataArguments, FinetuningArguments, ModelArguments


def read(folder):
    """The texts that LLaMA-Factory learns from each row, and the whole rows."""
    os.chdir(folder)  # its files name each other without a folder
    settings = yaml.safe_load(read_blocks(".")["LLaMA-Factory", "yaml"]) | OURS
    parser = HfArgumentParser((DataArguments, ModelArguments, FinetuningArguments, Seq2SeqTrainingArguments))
    arguments, model, _, training = parser.parse_dict(settings)  # a key that none of them knows is an error
    tokenizer = tiny_tokenizer()
    template = get_template_and_fix_tokenizer(tokenizer, arguments)
    stage = settings["stage"]
    try:
        data_stage = "rm" if stage == "dpo" else stage
        rows = get_dataset(template, model, arguments, training, stage=data_stage, tokenizer=tokenizer)["train_dataset"]
    except (RuntimeError, ValueError) as exc:
        return {"refused": str(exc)}
    if stage == "dpo":
        sides = ("chosen", "rejected")
        pairs = [
            [learned(tokenizer, row[f"{side}_input_ids"], row[f"{side}_labels"]) for side in sides] for row in rows
        ]
        return {"pairs": [[text for side in pair for text in side] for pair in pairs]}
    return {
        "learned": [learned(tokenizer, row["input_ids"], row["labels"]) for row in rows],
        "texts": [tokenizer.decode(row["input_ids"]) for row in rows],
    }


TEMPLATE = sys.argv[2] if len(sys.argv) > 2 else "qwen"
# Settings of the user: a model and its template; and here nothing is cut, no GPU is used, no report is sent.
OURS = {"model_name_or_path": "none", "template": TEMPLATE, "cutoff_len": 1_000_000, "overwrite_cache": True}
OURS |= {"use_cpu": True, "report_to": "none"}
with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("llamafactory"), "answers": answers}))
