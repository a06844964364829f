"""What texts of a row hold beside what they say: control tokens of tokenizers, and what may be a secret.

Both are looked for in one pass over a text, by one automaton: exactly what `artifacts.contents.secrets` finds, for less
than a pass of its own would cost.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import re2

from artifacts.contents import secrets

# What tokenizers of widespread models read as one token with a meaning: sides, ends, tools, thoughts.
NAMED = """
im_start im_end im_sep endoftext startoftext begin_of_text end_of_text eot_id eom_id start_header_id end_header_id
python_tag end start message channel constrain return call endofprompt user assistant system observation tool
image_pad video_pad vision_start vision_end fim_prefix fim_middle fim_suffix fim_pad repo_name file_sep
START_OF_TURN_TOKEN END_OF_TURN_TOKEN USER_TOKEN CHATBOT_TOKEN SYSTEM_TOKEN
"""
OTHERS = """
[INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS] [TOOL_RESULTS]
[/TOOL_RESULTS] [gMASK] <<SYS>> <</SYS>> <s> </s> <unk> <pad> <bos> <eos> <sop> <eop> <start_of_turn> <end_of_turn>
<think> </think> <tool_call> </tool_call> <tool_response> </tool_response>
<｜User｜> <｜Assistant｜> <｜begin▁of▁sentence｜> <｜end▁of▁sentence｜>
"""
CONTROL_TOKENS = (*(f"<|{name}|>" for name in NAMED.split()), *OTHERS.split())
TOKEN = re2.compile("|".join(map(re.escape, CONTROL_TOKENS)))
# In JSON a line ends with a letter, so that a key at the beginning of the next one is not at the beginning of a word.
# JSON within JSON has as many backslashes before it as it is deep.
ESCAPED = re.compile(r'\\+(?:[nrtbf"/]|u[0-9a-fA-F]{4})?')


class ScanResult(NamedTuple):
    """Control tokens, and kinds of secrets (names of secrets.KINDS)."""

    tokens: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


NO_FINDINGS = ScanResult()


def scan_texts(texts: Iterable[str]) -> ScanResult:
    """What is in these texts. No pattern reaches over the end of a line, so together they hold what each does."""
    text = "\n".join([_readable(one) for one in texts])
    data = text.encode("utf-8", "replace")
    found = _SET.Match(data) or ()
    if not found and b"\0" not in data:
        return NO_FINDINGS
    kinds = frozenset(secrets.KINDS[number] for number in found if number < len(secrets.KINDS))
    if b"\0" in data:
        kinds |= frozenset(secrets.find_kinds(data))
    return ScanResult(_tokens(data) if len(secrets.KINDS) in found else frozenset(), kinds)


def merge_scans(found: Iterable[ScanResult]) -> ScanResult:
    """What is in texts that were looked at one by one; NOTHING itself when that is so."""
    some = [seen for seen in found if seen is not NO_FINDINGS]
    if not some:
        return NO_FINDINGS
    return ScanResult(
        frozenset().union(*[seen.tokens for seen in some]), frozenset().union(*[seen.kinds for seen in some])
    )


@lru_cache(maxsize=64)
def scan_shared_text(text: str) -> ScanResult:
    """The same for one text that many rows have."""
    return scan_texts([text])


def _readable(text):
    """A text followed by itself with escaped ends of lines as ends of lines, where it has any: JSON may be anywhere."""
    return "\n".join((text, ESCAPED.sub("\n", text))) if "\\" in text else text


def _tokens(data):
    return frozenset(token.decode() for token in TOKEN.findall(data))


def _compiled():
    options = re2.Options()
    options.log_errors = False
    found = re2.Set.SearchSet(options)
    for pattern in (*secrets.PATTERNS.values(), TOKEN.pattern):
        found.Add(pattern)
    found.Compile()
    return found


_SET = _compiled()
