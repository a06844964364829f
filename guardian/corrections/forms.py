"""Forms of corrections and rules."""

import re
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states

from ..files import LONGEST_FACT, MEMORY_FILES
from ..models import Rollback, WriteGuardianAudit
from . import patterns, rule_trial, rules
from .correction_store import STATUSES, WriteState, find_by_write, get_corrected_state, get_original_state

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
        return {"contains": patterns.format_lines(suggest_lines(db, audit.candidate_fact or ""))}
    lines = patterns.read_pattern(rule.correction_pattern or "")
    words = {"pattern": rule.correction_pattern} if lines is None else {"contains": patterns.format_lines(lines)}
    return words | {"name": rule.rule_name}


def suggest_lines(db: str, fact: str) -> patterns.Lines:
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
        if (
            len(lines) < MOST_LINES
            and len(both) > 1
            and not any(
                (word in line or line in word or bool(_HAN.match(word) and set(word) & set(line))) for line in lines
            )
        ):
            lines.append(word)
            caught = both
    return tuple((word,) for word in lines)


def words_of(fact: str) -> list[str]:
    """Return the words of a fact as pieces, in order.

    They are words without a plural's s, and pairs of Chinese characters.
    """
    text = patterns.fold(fact).lower()
    pieces: list[str] = []
    for word in _WORD.findall(text):
        runs = _HAN.findall(word)
        pieces += [run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))]
        if not runs and not word.isdigit() and word not in SMALL:
            is_plural = len(word) > 3 and word.isascii() and word.endswith("s") and not word.endswith("ss")
            pieces.append(unicodedata.normalize("NFC", word[:-1] if is_plural else word))
    usable = (piece for piece in pieces if len(piece) > 1 and len(piece) <= patterns.LONGEST_PIECE)
    return list(dict.fromkeys(usable))[:MOST_WORDS]


def _count_words(db: str, words: Sequence[str]) -> tuple[dict[str, set[int]], int]:
    """Return in which of the newest facts each word is, and how many were compared.

    Facts are numbered from 0, the newest first.
    """
    places: dict[str, set[int]] = {word: set() for word in words}
    finders = [(word, patterns.compile_line((word,))) for word in words]
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


ROWS = 3


def _text(label, **options):
    return forms.CharField(label=label, max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": ROWS}), **options)


def _plain_text(rows):
    return forms.Textarea(attrs={"rows": rows, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"})


class RuleForm(forms.Form):
    """The facts that a rule is about, and the rule's name.

    The facts contain words or pieces, one a line, or match a pattern instead.
    """

    contains = forms.CharField(
        label=_("Facts that contain all of"),
        required=False,
        max_length=2_000,
        widget=_plain_text(ROWS + 1),
        help_text=_(
            "One word a line; commas separate alternatives (no, without). “nut” also finds “nuts”, but not “minute”; "
            "words of one or two letters are found whole. Chinese is found anywhere."
        ),
    )
    name = forms.CharField(
        label=_("Name of the rule"),
        required=False,
        max_length=patterns.LONGEST_NAME,
        help_text=_("What lists and warnings call the rule. If empty, its words are used."),
    )
    pattern = forms.CharField(
        label=_("Pattern"),
        required=False,
        max_length=patterns.LONGEST_PATTERN + patterns.MOST_LINES,  # browsers send line ends as two characters
        widget=_plain_text(1),
        help_text=_(
            "Regular expression, matched anywhere in a fact, ignoring case. Used instead of the words above. With "
            "several lines, each must match."
        ),
    )

    @property
    def lines(self) -> patterns.Lines:
        """The lines of words; none where a pattern stands instead of them."""
        return () if self.typed_pattern else patterns.read_lines(self.cleaned_data.get("contains", ""))

    @property
    def typed_pattern(self) -> str:
        """The pattern, without blanks around its lines."""
        return patterns.clean(self.cleaned_data.get("pattern", ""))

    @property
    def pattern_to_try(self) -> str:
        """The pattern to try, empty where nothing was typed.

        Raises Refused for lines that cannot be a rule.
        """
        return self.typed_pattern or (patterns.write_pattern(patterns.check_lines(self.lines)) if self.lines else "")


class OpeningForm(forms.Form):
    """The fields that an address fills into the form of a correction.

    They say that such facts are refused in future, and with which words.
    """

    refuse = forms.BooleanField(required=False)
    contains = forms.CharField(required=False, max_length=2_000)
    name = forms.CharField(required=False, max_length=patterns.LONGEST_NAME)
    pattern = forms.CharField(required=False, max_length=patterns.LONGEST_PATTERN + patterns.MOST_LINES)

    @property
    def initial_fields(self) -> dict[str, Any]:
        data = self.cleaned_data if self.is_valid() else {}
        filled: dict[str, Any] = {name: data[name] for name in ("contains", "name", "pattern") if data.get(name)}
        if filled or data.get("refuse"):
            filled["apply_to_future"] = True
        return filled | ({"status": STATUSES[1]} if data.get("refuse") else {})


class CorrectionForm(RuleForm):
    """A correction of a write: what it should have been, and why.

    Operators can also make it a rule for facts to come.
    """

    status = forms.ChoiceField(label=_("What should have happened"), choices=lambda: states.choices(STATUSES))
    fact = _text(_("Fact"), required=False, help_text=_("The fact as the file should state it."))
    file = forms.ChoiceField(label=_("File"), choices=[(name, name) for name in MEMORY_FILES])
    reason = _text(_("Reason"))
    apply_to_future = forms.BooleanField(label=_("Make this a rule for similar facts"), required=False)
    field_order = ("status", "fact", "file", "reason", "apply_to_future", "contains", "name", "pattern")

    def __init__(self, data=None, *, may_rule: bool, **options):
        super().__init__(data, **options)
        if not may_rule:
            for name in ("apply_to_future", *RuleForm.base_fields):
                del self.fields[name]

    @classmethod
    def from_suggestion(
        cls, suggestion: Suggestion, rule: dict[str, Any], *, may_rule: bool, **filled: Any
    ) -> "CorrectionForm":
        """Build the form as it is first shown.

        It has what stands by now, what a rule begins with, and what the address says.
        """
        state = suggestion.state
        initial = {
            "status": state.status if state.status in STATUSES else STATUSES[0],
            "fact": state.fact,
            "file": state.file or MEMORY_FILES[0],
            "reason": suggestion.reason,
        }
        return cls(initial=initial | rule | filled, may_rule=may_rule)

    @property
    def correction_fields(self) -> dict[str, Any]:
        """The arguments of `add_correction`."""
        data = self.cleaned_data
        names = ("status", "fact", "file", "reason")
        values = {name: data[name].replace("\r\n", "\n") for name in names}
        return values | {"apply_to_future": bool(data.get("apply_to_future"))} | self.rule

    @property
    def rule(self) -> dict[str, Any]:
        """The rule that was typed; empty where the box is not ticked."""
        if not self.cleaned_data.get("apply_to_future"):
            return {}
        return {"contains": self.lines, "pattern": self.typed_pattern, "name": self.cleaned_data["name"]}
