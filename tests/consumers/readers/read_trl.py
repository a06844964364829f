"""Run inside a consumer's environment: exports as TRL's trainer prepares them. Prints one JSON object."""

import contextlib
import json
import os
import sys
from importlib.metadata import version

os.environ["CUDA_VISIBLE_DEVICES"] = ""

from card_blocks import run_python
from tiny_tokenizer import MARKED, learned, tiny_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer
from trl.data_utils import is_conversational, maybe_convert_to_chatml


def read(folder):
    """The texts that TRL learns from each row, and the roles of converted rows.

    The rows are loaded as the card does it.
    """
    os.chdir(folder)
    names = run_python(".", "HF datasets", "TRL")
    rows = names["rows"]["train"]
    converted = [maybe_convert_to_chatml(row) for row in rows.to_list()]
    roles = [[message["role"] for message in row["messages"]] for row in converted if is_conversational(row)]
    rows = names["trl_rows"]["train"] if "trl_rows" in names else rows.map(parse_arguments)
    is_completed = "completion" in rows.column_names
    tokenizer = tiny_tokenizer(MARKED)
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **size))
    options = {"output_dir": str(folder), "use_cpu": True, "bf16": False, "report_to": []}
    arguments = SFTConfig(**options, max_length=None, assistant_only_loss=not is_completed)
    trainer = SFTTrainer(model=model, args=arguments, train_dataset=rows, processing_class=tokenizer)
    return {
        "roles": roles,
        "learned": [learned(tokenizer, row["input_ids"], row["labels"]) for row in trainer.train_dataset],
        "texts": [tokenizer.decode(row["input_ids"]) for row in trainer.train_dataset],
    }


def parse_arguments(row):
    """An OpenAI row whose call arguments are objects, as chat templates expect."""
    for message in row["messages"]:
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return row


with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("trl"), "answers": answers}))
