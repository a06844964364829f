"""`reflection gate record`: decisions of a plugin, out of a file or from standard input."""

import sys

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from pydantic import ValidationError

from openclaw_web import reasons
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.errors import Refused

from ..recording import recorded
from ..schemas import MOST, DecisionIn
from . import agent_of

HELP = gettext_lazy("Record decisions of memory_gate: JSON, a JSON list, or JSON lines.")
EXAMPLES = ("reflection gate record decisions.jsonl", "reflection gate record --agent main --json < decisions.json")
MOST_BYTES = 64 * 1024 * 1024
LISTED = 20


def add_arguments(parser):
    parser.add_argument("file", nargs="?", metavar="FILE", help=_("file with the decisions (standard input)"))


def run(agent, file, **options):
    found = agent_of(agent)
    decisions = _decisions(_data(file))
    counts = {"recorded": 0, "known": 0, "withheld": 0}
    for start in range(0, len(decisions), MOST):
        stored = _stored(found, decisions[start : start + MOST], counts)
        counts["recorded"] += len(stored.new)
        counts["known"] += len(stored.known)
        counts["withheld"] += stored.withheld
    return Outcome(counts, _in_words(counts))


def _stored(agent, some, counts):
    """Store a batch. Raises Refused, which says what of the batches before it was stored."""
    try:
        return recorded.record(agent, some)
    except Refused as exc:
        if not sum(counts.values()):
            raise
        words = {"sentence": exc.sentence, "before": _in_words(counts)}
        raise Refused(_("%(sentence)s Before it: %(before)s") % words, reasons=exc.reasons) from exc


def _data(file):
    if file in (None, "-"):
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        try:
            with open(file, "rb") as handle:  # noqa: PTH123 - a name of the shell's, as it is
                data = handle.read(MOST_BYTES + 1)
        except OSError as exc:
            words = {"file": file, "reason": reasons.of_system(exc)}
            raise WrongUse(_("%(file)s cannot be read: %(reason)s.") % words) from exc
    if len(data) > MOST_BYTES:
        raise Refused(_("The file is too large: at most %(size)s are read. Nothing was stored.") % {"size": "64 MB"})
    return data


def _decisions(data):
    """The decisions of a text, all checked before any is stored. Raises Refused with what is wrong with which."""
    values = _values(data)
    found, wrong = [], []
    for number, value in enumerate(values, 1):
        try:
            found.append(DecisionIn.model_validate(value))
        except ValidationError as exc:
            name = value.get("id") if isinstance(value, dict) else None
            wrong.append({"id": str(name or number), "reason": _why(exc)})
    if wrong:
        words = {"reason": f"{wrong[0]['id']}: {wrong[0]['reason']}"}
        raise Refused(_("Nothing was stored. %(reason)s") % words, reasons=wrong[:LISTED])
    if not found:
        raise Refused(_("There is no decision in what was given."))
    return found


def _values(data):
    try:
        value = orjson.loads(data)
        return value if isinstance(value, list) else [value]
    except orjson.JSONDecodeError:
        pass
    values = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(orjson.loads(line))
        except orjson.JSONDecodeError as exc:
            raise Refused(_("Line %(number)s is not JSON. Nothing was stored.") % {"number": number}) from exc
    return values


def _why(exc):
    first = exc.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")


def _in_words(counts):
    words = {
        "recorded": ngettext("%(count)s decision recorded", "%(count)s decisions recorded", counts["recorded"]),
        "known": ngettext("%(count)s already known", "%(count)s already known", counts["known"]),
        "withheld": ngettext(
            "%(count)s withheld because somebody opted out",
            "%(count)s withheld because somebody opted out",
            counts["withheld"],
        ),
    }
    said = [words[name] % {"count": count} for name, count in counts.items() if count or name == "recorded"]
    return f"{', '.join(said)}."
