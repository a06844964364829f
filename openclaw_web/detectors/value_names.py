"""Decides by a name whether its value is a password, a secret or a key."""

import re
from functools import lru_cache

from .rules import LONG_VENDORS, VENDORS
from .spans import KEY, PASSWORD, SECRET

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zñüéè]+|\d+|[一-鿿]+|[ぁ-ヿ]+|[а-я]+|[가-힣]+")
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
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|pass|^pw|kennwort|contraseña|contrasena|passe|clave|zugangscode|senha|"
    r"wachtwoord|пароль|비밀번호|pin|^puk|^psk|提取码|"
    r"密码|密碼|(?<!动态)口令|"
    r"暗号|パスワード)\Z"
)
_SECRET = re.compile(r"(?:secret|token|key|credentials?|auth|authorization|schlüssel|clé|密钥|密鑰|秘钥|令牌|凭证)\Z")
# Keys of these find a row or an object.
DATA_KEYS = frozenset(
    """
    public publishable cache primary partition sort foreign idempotency session lookup dedupe dedup object row group
    index unique composite shard
    """.split()  # noqa: SIM905
)
_PLURAL = re.compile(r"(?:tokens|secrets|passwords|keys|credentials)\Z")
_CLOUD = re.compile(r"AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12}|AKID[A-Za-z0-9]{13}")
_VENDOR = re.compile("|".join(sorted(LONG_VENDORS)))
_NEAR = 48  # characters before a name in which a service is looked for


def find_kind(name: str, text: str, place: int) -> str | None:
    """The kind of the value that a name at a place of a text has.

    It is PASSWORD, SECRET, KEY for the key of a service that the name or one of the few words before it names, or None.
    """
    kind = _classify(name)
    if kind != SECRET:
        return kind
    words = _WORD.findall(text[max(0, place - _NEAR) : place])[-4:] + _WORD.findall(name)
    joined = "".join(words).lower()
    is_pair = "secretkey" in joined and _CLOUD.search(text, max(0, place - 5 * _NEAR), place + 5 * _NEAR)
    return KEY if is_pair or not VENDORS.isdisjoint(map(str.lower, words)) or _VENDOR.search(joined) else SECRET


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
