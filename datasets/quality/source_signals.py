"""Signals about what a reply claims: numbers and paths that are in none of its sources."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations, islice, permutations
from typing import NamedTuple

from .signal import NO, UNKNOWN, Answer, build_yes
from .turn_texts import TurnTexts

DIGIT = re.compile(r"\d")
SOURCE_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?", re.ASCII)  # begins with one class, by which the search skips
SCALED_NUMBER = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)(?:\s?(万|亿|千|百|[kKmM]|bn|thousand|million|billion)(?![A-Za-z]))?", re.ASCII
)
# Code, addresses, paths, versions, names with digits, and the numbers of lists: none of them is a claim.
NO_CLAIM = re.compile(
    r"```.*?(?:```|\Z)|https?://\S+|[\w.-]{0,60}/[\w.-]{0,60}[A-Za-z][\w./-]{0,200}|\d{1,9}(?:\.\d{1,9}){2,}|#\d+|"
    r"\b[vV]\d[\d.]*|^[ \t]*(?:[-*#>|]+[ \t]*)?\d{1,3}[.)、．]\s|\[\d{1,2}\]|"
    r"(?<![A-Za-z_])[A-Za-z_]{1,40}[-_]?\d[\w-]*|\b\d[a-z\d]{0,40}[a-z]\d\w*|\b[\w-]{1,60}\.[a-z]{2,4}\b",
    re.DOTALL | re.MULTILINE | re.ASCII,
)
UNITS = {
    **dict.fromkeys(("千", "k", "thousand"), 1e3),
    "百": 1e2,
    "万": 1e4,
    "亿": 1e8,
    **dict.fromkeys(("m", "million"), 1e6),
    **dict.fromkeys(("bn", "billion"), 1e9),
}
CLAIM = re.compile(
    r"(?<![A-Za-z_#\\\d])(\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d{1,18}(?:\.\d{1,18})?)\s?(%|％|[KMGT]i?B\b|(?:thousand|"
    r"million|billion|bn|[km])(?![A-Za-z])|万|亿|千|百)?(?!\w{0,20}\d)",
    re.IGNORECASE | re.ASCII,
)
HEDGE = re.compile(
    r"(?i)(?:about|around|approx\w*|roughly|nearly|almost|over|more than|less than|under|~|≈|约|大约|近|超过|不到|"
    r"左右)\s*\W?$"
)
MONEY = "$€£¥￥"
SMALL = 12  # counts up to this need no source
EVERYDAY = frozenset({24.0, 60.0, 100.0, 365.0})
# Words after a number, and what numbers of sources are divided by, or multiplied with, to be in that unit.
CONVERTED = (
    (re.compile(r"\s?[KMGT]i?B?\b", re.IGNORECASE), (1e3, 1024, 1e6, 1024**2, 1e9, 1024**3)),
    (
        re.compile(
            r"(?i)\s?(?:ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|h|days?|weeks?|months?|years?)\b|[秒分天周月年]|小时"
        ),
        (1e3, 60, 3600, 86400, 6e4, 3.6e6, 24, 7, 12),
    ),
    (
        re.compile(
            r"(?i)\s?(?:km|miles?|lbs?|pounds?|kg|cm|inch(?:es)?|feet|ft|oz|ounces?|lit(?:er|re)s?)\b|[公英]里|[斤磅]"
        ),
        (1.60934, 0.453592, 2.54, 0.3048, 28.3495, 3.78541, 2, 1000),
    ),
)
MOST_CLAIMS, MOST_OWN, MOST_NUMBERS = 60, 300, 5_000
MOST_PAIRED, MOST_SUMMED, MOST_PERCENTS = 12, 60, 8
LINE_NUMBERS = 8  # columns of numbers that are added up
KEY_NUMBER = re.compile(r"\"([\w.-]{1,40})\"\s*:\s*\"?(-?\d+(?:\.\d+)?)")
PERCENT = re.compile(r"(?<![\d,])(\d[\d,]{0,20}(?:\.\d{1,9})?)\s?[%％]")
DEGREES = re.compile(r"(?i)°|celsius|fahrenheit|degrees|度")
TIME = re.compile(r"\b\d{1,2}:(\d\d)\b(?!:)")


def find_number_without_source(texts: TurnTexts) -> Answer:
    """A number that is in no source and is no sum, difference, share, count, conversion or rounding of some."""
    if not DIGIT.search(texts.reply):
        return NO
    sources = texts.list_sources()
    if len(sources) < 2 and not DIGIT.search(texts.question):
        return UNKNOWN
    claims = list(_read_claims(texts))
    if not claims:
        return NO
    today = datetime.fromtimestamp(texts.at / 1000, UTC)
    dates = {today.year - 1.0, today.year, today.year + 1.0, today.day - 1.0, today.day, today.day + 1.0}
    numbers, missing = EVERYDAY | dates, claims
    for turn in (texts, *reversed(texts.earlier)):  # most claims have their source in the turn itself
        numbers |= _read_turn_numbers(turn)
        missing = [claim for claim in missing if claim.value not in numbers]
        if not missing:
            return NO
    own = [_parse(digits) for source in sources for digits in SOURCE_NUMBER.findall(source)][:MOST_OWN]
    pool, shares = sorted(numbers | _derive(sources, own, texts)), _compute_shares(own)
    if all(_is_in(claim, pool) or _is_converted(claim, own) or _is_share(claim, shares) for claim in missing):
        return NO
    # Without results the number may be of the prompt, which has files that are not read here.
    return UNKNOWN if len(sources) < 2 or _has_gaps(texts) else build_yes(texts)


class Claim(NamedTuple):
    """A number of a reply with half of its last digit, the factors of its unit, and whether it is a percentage."""

    value: float
    step: float
    factors: tuple[float, ...]
    is_share: bool


def _read_claims(texts) -> Iterator[Claim]:
    minute = texts.at // 60_000 % 60
    text = TIME.sub(lambda match: " " if _is_near(int(match[1]), minute) else match[0], NO_CLAIM.sub(" ", texts.reply))
    for match in islice(CLAIM.finditer(text), MOST_CLAIMS):
        digits, unit = match[1].replace(",", ""), (match[2] or "").lower()
        value, before = float(digits), text[max(0, match.start() - 14) : match.start()]
        is_money = before.rstrip()[-1:] in MONEY
        if value.is_integer() and value <= SMALL and not unit and not is_money:
            continue
        step = 0.5 * 10.0 ** -len(digits.partition(".")[2])
        zeros = len(digits) - len(digits.rstrip("0")) if "." not in digits else 0
        if zeros and (HEDGE.search(before) or len(digits) - zeros >= 2):
            step = 0.5 * 10.0**zeros
        factor = UNITS.get(unit, 1)
        after = text[match.end(1) : match.end() + 12]
        factors = next((factors for pattern, factors in CONVERTED if pattern.search(after)), (100,) if is_money else ())
        yield Claim(value * factor, step * factor, factors, unit in ("%", "％"))


def _is_near(minute, other):
    """Whether two minutes of an hour, of any time zone, are ten apart at most: the time at which the agent spoke."""
    return min((minute - other) % 60, (other - minute) % 60) <= 10


def _read_turn_numbers(turn):
    if turn.numbers is None:
        turn.numbers = frozenset().union(*(_read_numbers(text) for text in turn.list_sources()))
        if len(turn.numbers) > MOST_NUMBERS:
            turn.numbers, turn.is_partial = frozenset(), True
    return turn.numbers


def _read_numbers(text: str) -> set[float]:
    if not DIGIT.search(text):
        return set()
    numbers = set()
    for digits, unit in SCALED_NUMBER.findall(text):
        if unit:
            numbers.add(_parse(digits) * UNITS[unit.lower()])
        if "," in digits:  # thousands, or a list without blanks
            numbers.update(float(part) for part in digits.split(",") if part)
        numbers.add(_parse(digits))
    return numbers


def _is_in(claim: Claim, ordered: Sequence[float]) -> bool:
    """Whether a claim rounds one of these numbers, which are in order."""
    targets = [(claim.value, claim.step)]
    if claim.is_share:
        targets += [(claim.value / 100, claim.step / 100), (100 - claim.value, claim.step)]
    elif claim.value.is_integer() and claim.value < SMALL + 12:
        targets.append((claim.value + 12, 0))  # 3:45 pm
    return any(_has_near(ordered, target, step) for target, step in targets)


def _is_share(claim: Claim, shares: Sequence[float]) -> bool:
    """Whether a claim is one of these quotients or changes, which are in order."""
    if claim.is_share:
        return _has_near(shares, claim.value / 100, claim.step / 100)
    return not claim.value.is_integer() and _has_near(shares, claim.value, claim.step)


def _has_near(ordered, target, step):
    margin = step * 1.0001 + 1e-9
    place = bisect_left(ordered, target - margin)
    return place < len(ordered) and ordered[place] <= target + margin


def _is_converted(claim: Claim, numbers: Iterable[float]) -> bool:
    """Whether a claim is one of these numbers in another unit."""
    return any(
        abs(number / factor - claim.value) <= claim.step * 1.0001
        or abs(number * factor - claim.value) <= claim.step * 1.0001
        for factor in claim.factors
        for number in numbers
        if number
    )


def _derive(sources, own, texts) -> set[float]:
    """Sums, differences and products of pairs, sums and means of columns and neighbours, and counts."""
    derived: set[float] = {len(texts.calls)}
    groups: list[list[float]] = []
    for source in sources:
        lines = source.splitlines()
        columns: dict[object, list[float]] = {}
        derived |= {len(lines), len(lines) - 1, source.count("{"), source.count(",") + 1}
        for line in lines[:1_000]:
            for place, number in enumerate(SOURCE_NUMBER.findall(line)[:LINE_NUMBERS]):
                columns.setdefault(place, []).append(_parse(number))
        for key, number in KEY_NUMBER.findall(source):
            columns.setdefault(key, []).append(float(number))
        groups += columns.values()
    groups.append(own[:MOST_SUMMED])
    for group in groups:
        total = sum(group)
        derived |= {total, total / len(group)} if group else set()
        if len(group) <= MOST_PAIRED * 2:
            for start in range(len(group)):
                total = group[start]
                for number in group[start + 1 :]:
                    total += number
                    derived.add(total)
    distinct = list(dict.fromkeys(own))
    if DEGREES.search(texts.reply):
        derived |= {part for number in distinct for part in ((number - 32) / 1.8, number * 1.8 + 32)}
    percents = {_parse(digits) for source in sources for digits in PERCENT.findall(source)}
    for percent in sorted(percents)[:MOST_PERCENTS]:
        for number in [*distinct[:MOST_PAIRED], *list(derived)[:MOST_SUMMED]]:
            derived |= {number * percent / 100, number * (1 + percent / 100), number * (1 - percent / 100)}
    if len(distinct) <= MOST_PAIRED:
        for first, second in combinations(distinct, 2):
            derived |= {first + second, abs(first - second), first * second}
    return derived


def _parse(digits):
    return float(digits.replace(",", ""))


def _compute_shares(own: list[float]) -> list[float]:
    """Quotients of two numbers of the sources, and changes from one to the other, in order."""
    distinct = set(own)
    if len(distinct) > 2 * MOST_PAIRED:
        return []
    quotients = [first / second for first, second in permutations(distinct, 2) if second]
    return sorted(part for quotient in quotients for part in (quotient, abs(1 - quotient)))


FILE_NAME = re.compile(
    r"(?<![\w@/.~\\+-])(?:(?:~|\.{1,2})?/|[A-Za-z]:\\)?(?:[\w@.+-]+[/\\])*[\w@+-][\w@.+-]*\.(?:md|txt|py|js|ts|tsx|"
    r"jsx|json|jsonl|ya?ml|toml|ini|cfg|conf|csv|tsv|xlsx?|docx?|pptx?|pdf|sh|bash|zsh|sql|sqlite|db|log|html?|css|"
    r"scss|xml|java|kt|go|rs|c|cc|cpp|h|hpp|rb|php|swift|ipynb|dmp|m4a|od[pst]|exe|heic|iso|gguf|png|jpe?g|gif|svg|"
    r"webp|mp[34]|wav|mov|zip|tar|gz|tgz|bak|lock|env|plist|service|parquet|pem|key|ics)\b(?![\w/@(]|\.\w)|"
    r"(?<![\w@/.~:\\<-])(?:~|\.{1,2})?/(?:[\w@.+-]+/)+[\w@.+-]*[\w@+-]",
    re.ASCII,
)
QUOTED_NAME = re.compile(r"[`“「《]([^`”」》\s]{1,200}\.[A-Za-z][A-Za-z0-9]{1,6})[`”」》]")
URL = re.compile(r"\b[a-z][a-z0-9+]{1,9}://\S+")
# Files of OpenClaw's own workspace, which its prompts name.
OWN_FILES = frozenset(
    {"agents.md", "memory.md", "user.md", "soul.md", "identity.md", "tools.md", "heartbeat.md", "bootstrap.md"}
)
DAILY = re.compile(r"(?:.*/)?memory/\d{4}-\d\d-\d\d\.md")
MOST_PATHS = 20


def find_path_without_source(texts: TurnTexts) -> Answer:
    """A file or path that neither the messages and results name, nor the calls of the agent."""
    if "." not in texts.reply and "/" not in texts.reply:
        return NO
    plain = URL.sub(" ", texts.reply)
    matches = [*FILE_NAME.finditer(plain), *QUOTED_NAME.finditer(plain)]
    paths = [match[match.lastindex or 0] for match in matches[:MOST_PATHS]]
    paths = [path for path in paths if path.rpartition("/")[2].lower() not in OWN_FILES and not DAILY.fullmatch(path)]
    if not paths:
        return NO
    if not texts.calls and not FILE_NAME.search(texts.question):
        return UNKNOWN
    text = "\n".join(_list_named([texts, *texts.earlier])).casefold()
    if all(_is_named(path.casefold(), text) for path in paths):
        return NO
    return UNKNOWN if _has_gaps(texts) else build_yes(texts)


def _has_gaps(texts):
    """Whether a source was not read, or not completely."""
    return any(turn.is_partial or turn.is_closed for turn in (texts, *texts.earlier))


def _list_named(turns):
    for number, turn in enumerate(turns):
        yield from turn.list_sources()
        yield from (str(value) for call in turn.calls for value in call.arguments.values())
        if number:
            yield turn.reply


def _is_named(path, text):
    """Whether a path is in a text, or its folder and its name are, each by itself."""
    path = path.replace("\\", "/").removeprefix("./").rstrip("/")
    if path in text:
        return True
    folder, _slash, name = path.rpartition("/")
    if not folder:
        return False
    parts = path.removeprefix("~").strip("/").split("/")
    is_below = len(parts) > 2 and parts[0] in text and "/".join(parts[-2:]) in text
    is_there = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None
    return is_below or (folder.removeprefix("~") in text and is_there)
