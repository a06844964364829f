"""Tells values that stand for a secret from secrets: placeholders, code, words, sentences."""

import math
import operator
import re
from itertools import pairwise

from .json_layers import BREAK, KEY_BREAK, LOST, MASK

# Whole values, lower case, without separators at their ends.
WORDS = frozenset(
    """
    null none nil undefined true false yes no on off empty unset required optional string str int integer number bool
    boolean bytes text any object array default value values here todo tbd n/a na unknown missing invalid wrong
    incorrect expired hidden masked redacted removed secret secrets password passwords passwd pass pwd passphrase
    token tokens apikey api_key api-key key keys credential credentials username user login admin-password changeme
    change_me change-me changeit placeholder dummy sample example test testing foo bar baz foobar public private basic
    bearer digest oauth oauth2 plain plaintext encrypted hashed env environ environment vault keychain prompt stdin
    file path self this type input output data name field label title form const let var function return async await
    secretstr optionalstr mypassword my_password my-password mysecret my_secret mytoken my_token my-token
    yourpassword the a an it and or not must should your my new old current same different confirm enter cleartext
    """.split()  # noqa: SIM905
)
PARTS = re.compile(
    r"(?i)your[-_ ]|<your|[-_ ]your\b|^your|example|placeholder|change[-_ ]?me|replace[-_ ]?(?:me|with|this)|"
    r"insert[-_ ]|redacted|dummy|\bfake|not[-_ ]?a[-_ ]?real|todo|process\.env|os\.environ|getenv|\benv[.(\[]|"
    r"secrets\.|\bvault\b|xxxx|\*\*\*|•••|\.\.\.|…|____|\bgoes[-_ ]here|[-_ ]here\b|\bfrom[-_ ]env|"
    r"0123456789abcdef|1234567890abcd|abcdefghij|_ENV_|OPENCLAW_REDACTED"
)
# A value within brackets, a variable of a shell or template, a call, a chain of attributes, a type.
CODE = re.compile(
    r"<[^<>]*>|\[[^\[\]]*\]|\(.*\)|\$\w+|\$[({].*|.*\$\{.*|.*\{\{.*|.*<%.*|%\w+%|%[sdr]|\{\w*\}|@\w+@|&\w+|"
    r"[A-Za-z_$][\w.$]*[\[(].*|.*\{[A-Za-z_][^{}]*\}.*|\(\?.*|\w+::\w+.*|.*%\(\w+\)[sdr].*|\).*|.*%[sdr]\b.*|"
    r"(?i:[a-z_-]*(?:password|passwd|pwd|secret|token)[_-]?\d?)",
    re.DOTALL,
)
# What only code begins with: a value like this is a secret where it stands in quotes.
OPERATOR = re.compile(
    r"(?:->|[=\[\](){}:,<]|\.\w|(?:null|undefined|true|false|nil|None|void)[;,)\]}]|"
    r"[\w$]+\|\||"
    r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+[\[(){};,?=+|&<>*/:]).*",
    re.DOTALL,
)
SENTENCE = re.compile(
    r"(?i)\b(?:must|least|characters?|enter|required?|is|are|the|an?|your|to|of|for|in|not|invalid|wrong|should|with|"
    r"and|or|please|forgot|reset|confirm|incorrect|this|that|from|will|be|has|have|if|when|use|used|new|via)\b"
)
ADDRESS = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*://|/[\w.-]+/?\Z|\.{0,2}/[\w.~-]+/|~/|[a-z]:[\\/]|\./).*")
# A chain of attributes, as code names values: unless a part of it looks random.
CHAIN = re.compile(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+(?=!?\Z)")
# First parts of such chains, and names of attributes and files at their ends.
CODE_NAMES = frozenset(
    """
    self this cls super os sys env process config conf cfg settings options opts args argv params props state data form
    request req response resp res body event ctx context app user users account auth creds credentials secrets vars var
    local locals module values input inputs output client server session db database connection conn model entity dto
    obj object item row record result payload query string str bytes util utils helper crypto hash bcrypt z joi yup
    schema field fields types type constants const window document math json yaml path file com org net io www api
    errors error validation messages labels login form
    """.split()  # noqa: SIM905
)
ATTRIBUTES = frozenset(
    """
    value values text name key get hash length data id string env encode decode strip trim required invalid label title
    json yaml yml txt conf cfg ini env sh py js ts pem crt log md html xml sql gz zip com org net io de
    """.split()  # noqa: SIM905
)
HUMP = re.compile(r"[a-z][A-Z]|_")
BASE64 = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?=.*\d)[A-Za-z0-9/+]{30,}={0,2}")  # may begin like a path
DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}:\d\d(?::\d\d)?")
RANGE = re.compile(r"\d{1,3}[-~–]\d{1,3}|(?i:\d+(?:\.\d+)?(?:k|m|ms|s|h|d|px|%|kb|mb|gb))")
NAME = re.compile(
    r"_{0,2}(?:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*|[A-Z_]+|[a-z]+(?:[-_.][a-z]+)*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)_{0,2}"
)
IDENTIFIER = re.compile(r"[a-z][a-z0-9]{0,14}(?:[-_][a-z0-9]{1,14})+")
ALGORITHM = re.compile(r"(?i)base(?:32|58|64)|sha\d|md5|utf_?\d|oauth2|x509|ed25519|v\d\Z|\d\Z(?<=[a-z]\d)")
RULE = re.compile(r"(?:required|nullable|string|sometimes|confirmed|min|max)[|:].*")
HANDLE = re.compile(r"(?i)sha(?:1|256|384|512)[:-].*|ocm_artifact:.*|agent:.*")
DIGIT_AND_LETTER = re.compile(r"(?=.*\d)(?=.*[A-Za-z]).{6,}")
MIXED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])(?=.*[A-Z!@#$%&*])")
UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_DIGIT = re.compile(r"[0-9]")
_SIGNS = frozenset([BREAK, KEY_BREAK, MASK, LOST])
NAMED = re.compile(r"(?i)pass|pwd|secret|token")
WORDY = re.compile(r"(?i)password|username|secret_?key")
# Of values that name a secret instead of being one.
REFERENCE = re.compile(
    r"(?i)(?:^|[-_./ ])(?:secrets?|credentials?|creds|tokens?|keys?|certs?|certificate|tls|config|ref|name|path|file|"
    r"id|arn|manager|ssm|vault|default|none|insecure|days?|hours?|minutes?)(?:\Z|[-_./ ])"
)
TURNS = 0.36  # of upper and lower case for each character: half in random letters, a quarter in joined words
LOWER_DIGITS = 0.15  # the least share of digits in random text without upper case
MIN_ENTROPY = 2.6  # bits for each character


def is_placeholder(value: str) -> bool:
    """Whether a value is empty, a variable, a call, a mask or words of an example."""
    bare = value.strip(" \t'\"`,;.:?!")
    if len(set(bare)) < 3 or not _SIGNS.isdisjoint(value):
        return True
    if bare.lower() in WORDS or PARTS.search(value):
        return True
    is_address = ADDRESS.fullmatch(value) and not BASE64.fullmatch(value)
    return bool(
        CODE.fullmatch(value) or RULE.fullmatch(value) or is_address or DATE.fullmatch(value) or HANDLE.fullmatch(value)
    )


def is_password(value: str, is_quoted: bool, is_literal: bool = False) -> bool:
    """Whether a value that is called a password can be one; words have to be quoted.

    `is_literal`: no code can stand there, as in an address or a command line.
    """
    if not 4 <= len(value) <= 128 or is_placeholder(value) or not _is_latin(value) or RANGE.fullmatch(value):
        return False
    if (chain := CHAIN.match(value)) and _is_code(chain[0], is_quoted, is_literal):
        return False
    if not is_quoted and OPERATOR.fullmatch(value):
        return False
    if " " in value:
        words = value.split()
        is_phrase = _has_digit(value) or (len(words) >= 4 and value.islower())
        return is_quoted and len(words) <= 6 and is_phrase and not SENTENCE.search(value)
    if NAME.fullmatch(value) and not (is_literal and "." in value):
        is_word = value.isalpha() and not value.istitle()
        return is_quoted and len(value) >= 6 and (is_word or value.count("-") >= 3) and not NAMED.search(value)
    return _has_digit(value) or is_quoted or not NAMED.search(value)


def is_strong(value: str) -> bool:
    """Whether a value looks random: of letters and digits, long, no words."""
    if not 12 <= len(value) <= 4096 or value.isdigit() or " " in value or is_placeholder(value) or not _is_latin(value):
        return False
    if OPERATOR.fullmatch(value) or (CHAIN.fullmatch(value) and not any(map(_is_random_part, value.split(".")))):
        return False
    digits = sum(map(str.isdigit, value))
    if NAME.fullmatch(value) or WORDY.search(value) or (IDENTIFIER.fullmatch(value) and digits < len(value) / 4):
        return False
    return (digits > 0 or _count_turns(value) >= TURNS * len(value)) and measure_entropy(value) >= MIN_ENTROPY


def is_worded_secret(value: str) -> bool:
    """Whether a secret that somebody thought up can be this: words and a number, or three words, with signs between."""
    if not 10 <= len(value) <= 128 or is_placeholder(value) or not _is_latin(value) or REFERENCE.search(value):
        return False
    if OPERATOR.fullmatch(value) or SENTENCE.search(value) or (CHAIN.fullmatch(value) and _is_code(value, False, True)):
        return False
    words = re.findall(r"[A-Za-z]{2,}", value)
    return bool(re.fullmatch(r"\w+(?:[-_. ]\w+)+", value)) and len(words) >= (2 if _has_digit(value) else 3)


def is_repetitive(body: str) -> bool:
    """Whether the body of a key is not random: x's, words, few different characters."""
    return (
        bool(PARTS.search(body)) or len(set(body)) < min(8, len(body) // 2) or not _has_digit(body + _case_mark(body))
    )


def measure_entropy(value: str) -> float:
    """The Shannon entropy of the characters of a value, in bits for each."""
    shares = [value.count(char) / len(value) for char in dict.fromkeys(value)]
    return -sum(map(operator.mul, shares, map(math.log2, shares)))


def _is_code(chain, is_quoted, is_literal):
    """Whether a chain of names with points between them is code: attributes, a file, a key of a translation."""
    parts = chain.replace("?", "").split(".")
    last = parts[-1]
    if any(map(_is_random_part, parts)) or (_has_digit(last) and not last.islower() and not last.isupper()):
        return False
    if parts[0].lower() in CODE_NAMES or last in ATTRIBUTES or NAMED.search(last):
        return True
    return not _has_digit(chain) and (
        bool(HUMP.search(chain)) or not (is_literal or (is_quoted and not chain.islower()))
    )


def _is_random_part(part):
    """Whether a part has digits and an upper case letter, or is long with both cases."""
    return _has_digit(part) and part.lower() != part and not part.isupper() and not ALGORITHM.search(part)


def _case_mark(body):
    """A digit where upper and lower case alternate, as they do in random texts without digits."""
    return "0" if _count_turns(body) >= 4 else ""


def _count_turns(value):
    """How often upper case follows lower case or the other way round."""
    cases = [char.isupper() for char in value if char.isalpha()]
    return sum(first != second for first, second in pairwise(cases))


def _has_digit(value):
    return _DIGIT.search(value) is not None


def _is_latin(value):
    return value.isascii() or sum(char <= "ÿ" for char in value) >= len(value) * 0.8
