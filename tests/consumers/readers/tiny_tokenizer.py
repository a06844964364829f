"""A tokenizer of single bytes, which loses no text and needs no download."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"
# Calls as axolotl and TRL pass them: as the content of a message, or beside it.
SAID = "{{ message['content'] or '' }}{% if message['tool_calls'] %}{{ message['tool_calls'] | tojson }}{% endif %}"
PLAIN = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n" + SAID + "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# The same with the assistant's texts marked, for trainers that learn only the texts that the template marks.
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
    """The texts of a row that a trainer learns, one for each run of labels.

    The token that ends a turn is not in them.
    """
    runs, before = [], -1
    for place, (token, label) in enumerate(zip(ids, labels, strict=True)):
        if label == -100:
            continue
        if place != before + 1 or not runs:
            runs.append([])
        runs[-1].append(token)
        before = place
    texts = []
    for run in runs:
        *turns, rest = tokenizer.decode(run).split(END)
        texts += [turn.strip("\n") for turn in turns]  # "" where nothing but the sign is learned
        texts += [rest.strip("\n")] if rest.strip("\n") else []
    return texts


def empty_system_turns(texts):
    """How many of these rows begin with an empty system turn."""
    return sum("<|im_start|>system\n<|im_end|>" in text for text in texts)
