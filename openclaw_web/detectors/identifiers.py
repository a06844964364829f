"""Finds payment cards, IBANs and resident ids by checksum, other ids by words near by."""

import datetime
import re
from collections.abc import Iterator

from .scan_text import ScanText, compile_pattern, finder
from .spans import CARD, IBAN, ID_NUMBER, Span

_CARD = compile_pattern(
    r"\b(?:[2-6]\d{3}(?:[ -]\d{4}){3}(?:[ -]?\d{1,3})?|3[47]\d{2}[ -]\d{6}[ -]\d{5}|3[0689]\d{2}[ -]\d{6}[ -]\d{4}|"
    r"62\d{4} \d{10,13}|[2-6]\d{12,18})\b"
)
_CARD_WORD = compile_pattern(
    r"(?i)card|visa|master|amex|maestro|diners|discover|unionpay|\bpan\b|credit|debit|payment|charge|"
    r"银行卡|信用卡|卡号|储蓄卡|借记卡|银联"
)
_ORDER_WORD = re.compile(
    r"(?i)(?:order|tracking|ticket|invoice|serial|batch|transaction|trace|ref(?:erence)?|isbn|imei|sku|seq|"
    r"offset|timestamp|snowflake|rng|seed|"
    r"(?:message|channel|guild|user|chat|tweet|status|post|video)[ _]?id|"
    r"订单|运单|快递|单号|流水|批次|编号|合同|发票|序列)[号\w]{0,4}[\s\"':：=#(]{0,4}\Z"
)
_UNIT = re.compile(r"(?i)[ \t]?(?:bytes?|ns|µs|us|ms|rows|records|tokens|requests|字节|行|条|次)\b")
_IBAN = compile_pattern(r"(?i)\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}\b|(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,3})?\b)")
_ACCOUNT = re.compile(r"(?i)iban|konto|account|compte|cuenta|账户|账号|银行")
_LENGTHS = """
    AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BI:27 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DJ:27
    DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FK:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 HU:28 IE:22
    IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19
    MN:20 MR:27 MT:31 MU:30 NI:28 NL:18 NO:15 OM:23 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 RU:33 SA:24 SC:31
    SD:18 SE:24 SI:19 SK:24 SM:27 SO:23 ST:25 SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20 YE:30
"""
IBAN_LENGTHS = {entry[:2]: int(entry[3:]) for entry in _LENGTHS.split()}
_RESIDENT = compile_pattern(r"\b[1-9]\d{5}[ -]?(?:18|19|20)\d{2}[ -]?[01]\d[ -]?[0-3]\d[ -]?\d{3}[\dXx]")
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_NATIONAL = compile_pattern(
    r"\b(?:\d{3}[- ]\d{2}[- ]\d{4}\b|\d{9}\b|(?:\d{3}[ -]){2}\d{3,4}\b|\d{3}\.\d{3}\.\d{3}-\d\d\b|\d{10,13}\b|"
    r"\d{4} \d{4} \d{4}\b|\d\d \d{3} \d{3} \d{3}\b|"
    r"\d{6}[- ]?\d{7}\b|\d{6}[-+]\d{3}[0-9A-Z]\b|[12] ?\d{2} ?[01]\d ?\d[0-9AB] ?\d{3} ?\d{3}(?: ?\d{2})?\b|"
    r"[STFGM]\d{7}[A-Z]\b|"
    r"[A-Z]{5}\d{4}[A-Z]\b|[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d\b|[CFGHJKLMNPRTVWXYZ0-9]{9}\b|[1-9]\d{14}\b|"
    r"[A-Z]\d{9}\b|[A-Z]{1,2}\d{6}[(（][0-9A][)）]|[A-Z]{1,2}\d{6,8}[A-D]?\b|"
    r"[A-Z]{2}(?: ?\d{2}){3} ?[A-D]\b|\d{8}-?[A-Z]\b|[XYZ]\d{7}[A-Z]\b|[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]\b)"
)
_SSN_WORD = compile_pattern(
    r"(?i)ssn\b|social(?:[ _-]?security|[ ]?(?:number|no\b|#|:))|\bsin\b|tax[ _-]?(?:payer)?[ _-]?id|\bitin\b|"
    r"社会安全号|社保号"
)
_PASSPORT_WORD = compile_pattern(
    r"(?i)passport|reisepass|personalausweis|ausweisnummer|passeport|pasaporte|护照|通行证"
)
_ID_WORD = compile_pattern(
    r"(?i)身份证|身分證|证件号|id ?card|identity|national (?:id|insurance)|\bnino\b|\bni (?:number|no)|"
    r"\bdni\b|\bnie\b|codice fiscale|hkid|统一证号|\bnhs\b|\bsin\b|social insurance|aadhaar|aadhar|\bcpf\b|"
    r"\bcurp\b|\bpan (?:card|no|number)|"
    r"\bnric\b|\bfin\b|\bpesel\b|\bbsn\b|burgerservice|personnummer|steuer-?id|\bidnr|tax file number|\btfn\b|"
    r"my ?number|マイナンバー|"
    r"주민등록|\brrn\b|\binsee\b|sécurité sociale|driver'?s? licen[cs]e|\bdl (?:no|number)|führerschein|驾驶证|"
    r"港澳通行证|medicare"
)
_PASSPORT = re.compile(r"[A-Z]{1,2}\d{6,8}|\d{9}|(?=.*\d)[CFGHJKLMNPRTVWXYZ][CFGHJKLMNPRTVWXYZ0-9]{8}")
_BARE_ID = re.compile(
    r"(?i)(?:nhs|sin|insurance|aadhaa?r|cpf|pesel|bsn|steuer-?id|idnr|tax file number|tfn|my ?number|"
    r"マイナンバー|주민등록번호|"
    r"licen[cs]e|medicare)(?:[ _-]?(?:nummer|number|nr|no|num|id))?\.?[\s\"':：=#(]{0,4}(?:is|ist|は|"
    r":)?[\s\"']{0,2}\Z"
)
_JOINED_BEFORE = re.compile(r"[A-Za-z0-9_]\Z|[A-Za-z0-9]-\Z|\.\Z")
_JOINED_AFTER = re.compile(r"[A-Za-z0-9_]|[-.][A-Za-z0-9]")
# Numbers that processors of payments publish for tests, of more than four different digits.
TEST_CARDS = frozenset(
    """
    4000002500003155 4000000000000127 4000008260003178 4012888888881881 4012000033330026 4012000077777777
    4005519200000004 4009348888881881 4917610000000000 4988438843884305 4217651111111119 4500600000000061
    5200828282828210 5424000000000015 2223000048400011 5555341244441115 2222400070000005 378282246310005
    371449635398431 378734493671000 6011000990139424 3056930009020004 36227206271667 30569309025904 38520000023237
    3566002020360505 6200000000000047 6205500000000000004
    """.split()  # noqa: SIM905
)
_NEAR = 48  # characters before a number in which words are looked for


