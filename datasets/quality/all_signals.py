"""All signals about turns, and how a turn is asked for them."""

import logging
import zlib

from django.utils.translation import gettext_lazy as _

from .call_signals import find_repeated_call, find_silent_failures
from .reply_signals import (
    find_cut_off,
    find_empty_reply,
    find_machine_text,
    find_other_language,
    find_other_person,
    find_repeated_answer,
)
from .signal import CLARITY, CONFIDENCE, UNKNOWN, VERIFIABILITY, Answer, Signal, State
from .source_signals import find_number_without_source, find_path_without_source
from .turn_texts import TurnTexts

# Name, bit, version, factor, weight in it, function, question.
SIGNALS: tuple[Signal, ...] = (
    Signal(
        *("empty_reply", 0, 1, CLARITY, 3, find_empty_reply),
        _("Is the reply missing, empty, or only an acknowledgment?"),
    ),
    Signal(*("cut_off", 1, 1, CLARITY, 2, find_cut_off), _("Does the reply end in the middle?")),
    Signal(
        *("other_language", 2, 1, CLARITY, 2, find_other_language),
        _("Is the reply in another language than the question, without a request for it?"),
    ),
    Signal(
        *("repeated_call", 3, 1, CONFIDENCE, 1, find_repeated_call),
        _("Was the same call sent twice, with no change between?"),
    ),
    Signal(
        *("silent_failures", 4, 1, CONFIDENCE, 2, find_silent_failures),
        _("Did two or more calls fail without a word about it in the reply?"),
    ),
    Signal(
        *("number_without_source", 5, 1, VERIFIABILITY, 2, find_number_without_source),
        _("Does the reply have a number that no source has?"),
    ),
    Signal(
        *("path_without_source", 6, 1, VERIFIABILITY, 2, find_path_without_source),
        _("Does the reply name a file or path that no source has?"),
    ),
    Signal(
        *("other_person", 7, 1, CLARITY, 2, find_other_person),
        _("Does the reply address somebody other than the sender?"),
    ),
    Signal(
        *("machine_text", 8, 1, CLARITY, 2, find_machine_text),
        _("Does the reply contain control tokens, raw calls, stack traces or prompts?"),
    ),
    Signal(
        *("repeated_answer", 9, 1, CLARITY, 2, find_repeated_answer),
        _("Is the reply the same as the one before, although the question differs?"),
    ),
)
BY_NAME = {signal.name: signal for signal in SIGNALS}
ALL_BITS = sum(1 << signal.bit for signal in SIGNALS)
READER = 1  # the version of turn_reader: whoever changes what signals read raises it
RULE = zlib.crc32(repr([READER, *((s.name, s.bit, s.version, s.factor, s.weight) for s in SIGNALS)]).encode())
log = logging.getLogger(__name__)


def find_answers(texts: TurnTexts, errors: dict[str, int] | None = None) -> dict[str, Answer]:
    """The answers of a turn by signal; a signal that fails is unknown there, is logged, and counted in `errors`."""
    if texts.is_closed:
        return dict.fromkeys(BY_NAME, UNKNOWN)
    answers = {}
    for signal in SIGNALS:
        try:
            answers[signal.name] = signal.answer(texts)
        except Exception:
            log.exception("signal %s failed on turn %s", signal.name, texts.id)
            answers[signal.name] = UNKNOWN
            if errors is not None:
                errors[signal.name] = errors.get(signal.name, 0) + 1
    return answers


def collect_bits(answers: dict[str, Answer], *states: State) -> int:
    """The bits of the signals that have one of these answers."""
    return sum(1 << signal.bit for signal in SIGNALS if answers[signal.name].state in states)
