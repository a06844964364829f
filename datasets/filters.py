"""Template filters for the words of samples and exports; no queries."""

from openclaw_web.pages import states

from .models import CUT_OFF
from .words import (
    ENDING_WORDS,
    FORMAT_NAMES,
    PART_WORDS,
    PROMPT_WORDS,
    PROMPTED_WORDS,
    STATUS_WORDS,
    TASK_NAMES,
    TYPE_WORDS,
    UNDONE,
)


def status_word(status):
    """`needs_review` as “Needs review”."""
    return STATUS_WORDS.get(status, status) if status else states.word(UNDONE)


def type_word(sample_type):
    """`annotated_turn` as “Whole turn”."""
    return TYPE_WORDS.get(sample_type, sample_type)


def part_word(label):
    """`corrected` as a word of a sentence."""
    return PART_WORDS.get(label, label)


def prompt_word(prompted_by):
    """`cron` as “Scheduled task”; empty for a person's words, and where nothing is known."""
    return PROMPT_WORDS.get(prompted_by, prompted_by) if prompted_by else ""


def prompted_word(name):
    """`person` as a filter names it."""
    return PROMPTED_WORDS.get(name, name)


def ending_word(name):
    """`cut_off` as a filter names it."""
    return ENDING_WORDS.get(name, name)


def is_cut_off(reply_stop):
    """Whether a reply ended before it was complete."""
    return reply_stop in CUT_OFF


def format_name(export_format):
    """`sharegpt` as “ShareGPT”."""
    return FORMAT_NAMES.get(export_format, export_format)


def task_name(task):
    """`reply` as “Reply”."""
    return TASK_NAMES.get(task, task)


WORDS = (
    *(status_word, type_word, part_word, prompt_word, prompted_word, ending_word, is_cut_off),
    *(format_name, task_name),
)
FILTERS = {function.__name__: function for function in WORDS}
