"""Run inside TRL's environment: exports as its DPO and KTO trainers prepare them.

Prints one JSON object.
"""

import contextlib
import json
import os
import sys
from importlib.metadata import version

os.environ["CUDA_VISIBLE_DEVICES"] = ""

from card_blocks import run_python
from tiny_tokenizer import PLAIN, tiny_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
from trl import DPOConfig, DPOTrainer

try:
    from trl import KTOConfig, KTOTrainer
except ImportError:
    from trl.experimental.kto import KTOConfig, KTOTrainer


def read(folder):
    """The rows that TRL reads, and how many of them its trainer prepared."""
    os.chdir(folder)
    names = run_python(".", "HF datasets", "TRL")
    rows = names["trl_rows"]["train"]
    tokenizer = tiny_tokenizer(PLAIN)
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model, before = (LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **size)) for _ in range(2))
    options = {"output_dir": str(folder), "use_cpu": True, "bf16": False, "report_to": [], "max_length": None}
    options |= {"per_device_train_batch_size": 2} | names.get("weights", {})
    is_labelled = "label" in rows.column_names
    trainer_class, config_class = (KTOTrainer, KTOConfig) if is_labelled else (DPOTrainer, DPOConfig)
    arguments = config_class(**options)
    given = {"model": model, "ref_model": before, "args": arguments, "processing_class": tokenizer}
    trainer = trainer_class(train_dataset=rows, **given)
    prepared = trainer.train_dataset
    columns = [name for name in ("prompt_ids", "prompt_input_ids") if name in prepared.column_names]
    texts = [tokenizer.decode(row[columns[0]]) for row in prepared] if columns else []
    return {"rows": rows.to_list(), "prepared": len(prepared), "prompts": texts, "weights": names.get("weights")}


with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("trl"), "answers": answers}))
