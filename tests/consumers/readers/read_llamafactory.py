"""Run inside a consumer's environment: exports as LLaMA-Factory prepares them for training. Prints one JSON object.

Its own loader, converter and tokenizing, with `dataset_info.json` of the export, and `llamafactory.yaml` where there is
one.
"""

import contextlib
import json
import os
import sys
from dataclasses import fields
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

os.environ["DISABLE_VERSION_CHECK"] = "1"  # its own switch: what trains a model is not installed

import yaml
from tiny_tokenizer import learned, tiny_tokenizer
from transformers import Seq2SeqTrainingArguments

if not find_spec("torchaudio"):  # imported for recordings, of which there are none; it cannot be had without a GPU
    sys.modules["torchaudio"] = ModuleType("torchaudio")
    sys.modules["torchaudio"].__spec__ = ModuleSpec("torchaudio", None)

from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import DataArguments, ModelArguments


def read(folder):
    """What LLaMA-Factory learns from each row of an export."""
    folder = Path(folder)
    name = next(name for name in json.loads((folder / "dataset_info.json").read_text()) if not name.endswith("_test"))
    wanted = {"dataset": name, "dataset_dir": str(folder), "template": "qwen", "cutoff_len": 1_000_000}
    if (folder / "llamafactory.yaml").exists():
        said = yaml.safe_load((folder / "llamafactory.yaml").read_text())
        known = {field.name for field in fields(DataArguments)}  # the others are about the training
        wanted |= {name: value for name, value in said.items() if name in known}
        wanted |= {"dataset_dir": str(folder), "template": "qwen", "cutoff_len": 1_000_000}
    arguments = DataArguments(**wanted, overwrite_cache=True)
    tokenizer = tiny_tokenizer()
    template = get_template_and_fix_tokenizer(tokenizer, arguments)
    training = Seq2SeqTrainingArguments(output_dir=str(folder), use_cpu=True, report_to=[])
    model = ModelArguments(model_name_or_path="none")
    try:
        rows = get_dataset(template, model, arguments, training, stage="sft", tokenizer=tokenizer)["train_dataset"]
    except RuntimeError as exc:
        return {"refused": str(exc)}
    return {"learned": [learned(tokenizer, row["input_ids"], row["labels"]) for row in rows]}


with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("llamafactory"), "answers": answers}))
