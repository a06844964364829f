"""Scans the texts of a row for control tokens of tokenizers."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import re2

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
TOKEN = re2.compile("|".join(map(re.escape, CONTROL_TOKENS)).encode())


class ScanResult(NamedTuple):
    """The control tokens in texts."""

    tokens: frozenset[str] = frozenset()


NO_FINDINGS = ScanResult()


def scan_texts(texts: Iterable[str]) -> ScanResult:
    """Scan texts for control tokens.

    None of them has a line break, so the texts are joined by line breaks and scanned at once.
    """
    data = "\n".join(texts).encode("utf-8", "replace")
    tokens = TOKEN.findall(data)
    return ScanResult(frozenset(token.decode() for token in tokens)) if tokens else NO_FINDINGS


def merge_scans(results: Iterable[ScanResult]) -> ScanResult:
    """Merge the results of texts that were scanned one by one.

    The result is NO_FINDINGS itself, the same object, when all of them are.
    """
    findings = [result.tokens for result in results if result is not NO_FINDINGS]
    return ScanResult(frozenset().union(*findings)) if findings else NO_FINDINGS


@lru_cache(maxsize=64)
def scan_shared_text(text: str) -> ScanResult:
    """Scan one text that many rows share; the result is cached."""
    return scan_texts([text])
