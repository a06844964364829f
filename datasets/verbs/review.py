"""`reflection dataset review` and `agreement`: verdicts in a review queue from a terminal, and how far people agree."""

import os
import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs
from people.models import User

from ..models import DatasetSample
from ..queues import answers, queue_store
from ..queues.blind import cover
from ..queues.queue_agreement import build_report
from ..queues.seats import SeatClaims
from ..queues.words import MEASURE_WORDS, PART_NAMES, REASON_WORDS
from ..review import undo, verdicts
from ..review.queues import Queue
from ..words import STATUS_WORDS

LONGEST_TEXT = 2_000
KEYS = {"a": "approved", "r": "rejected", "n": "needs_review"}


class ReviewVerb:
    """The verb `review`: one item of a queue after the other, judged with one key each."""

    HELP = gettext_lazy("Judge the items of a review queue, one after the other, with one key each.")
    EXAMPLES = ("reflection dataset review Replies --as ann",)

    def add_arguments(self, parser):
        parser.add_argument("queue", metavar="QUEUE", help=_("name of the queue"))
        parser.add_argument("--as", dest="user", required=True, metavar="USER", help=_("who gives the verdicts"))

    def run(self, queue, user, **options):
        row = queue_store.find_queue(queue)
        person = User.objects.filter(username=user, is_active=True).first()
        if person is None or not row.has_reviewer(person):
            raise Refused(_("%(user)s may not judge in this queue.") % {"user": glyphs.to_one_line(user)})
        place, judged_count, current = Queue(review_queue=row.id), 0, ""
        claims = SeatClaims(place)
        while claim := (current and claims.take(current, by=user)) or claims.take_next(place, by=user):
            current = claim.sample_id
            _print_item(row, current)
            key = _read_key()
            try:
                if key in KEYS:
                    answers.answer_and_take_next(place, current, {"status": KEYS[key]}, user=person)
                    judged_count, current = judged_count + 1, ""
                elif key == "s":
                    verdicts.skip_sample(current, by=user)
                    claims.release(current, by=user)
                    current = ""
                elif key == "u":
                    result = undo.undo(user)
                    current = result.sample_id or ""
                    _print(result.sentence)
                elif key in ("q", ""):
                    claims.release(current, by=user)
                    break
            except Refused as refused:
                _print(refused.sentence)
                current = ""
        words = {"count": judged_count, "waiting": queue_store.count_waiting([row], person)[0]}
        return Outcome({"review": words}, _("Judged: %(count)s. Waiting for you: %(waiting)s.") % words)


class AgreementVerb:
    """The verb `agreement`: how far the reviewers of a queue agree."""

    HELP = gettext_lazy("Show how far the reviewers of a queue agree: by part, week and pair.")
    EXAMPLES = ("reflection dataset agreement Replies", "reflection dataset agreement Replies --json")

    def add_arguments(self, parser):
        parser.add_argument("queue", metavar="QUEUE", help=_("name of the queue"))

    def run(self, queue, **options):
        report = build_report(queue_store.find_queue(queue))
        return Outcome({"agreement": report}, "\n".join(_format_report(report)))


def _print_item(queue, sample_id):
    sample = DatasetSample.objects.get(id=sample_id)
    cover(sample)
    reason = REASON_WORDS[queue.items.get(sample_id=sample_id).reason]
    _print(f"\n{undo.describe_sample(sample)} ({reason})")
    for name, mark in (("userMessage", ">"), ("agentReply", "<"), ("candidateFact", "=")):
        if isinstance(text := sample.body.get(name), str) and text:
            lines = text[:LONGEST_TEXT].splitlines()
            _print("\n".join(f"{mark} {glyphs.to_one_line(line)}" for line in lines))
    choices = ", ".join(f"{key}: {STATUS_WORDS[status]}" for key, status in KEYS.items())
    _print(_("%(choices)s, s: skip, u: undo, q: quit") % {"choices": choices}, end=" ")


def _print(text, end="\n"):
    """Print to standard error: standard output is for the receipt."""
    sys.stderr.write(text + end)
    sys.stderr.flush()


def _read_key():
    """One key where standard input is a terminal, else the first letter of a line; empty at its end."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()[:1].strip().lower() or "q"
    import termios  # only here: other systems than ours have no terminals of this sort
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # keys that were pressed early are not lost
        key = os.read(descriptor, 1).decode("ascii", "replace").lower()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    _print(key)
    return key


def _format_report(report):
    for group in report["groups"]:
        subject = " · ".join(group["pair"]) if group["pair"] else group["week"] or _("All")
        yield f"{PART_NAMES[group['part']]}, {glyphs.to_one_line(subject)}: n = {group['n']:,}"
        if group["n"] < report["enough"]:
            yield "  " + _("Not enough. Items needed: %(count)s.") % {"count": report["enough"]}
        for name, value in group["measures"].items():
            if value:
                span = "" if value["low"] is None else f" ({value['low']:.2f} – {value['high']:.2f})"
                yield f"  {MEASURE_WORDS[name]}: {value['value']:.2f}{span}"
    for row in report["gold"]:
        yield f"{glyphs.to_one_line(row['reviewer'])}: {row['right']['value']:.2f} (n = {row['n']:,})"
    if not report["groups"]:
        yield _("No item has two verdicts yet.")
