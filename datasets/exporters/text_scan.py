"""Scans the texts of a row for control tokens of tokenizers and for possible secrets.

Both are looked for in one pass over a text, by one automaton: exactly what `artifacts.contents.secrets` finds, for less
than a pass of its own would cost.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import re2

from artifacts.contents import secrets

# Texts that tokenizers of widespread models read as one token: sides, ends, tools, thoughts.
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
# An escaped line break in JSON ends with a letter, so that a key on the next line does not stand at the beginning of
# a word. JSON within JSON has as many backslashes before the letter as it is deep.
ESCAPED = re.compile(r'\\+(?:[nrtbf"/]|u[0-9a-fA-F]{4})?')


class ScanResult(NamedTuple):
    """Control tokens, and kinds of secrets (names of secrets.KINDS)."""

    tokens: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


NO_FINDINGS = ScanResult()


def scan_texts(texts: Iterable[str]) -> ScanResult:
    """Scan texts for control tokens and secrets.

    No pattern matches across the end of a line, so the texts are joined by line breaks and scanned at once.
    """
    text = "\n".join([_add_unescaped_copy(part) for part in texts])
    data = text.encode("utf-8", "replace")
    matches = _SET.Match(data) or ()
    if not matches and b"\0" not in data:
        return NO_FINDINGS
    kinds = frozenset(secrets.KINDS[number] for number in matches if number < len(secrets.KINDS))
    if b"\0" in data:
        kinds |= frozenset(secrets.find_kinds(data))
    return ScanResult(_find_tokens(data) if len(secrets.KINDS) in matches else frozenset(), kinds)


def merge_scans(results: Iterable[ScanResult]) -> ScanResult:
    """Merge the results of texts that were scanned one by one.

    The result is NO_FINDINGS itself, the same object, when all of them are.
    """
    findings = [result for result in results if result is not NO_FINDINGS]
    if not findings:
        return NO_FINDINGS
    return ScanResult(
        frozenset().union(*[result.tokens for result in findings]),
        frozenset().union(*[result.kinds for result in findings]),
    )


@lru_cache(maxsize=64)
def scan_shared_text(text: str) -> ScanResult:
    """Scan one text that many rows share; the result is cached."""
    return scan_texts([text])


def _add_unescaped_copy(text):
    """A text followed by a copy of itself in which escaped line breaks are line breaks.

    Any text may hold JSON; one without backslashes needs no copy.
    """
    return "\n".join((text, ESCAPED.sub("\n", text))) if "\\" in text else text


def _find_tokens(data):
    return frozenset(token.decode() for token in TOKEN.findall(data))


def _compile_patterns():
    options = re2.Options()
    options.log_errors = False
    patterns = re2.Set.SearchSet(options)
    for pattern in (*secrets.PATTERNS.values(), TOKEN.pattern):
        patterns.Add(pattern)
    patterns.Compile()
    return patterns


_SET = _compile_patterns()