@finder(_CARD)
def find_cards(text: ScanText) -> Iterator[Span]:
    """Yield numbers of payment cards: a known beginning, its length, and Luhn's digit."""
    for start, end in text.find(_CARD, steps=24):
        for stop in _possible_ends(text.text, start, end):
            digits = re.sub(r"\D", "", text.text[start:stop])
            if _is_card(digits) and _stands_alone(text.text, start, stop):
                if _is_card_place(text, start, digits) and not _UNIT.match(text.text, stop):
                    yield Span(start, stop, CARD, "card")
                break


def _possible_ends(text, start, end):
    yield end
    groups = text[start:end].replace("-", " ").split(" ")
    if len(groups) > 4:
        yield start + len(" ".join(groups[:4]))


def _is_card(digits):
    length = len(digits)
    if digits[:2] in ("34", "37"):
        is_known = length == 15
    elif digits[:2] in ("30", "36", "38", "39"):
        is_known = length == 14
    elif digits[:2] in ("62", "81"):
        is_known = 16 <= length <= 19
    elif digits[0] == "4":
        is_known = length in (13, 16, 19)
    elif 51 <= int(digits[:2]) <= 55 or 2200 <= int(digits[:4]) <= 2204 or 2221 <= int(digits[:4]) <= 2720:
        is_known = length == 16
    else:
        is_known = digits[:2] in ("60", "64", "65", "50", "56", "57", "58", "63", "67", "35") and length == 16
    return is_known and len(set(digits)) > 4 and digits not in TEST_CARDS and has_luhn_digit(digits)


