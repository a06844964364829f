"""Suggestions for the forms of a correction and of a rule.

They come from what people, a rollback or a rule say by now, and from the rarer words of a fact.
"""

import re
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..models import Rollback, WriteGuardianAudit
from . import patterns, phrases, rule_trial, rules
from .correction_store import WriteState, find_by_write, get_corrected_state, get_original_state

Status = WriteGuardianAudit.Status
MOST_WORDS = 40  # of a fact that are counted
MOST_LINES = 3  # that are suggested
SECONDS = 0.3
COMMON = 5  # a word that every fifth fact has says little
SMALL_WORDS = """a an and are as at be but by for from has have in is it its of on or that the their them they this to
was were will with"""
SMALL = frozenset(SMALL_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_HAN = re.compile("[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The suggested state of a write, and the reason.

    It is how the write should have been, as far as somebody or something says so by now.
    """

    state: WriteState
    reason: str = ""


def suggest_correction(db: str, audit: WriteGuardianAudit) -> Suggestion:
    """Suggest the correction that stands, else the rollback, else the rule the write breaks.

    A rollback suggests that the fact is refused, with the rollback's reason.
    """
    if corrections := find_by_write(db, audit.id):
        return Suggestion(get_corrected_state(corrections[0]), corrections[0].correction_reason)
    original_state = get_original_state(db, audit)
    if audit.status == Status.ROLLED_BACK:
        reason = Rollback.objects.using(db).filter(audit_id=audit.id).values_list("reason", flat=True).first()
        return Suggestion(WriteState(Status.REFUSED.value, original_state.fact, original_state.file), reason or "")
    rule = rules.find_rules(db).filter(id=audit.rule_id).first() if audit.rule_id else None
    if rule is None:
        return Suggestion(original_state)
    ruling = rules.build_ruling(rule, fact=original_state.fact, target_file=original_state.file)
    return Suggestion(WriteState(ruling.status, ruling.fact, ruling.target_file), ruling.reason)


def suggest_rule(db: str, audit: WriteGuardianAudit) -> dict[str, Any]:
    """Suggest the fields of a rule.

    They are those of the rule that the write has, else the rarer words of its fact.
    """
    rule = next((row for row in find_by_write(db, audit.id) if row.apply_to_future and row.correction_pattern), None)
    if rule is None:
        return {"contains": phrases.format_lines(suggest_lines(db, audit.candidate_fact or ""))}
    lines = phrases.read_pattern(rule.correction_pattern or "")
    words = {"pattern": rule.correction_pattern} if lines is None else {"contains": phrases.format_lines(lines)}
    return words | {"name": rule.rule_name}


def suggest_lines(db: str, fact: str) -> phrases.Lines:
    """Suggest up to three lines for a rule about a fact, the rarest word first.

    There are no lines for a fact without a word.

    Rarity is counted over the newest facts of the agent. Words are added while the rule catches another fact than
    this one: the rarest words of all would catch nothing but the sentence itself.
    """
    words = words_of(fact)
    if not words:
        return ()
    places, compared = _count_words(db, words)
    by_rarity = sorted(words, key=lambda word: (len(places[word]), -len(word)))
    limit = max(2, compared // COMMON)
    shared = [word for word in by_rarity if 1 < len(places[word]) <= limit]
    if not shared:
        return tuple((word,) for word in by_rarity[: MOST_LINES - 1])
    lines, caught = [shared[0]], places[shared[0]]
    for word in shared[1:]:
        both = caught & places[word]
        if len(lines) < MOST_LINES and len(both) > 1 and not any(_overlaps(word, line) for line in lines):
            lines.append(word)
            caught = both
    return tuple((word,) for word in lines)


def words_of(fact: str) -> list[str]:
    """Return the words of a fact as pieces, in order.

    They are words without a plural's s, and pairs of Chinese characters.
    """
    text = phrases.fold(fact).lower()
    pieces: list[str] = []
    for word in _WORD.findall(text):
        runs = _HAN.findall(word)
        pieces += [run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))]
        if not runs and not word.isdigit() and word not in SMALL:
            pieces.append(_singular(word))
    usable = (piece for piece in pieces if len(piece) > 1 and len(piece) <= phrases.LONGEST_PIECE)
    return list(dict.fromkeys(usable))[:MOST_WORDS]


def _singular(word):
    is_plural = len(word) > 3 and word.isascii() and word.endswith("s") and not word.endswith("ss")
    return unicodedata.normalize("NFC", word[:-1] if is_plural else word)


def _overlaps(word, line):
    """Whether two pieces are one inside the other, or pairs of Chinese characters that share one."""
    return word in line or line in word or bool(_HAN.match(word) and set(word) & set(line))


def _count_words(db: str, words: Sequence[str]) -> tuple[dict[str, set[int]], int]:
    """Return in which of the newest facts each word is, and how many were compared.

    Facts are numbered from 0, the newest first.
    """
    places: dict[str, set[int]] = {word: set() for word in words}
    finders = [(word, phrases.compile_line((word,))) for word in words]
    ends, compared = time.monotonic() + SECONDS, 0
    for row in rule_trial.read_past_facts(db):
        if row is None or time.monotonic() > ends:
            break
        text = patterns.encode_fact(row.candidate_fact).folded
        for word, expression in finders:
            if expression.search(text) is not None:
                places[word].add(compared)
        compared += 1
    return places, compared
