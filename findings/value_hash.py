"""The keyed hash of a value, by which the same value is known without being stored."""

from django.utils.crypto import salted_hmac

from openclaw_web.normal_forms import to_nfkc

PURPOSE = "openclaw_web.findings.value"
HASH_CHARACTERS = 32  # 128 bits as hexadecimal digits


def compute_value_hash(kind: str, value: str) -> str:
    """Return the keyed hash of a value of a kind, 32 hexadecimal digits.

    Spellings of one value have one hash: width variants, and for telephone and card numbers blanks and punctuation.
    The key is the site's SECRET_KEY.
    """
    spelling = to_nfkc(value).strip()
    if kind in NUMBERED:
        spelling = "".join(character for character in spelling if character.isalnum() or character == "+").upper()
    elif kind == "email":
        spelling = spelling.casefold()
    data = f"{kind}\n{spelling}".encode(errors="surrogatepass")
    return salted_hmac(PURPOSE, data, algorithm="sha256").hexdigest()[:HASH_CHARACTERS]


def read_key_mark() -> str:
    """Return what tells one SECRET_KEY from another."""
    return compute_value_hash("", "")


NUMBERED = frozenset({"phone", "card", "iban", "id_number"})
