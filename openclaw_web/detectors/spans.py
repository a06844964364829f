"""A place of personal data or a secret in a text, and their kinds."""

from typing import NamedTuple

KEY, PASSWORD, JWT, PRIVATE_KEY, SECRET = "key", "password", "jwt", "private_key", "secret"
EMAIL, PHONE, CARD, IBAN, ID_NUMBER, IP_ADDRESS = "email", "phone", "card", "iban", "id_number", "ip_address"
CUSTOM = "custom"  # found by a pattern that an operator added
NOT_FULLY_SCANNED = "not_fully_scanned"  # a whole text whose search would take too long for its length
KINDS = (
    KEY,
    PASSWORD,
    JWT,
    PRIVATE_KEY,
    SECRET,
    EMAIL,
    PHONE,
    CARD,
    IBAN,
    ID_NUMBER,
    IP_ADDRESS,
    CUSTOM,
    NOT_FULLY_SCANNED,
)
# Open findings of these kinds keep a row out of exports; all others are redacted at once.
BLOCKING = frozenset({KEY, PASSWORD})
RULES = 5  # the version of the rules: texts are scanned again when it changes


class Span(NamedTuple):
    """Characters `start` to `end` of a text, of one of KINDS, as one rule found them.

    `confidence`: 0 to 1. `is_bare`: a number of JSON outside of strings; its replacement has to be a string, between
    `quote` on both sides: a quotation mark, with the backslashes that its depth of JSON in JSON needs.
    """

    start: int
    end: int
    kind: str
    rule: str
    confidence: float = 1.0
    is_bare: bool = False
    quote: str = ""