def has_luhn_digit(digits: str) -> bool:
    """Whether the last digit is Luhn's for the others."""
    total = sum(int(digit) for digit in digits[-1::-2])
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0


def _is_card_place(text, start, digits):
    if text.has_near(_CARD_WORD, start - _NEAR, start):
        return True
    return (
        len(digits) in (15, 16, 19)
        and not text.ends_with(_ORDER_WORD, start, _NEAR)
        and (len(digits) != 19 or digits.startswith("62"))
    )


@finder(_IBAN)
def find_ibans(text: ScanText) -> Iterator[Span]:
    """Yield IBANs: the length of their country and a remainder of 1 by 97."""
    for start, end in text.find(_IBAN):
        if end := _find_iban_end(text.text, start, end):
            yield Span(start, end, IBAN, "iban")


def _find_iban_end(text, start, end):
    length = IBAN_LENGTHS.get(text[start : start + 2].upper(), 0)
    if not text[start : start + 2].isupper() and not _ACCOUNT.search(text, max(0, start - _NEAR), start):
        return None  # small letters: hashes begin like this
    compact = ""
    for place in range(start, end):
        if text[place] not in " -":
            compact += text[place]
        if len(compact) == length:
            is_alone = _stands_alone(text, start, place + 1)
            return place + 1 if is_alone and is_iban(compact) else None
    return None


def is_iban(compact: str) -> bool:
    """Whether an IBAN without blanks has the remainder that it must have."""
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


@finder(_RESIDENT, _NATIONAL)
def find_id_numbers(text: ScanText) -> Iterator[Span]:
    """Yield resident ids of China, and ids of other countries that a word names."""
    for start, end in text.find(_RESIDENT, steps=24):
        compact = re.sub(r"[ -]", "", text.text[start:end])
        if is_resident_id(compact) and _stands_alone(text.text, start, end):
            yield Span(start, end, ID_NUMBER, "resident-id")
    if not any(text.has_near(words, 0, len(text.text)) for words in (_SSN_WORD, _PASSPORT_WORD, _ID_WORD)):
        return  # most numbers are no candidates
    for start, end in text.find(_NATIONAL):
        if rule := _name_national(text, start, end):
            yield Span(start, end, ID_NUMBER, rule, 0.8)


def is_resident_id(number: str) -> bool:
    """Whether 18 characters have a past date and the check character of GB 11643."""
    try:
        born = datetime.date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number, strict=False))
    return (
        datetime.date(1880, 1, 1) <= born <= datetime.date.today() and "10X98765432"[total % 11] == number[17].upper()
    )


def _name_national(text, start, end):
    if not _stands_alone(text.text, start, end):
        return None
    number, near = text.text[start:end], (start - _NEAR, start)
    if re.fullmatch(r"\d{3}([- ])\d{2}\1\d{4}|\d{9}", number) and text.has_near(_SSN_WORD, *near):
        is_given = number[:3] not in ("000", "666") and number[-4:] != "0000"
        return "social-security" if is_given else None
    if text.has_near(_PASSPORT_WORD, *near) and _PASSPORT.fullmatch(number):
        return "passport"
    if not text.has_near(_ID_WORD, *near):
        return None
    if len(number) == 15 and number.isdigit():
        is_date = 1 <= int(number[8:10]) <= 12 and 1 <= int(number[10:12]) <= 31
        return "resident-id-15" if is_date else None
    if number.isdigit():
        is_named = _BARE_ID.search(text.text, max(0, start - _NEAR), start)
        return "national-id" if len(number) in (9, 10, 11, 12, 13) and is_named else None
    return "national-id"


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter, digit or further group of a number, version or UUID touches it."""
    return not _JOINED_BEFORE.search(text, max(0, start - 2), start) and not _JOINED_AFTER.match(text, end, end + 2)
