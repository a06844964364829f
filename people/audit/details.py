"""Words for the details of an entry: names, numbers and choices."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import amounts
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.pages import states
from openclaw_web.pages.formatting import duration, listed, size

from ..configuration.catalogue import SECRET_KINDS

# By the name of a detail: the text around its value.
LABELS = {
    "before": gettext_lazy("before: %(value)s"),
    "compaction": gettext_lazy("compaction %(value)s"),
    "file": gettext_lazy("file %(value)s"),
    "filter": gettext_lazy("filter %(value)s"),
    "filters": gettext_lazy("filter %(value)s"),
    "format": gettext_lazy("as %(value)s"),
    "language": gettext_lazy("language: %(value)s"),
    "kinds": gettext_lazy("kinds of secrets: %(value)s"),
    "kept": gettext_lazy("%(value)s kept"),
    "left_out": gettext_lazy("%(value)s skipped"),
    "mode": gettext_lazy("mode %(value)s"),
    "name": gettext_lazy("name: %(value)s"),
    "owner": gettext_lazy("of %(value)s"),
    "previous_status": gettext_lazy("before: %(value)s"),
    "reason": gettext_lazy("reason: %(value)s"),
    "removed": gettext_lazy("%(value)s removed"),
    "role": gettext_lazy("role: %(value)s"),
    "seal": gettext_lazy("seal %(value)s"),
    "session": gettext_lazy("session %(value)s"),
    "sign_in": gettext_lazy("sign-in %(value)s"),
    "sound": gettext_lazy("%(value)s intact"),
    "status": gettext_lazy("verdict: %(value)s"),
    "task": gettext_lazy("task: %(value)s"),
    "theme": gettext_lazy("theme: %(value)s"),
    "time_zone": gettext_lazy("time zone: %(value)s"),
    "written": gettext_lazy("%(value)s written"),
}
COUNTED = {
    "max_chars": ngettext_lazy("up to %(shown)s character", "up to %(shown)s characters", "count"),
    "count": ngettext_lazy("%(shown)s browser", "%(shown)s browsers", "count"),
    "days": ngettext_lazy("for %(shown)s day", "for %(shown)s days", "count"),
    "references": ngettext_lazy("%(shown)s reference", "%(shown)s references", "count"),
    "rows": ngettext_lazy("%(shown)s row", "%(shown)s rows", "count"),
    "samples": ngettext_lazy("%(shown)s sample", "%(shown)s samples", "count"),
    "writes": ngettext_lazy("%(shown)s write", "%(shown)s writes", "count"),
}
VALUES = {
    "how": {
        "password": gettext_lazy("with a password"),
        "link": gettext_lazy("with a one-time link"),
        "first_admin": gettext_lazy("with the first-admin link"),
        "invitation": gettext_lazy("with an invitation"),
    },
    "new": {True: gettext_lazy("new"), False: gettext_lazy("already present")},
    "way": {
        "exact": gettext_lazy("to the version before it"),
        "merged": gettext_lazy("later changes were kept"),
        "chosen": gettext_lazy("to a chosen content"),
    },
    "effect": {
        "taken_out": gettext_lazy("knowing that the file falls out of the prompt"),
        "unknown": gettext_lazy("without knowing the effect on the prompt"),
    },
    "outcome": {
        "done": gettext_lazy("done"),
        "unchanged": gettext_lazy("not done"),
        "other": gettext_lazy("other content"),
        "untrusted": gettext_lazy("not trusted"),
        "unrecorded": gettext_lazy("not in the record"),
        "timed_out": gettext_lazy("not done in time"),
        "canceled": gettext_lazy("canceled"),
        "interrupted": gettext_lazy("interrupted"),
        "failed": gettext_lazy("the command failed"),
        "not_started": gettext_lazy("not started"),
    },
    "puts_back": {True: gettext_lazy("after the recorded version was put back"), False: ""},
    "include_flagged": {True: gettext_lazy("with keys and passwords that nobody has judged"), False: ""},
    "include_pii": {True: gettext_lazy("with personal data"), False: ""},
}
FORMATS = {
    "alpaca": "Alpaca",
    "csv": "CSV",
    "json": "JSON",
    "jsonl": gettext_lazy("JSON lines"),
    "openai": "OpenAI",
    "raw": gettext_lazy("Raw samples"),
    "sharegpt": "ShareGPT",
}
ROLES = {
    "viewer": gettext_lazy("Viewer"),
    "labeller": gettext_lazy("Labeller"),
    "operator": gettext_lazy("Operator"),
    "admin": gettext_lazy("Admin"),
}
DEFAULT = {"default": gettext_lazy("default")}
# Names of values beside their label; other values are shown unchanged.
WORDS = {
    "before": ROLES,  # or a day
    "format": FORMATS,
    "language": DEFAULT | dict(settings.LANGUAGES),
    "mode": {
        "headtail": gettext_lazy("Beginning and end"),
        "head": gettext_lazy("The beginning"),
        "tail": gettext_lazy("The end"),
        "range": gettext_lazy("Lines"),
        "grep": gettext_lazy("Matching lines"),
        "jsonpath": gettext_lazy("Values at a path"),
    },
    "role": ROLES,
    "task": {"reply": gettext_lazy("Reply"), "gate": gettext_lazy("Memory gate")},
    "theme": DEFAULT | {"light": gettext_lazy("Light"), "dark": gettext_lazy("Dark")},
    "time_zone": DEFAULT,
}

STATES = ("previous_status", "status")


def describe_detail(detail: dict[str, Any]) -> str:
    """The details in words: `role: labeller, for 7 days`; empty when there are none."""
    return listed(_describe_parts(detail))


def _describe_parts(detail) -> Iterator[str]:
    for name, value in detail.items():
        if value is None or value == "":
            continue
        words = _describe_part(name, value)
        if words:
            yield words


def _describe_part(name, value):
    if name in VALUES:
        return str(VALUES[name].get(value, value))
    if name == "older_than_seconds":
        return _("older than %(time)s") % {"time": duration(value * 1000)} if value else ""
    if name == "bytes":
        return size(value)
    if name in COUNTED and _is_number(value):
        return COUNTED[name] % {"count": value, "shown": f"{value:,}"}
    if name in amounts.WORDS and _is_number(value):
        return amounts.format_amount(name, value)
    text = _translate_value(name, value) if isinstance(value, str) else _format_value(value)
    if name in LABELS:
        return LABELS[name] % {"value": text}
    return f"{name.replace('_', ' ')}: {text}"


def _translate_value(name, value):
    if name == "kinds":
        return listed(SECRET_KINDS.get(kind, kind) for kind in value.split(", "))
    if name in STATES:
        return str(states.word(value))
    return str(WORDS.get(name, {}).get(value, value))


def _format_value(value):
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:,}" if _is_number(value) else str(value)


def _is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)
