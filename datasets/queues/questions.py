"""Questions that a queue asks with each verdict: their lines in a form, and the answers."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

MOST_QUESTIONS, MOST_CHOICES = 5, 9
LONGEST_NAME, LONGEST_CHOICE, LONGEST_SPAN = 200, 80, 2_000
SCALE, CHOICE, SPAN = KINDS = ("scale", "choice", "span")
STEPS = [str(number) for number in range(1, 6)]


def parse_questions(text: str) -> list[dict[str, Any]]:
    """The questions of lines such as `choice: Tone | formal | casual`.

    Raises Refused for a line that is no question.
    """
    questions: list[dict[str, Any]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        kind, _colon, rest = line.partition(":")
        name, *choices = (part.strip() for part in rest.split("|"))
        kind = kind.strip().lower()
        if kind not in KINDS or not name or len(name) > LONGEST_NAME or name in (row["name"] for row in questions):
            raise Refused(
                _("“%(line)s” is no question. Write scale, choice or span, a colon, and the question, each only once.")
                % {"line": line[:LONGEST_NAME]}
            )
        is_list = 2 <= len(set(choices)) == len(choices) <= MOST_CHOICES and all(
            0 < len(choice) <= LONGEST_CHOICE for choice in choices
        )
        if is_list != (kind == CHOICE) or (choices and kind != CHOICE):
            raise Refused(
                _("A choice needs 2 to %(most)s different answers after |, and other questions have none: “%(line)s”.")
                % {"most": MOST_CHOICES, "line": line[:LONGEST_NAME]}
            )
        questions.append({"kind": kind, "name": name, "choices": STEPS if kind == SCALE else choices})
    if len(questions) > MOST_QUESTIONS:
        raise Refused(_("A queue has at most %(most)s questions.") % {"most": MOST_QUESTIONS})
    return questions


def format_questions(questions: list[dict[str, Any]]) -> str:
    """The lines that `parse_questions` reads as these questions."""
    return "\n".join(
        " | ".join([f"{row['kind']}: {row['name']}", *(row["choices"] if row["kind"] == CHOICE else [])])
        for row in questions
    )


def check_answers(questions: list[dict[str, Any]], answers: Mapping[str, Any], text: str) -> dict[str, str]:
    """The answers to store, by question; none is required.

    Raises Refused for one that its question does not take. A span is a part of `text`, the texts of the sample.
    """
    by_name = {row["name"]: row for row in questions}
    stored = {}
    for name, value in answers.items():
        answer = str(value).replace("\r\n", "\n").strip()
        question = by_name.get(name)
        if question is None:
            raise Refused(_("This queue does not ask “%(name)s”.") % {"name": name[:LONGEST_NAME]})
        if not answer:
            continue
        if question["kind"] == SPAN:
            if len(answer) > LONGEST_SPAN or answer not in text:
                raise Refused(_("“%(name)s”: copy a part of the message or the reply.") % {"name": name})
        elif answer not in question["choices"]:
            raise Refused(
                _("“%(name)s” has no answer “%(answer)s”.") % {"name": name, "answer": answer[:LONGEST_CHOICE]}
            )
        stored[name] = answer
    return stored
