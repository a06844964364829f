"""A tokenizer that knows bytes and nothing else: whatever it is given it gives back, and no model has to be fetched."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"
# Calls as axolotl and TRL hand them over: as the content of a message, or beside it.
SAID = "{{ message['content'] or '' }}{% if message['tool_calls'] %}{{ message['tool_calls'] | tojson }}{% endif %}"
PLAIN = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n" + SAID + "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# The same, with what an assistant says marked, for trainers that ask the template what is to be learned.
# The sign that ends a turn is marked as well: of a last character of several bytes only the first one would be.
ENDED = SAID + "<|im_end|>\n"
MARKED = PLAIN.replace(
    ENDED,
    "{% if message['role'] == 'assistant' %}{% generation %}" + ENDED + "{% endgeneration %}"
    "{% else %}" + ENDED + "{% endif %}",
)


def tiny_tokenizer(template=PLAIN):
    """A tokenizer with this chat template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_only = Tokenizer(models.BPE(vocab={sign: number for number, sign in enumerate(alphabet)}, merges=[]))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytes_only.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_only,
        eos_token=END,
        pad_token="<|pad|>",
        additional_special_tokens=["<|im_start|>"],
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = template
    return tokenizer


def learned(tokenizer, ids, labels):
    """The texts of a row that a trainer learns, one for each run of labels, without the sign that ends a turn."""
    runs, before = [], -1
    for place, (token, label) in enumerate(zip(ids, labels, strict=True)):
        if label == -100:
            continue
        if place != before + 1 or not runs:
            runs.append([])
        runs[-1].append(token)
        before = place
    found = []
    for run in runs:
        *turns, rest = tokenizer.decode(run).split(END)
        found += [turn.strip("\n") for turn in turns]  # "" where nothing but the sign is learned
        found += [rest.strip("\n")] if rest.strip("\n") else []
    return found


def empty_system_turns(texts):
    """How many of these rows begin with a system turn that says nothing."""
    return sum("<|im_start|>system\n<|im_end|>" in text for text in texts)
