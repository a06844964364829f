"""Decides by a name whether its value is a password, a secret or a key."""

import re
from functools import lru_cache

from .spans import KEY, PASSWORD, SECRET

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zñ]+|\d+|[一-鿿]+|[ぁ-ヿ]+")
# After the word itself a name may end with these; with any other it is about the secret: its number, place, limits.
ENDS = frozenset(
    """
    value confirm confirmation repeat again old new current live prod production dev test staging sandbox plain
    raw base root admin user hex base64 b64
    """.split()  # noqa: SIM905
)
# Tokens of these are units of text or places in a list.
COUNTED = frozenset(
    """
    max min num total n input output prompt completion reasoning cached cache read write remaining pad eos bos unk sep
    mask cls next prev previous page cursor continuation sync special stop end start per last first unexpected context
    estimated used image audio text by other fresh thinking csrf xsrf cancellation public
    """.split()  # noqa: SIM905
)
# A pass with one of these is a round or a filter.
ROUNDS = frozenset(
    """
    first second third two multi single last next band low high by com
    """.split()  # noqa: SIM905
)
_PASSWORD = re.compile(
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|pass|^pw|kennwort|contraseña|contrasena|passe|pin|^puk|^psk|提取码|"
    r"密码|密碼|(?<!动态)口令|"
    r"暗号|パスワード)\Z"
)
_SECRET = re.compile(r"(?:secret|token|key|credentials?|auth|authorization|密钥|密鑰|秘钥|令牌|凭证)\Z")
# Keys of these find a row or an object.
DATA_KEYS = frozenset(
    """
    public publishable cache primary partition sort foreign idempotency session lookup dedupe dedup object row group
    index unique composite shard
    """.split()  # noqa: SIM905
)
_PLURAL = re.compile(r"(?:tokens|secrets|passwords|keys|credentials)\Z")
_CLOUD = re.compile(r"AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12}|AKID[A-Za-z0-9]{13}")
_PAIR = re.compile(r"secretaccesskey|accesskeysecret|secretkey|accountkey|sharedaccesskey")
_LEAD = re.compile(r"(?:[A-Za-z]{2,12}[ _-])?[A-Za-z]{2,12}[ \t]\Z")  # words of a name with blanks
_NEAR = 240  # characters around a secret in which its other half is looked for


def find_kind(name: str, text: str, place: int) -> str | None:
    """The kind of the value that a name at a place of a text has.

    It is PASSWORD, SECRET, KEY for half of a pair of keys of a cloud, or None.
    """
    kind = _classify(name)
    return KEY if kind == SECRET and _is_cloud_pair(name, text, place) else kind


@lru_cache(maxsize=10_000)  # texts repeat their names
def _classify(name):
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in ENDS or words[-1].isdigit()):
        words.pop()
    if not words or (_PLURAL.search(words[-1]) and words[-1] != "credentials"):
        return None
    if _PASSWORD.search(words[-1]):
        is_other = words[-1] == "pass" and not ROUNDS.isdisjoint(words)
        return None if is_other else PASSWORD
    if not _SECRET.search(words[-1]) or (words[-1] == "token" and not COUNTED.isdisjoint(words[:-1])):
        return None
    return None if words[-1] == "key" and not DATA_KEYS.isdisjoint(words) else SECRET


def _is_cloud_pair(name, text, place):
    lead = _LEAD.search(text, max(0, place - 26), place)
    joined = "".join(_WORD.findall((lead[0] if lead else "") + name)).lower()
    if not _PAIR.search(joined):
        return False
    is_named = any(word in joined for word in ("aws", "aliyun", "alibaba", "tencent", "secretaccesskey", "accountkey"))
    return is_named or "accesskeysecret" in joined or bool(_CLOUD.search(text, max(0, place - _NEAR), place + _NEAR))
