"""Run inside a consumer's environment: exports as TRL's trainer prepares them. Prints one JSON object."""

import contextlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""

from tiny_tokenizer import MARKED, learned, tiny_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer
from trl.data_utils import is_conversational, maybe_convert_to_chatml

from datasets import load_dataset


def read(folder):
    """Who speaks in each row for TRL, and what it learns when it knows the roles."""
    [file] = Path(folder).glob("*.train.jsonl")
    rows = load_dataset("json", data_files=str(file), split="train")
    made = [maybe_convert_to_chatml(row) for row in rows.to_list()]
    roles = [[message["role"] for message in row["messages"]] for row in made if is_conversational(row)]
    if not roles or not {role for row in roles for role in row} <= {"system", "user", "assistant", "tool"}:
        return {"roles": roles}
    tokenizer = tiny_tokenizer(MARKED)
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **size))
    told = {"output_dir": str(folder), "use_cpu": True, "bf16": False, "report_to": []}
    arguments = SFTConfig(**told, max_length=None, assistant_only_loss=True)
    trainer = SFTTrainer(model=model, args=arguments, train_dataset=rows, processing_class=tokenizer)
    return {
        "roles": roles,
        "learned": [learned(tokenizer, row["input_ids"], row["labels"]) for row in trainer.train_dataset],
        "texts": [tokenizer.decode(row["input_ids"]) for row in trainer.train_dataset],
    }


with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("trl"), "answers": answers}))
