"""What OpenClaw records instead of a value, or of a part of it. A value with such a placeholder in it is not whole.

OpenClaw limits the length and the depth of what it records of a run, and masks what may be a secret. What looks like
one of its placeholders counts as one: a prompt that merely quotes them is taken for one that is not whole.
"""

import re
from typing import Any

import orjson

# Why a value is not whole; `unknown_form`: it is none of the shapes that are known.
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
# Texts are long and placeholders are few: without one of these there is none.
_HINTS = ("truncated", "redacted", "***", "…", "[circular]", "[unserializable]", "trajectory-")
_WORDS = {"truncated": TRUNCATED, "redacted": REDACTED}


def find_placeholder(text: str) -> str:
    """Why a text is not whole: one of TRUNCATED and REDACTED; empty when it is."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return ""
    if word := _WORDS.get(lowered.strip()):
        return word
    if _TRUNCATED.search(text):
        return TRUNCATED
    return REDACTED if _REDACTED.search(text) else ""


def find_nested_placeholder(value: Any) -> str:
    """The same of a value of JSON, its names and whatever is nested in it; UNKNOWN_FORM when it cannot be told."""
    if isinstance(value, str):
        return find_placeholder(value)
    try:
        return find_placeholder(orjson.dumps(value).decode())
    except TypeError:  # half a surrogate pair, or nested too deeply
        return UNKNOWN_FORM
