"""Finds OpenClaw's placeholders for values, or parts of values, that it did not record.

OpenClaw limits the length and the depth of what it records of a run, and masks what may be a secret. Any text that
looks like one of its placeholders counts as one: a prompt that merely quotes them is taken for incomplete.
"""

import re
from typing import Any

import orjson

# Reasons why a value is incomplete; `unknown_form`: it has an unknown shape.
TRUNCATED, REDACTED, UNKNOWN_FORM = "truncated", "redacted", "unknown_form"
_TRUNCATED = re.compile(
    r"""(?ix)
    [\[<…] (?: \.{3} | … | \( )? \s* truncated          # [Truncated], <truncated>, […truncated, …(truncated
    | truncated (?: … | \] | > )
    | \[ [^\[\]"\n]{1,80} \b truncated \b [^\[\]"\n]{0,80} \]  # in one text, not in a list of texts
    | "_? truncated \\? "                                # {"truncated": true, "reason": …}, and the bare word
    | \b _? truncated \s* : \s* true
    | trajectory- (?: [a-z]+- ){1,3} limit | trajectory-circular-reference
    | \[ (?: circular | unserializable ) \]
    """
)
_REDACTED = re.compile(
    r"""(?x)
    (?i: [\[<…*_(] \s* redacted )                        # <redacted>, [REDACTED_EMAIL], …redacted…
    | (?i: redacted (?: … | \] | > | \* | _ ) )          # [Oversized diagnostic JSON redacted]
    | (?i: "_? redacted \\? " )
    | \b REDACTED \b
    | [=:] \s* \\? ["']? \*{3,} (?! [\w*] )             # token=***
    | (?<! [\w.-] ) [\w.-]{6} … [\w.-]{4} (?! [\w.-] )   # sk-abc…wxyz, as OpenClaw masks a token
    """
)
# A mask for a value of the moment: `sessionId=<redacted>`.
_RUNTIME_VALUE = re.compile(r"\b[A-Za-z][\w.-]{0,63} ?[=:] ?<redacted>")
# Texts are long and placeholders are few: without one of these there is none.
_HINTS = ("truncated", "redacted", "***", "…", "[circular]", "[unserializable]", "trajectory-")
_WORDS = {"truncated": TRUNCATED, "redacted": REDACTED}


def find_placeholder(text: str) -> str:
    """The reason why a text is incomplete, TRUNCATED or REDACTED; empty when it is complete."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return ""
    if word := _WORDS.get(lowered.strip()):
        return word
    if _TRUNCATED.search(text):
        return TRUNCATED
    return REDACTED if _REDACTED.search(text) else ""


def has_only_runtime_values(text: str) -> bool:
    """Whether all placeholders of a text stand for values of the moment.

    A prompt that masks the id of its session and the name of its model is whole in what it tells the agent.
    """
    return not find_placeholder(_RUNTIME_VALUE.sub("", text))


def find_nested_placeholder(value: Any) -> str:
    """The reason why a JSON value is incomplete, with its names and nested values.

    It is UNKNOWN_FORM when the value cannot be read, and empty when it is complete.
    """
    if isinstance(value, str):
        return find_placeholder(value)
    try:
        return find_placeholder(orjson.dumps(value).decode())
    except TypeError:  # half a surrogate pair, or nested too deeply
        return UNKNOWN_FORM
