"""What an operator tunes, kept in `kv` under the scope `settings`; every key has a default and a check here."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web.clock import now_ms
from openclaw_web.errors import Refused

from ..audit import log as audit
from ..models.kept import KeyValue

SCOPE = "settings"
DAILY = re.compile(r"([0-9]|[1-5][0-9]) ([0-9]|1[0-9]|2[0-3]) \* \* \*", re.ASCII)

# The names of artifacts.contents.secrets, which lies above; a test compares the two.
SECRET_KINDS = (
    *("api_key", "password", "token", "secret", "private_key"),
    *("aws_key", "bearer", "github_key", "google_key", "jwt", "model_key", "slack_key"),
)


def _texts(value):
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


@dataclass(frozen=True)
class Key:
    """One setting: its default, what it must look like, and what it does, in words."""

    default: Any
    accepts: Callable[[Any], bool]
    shape: str
    help: str


REASON = re.compile(r"([a-z][a-z0-9_]{0,31}): *(\S.{0,39})")
MOST_REASONS = 9  # each has a digit as its key


def _reasons(value):
    if not _texts(value) or len(value) > MOST_REASONS or not all(map(REASON.fullmatch, value)):
        return False
    return len(named(value)) == len(value)


def _whole(least, most):
    return lambda value: type(value) is int and least <= value <= most


KEYS = {
    "artifacts.flaggedKinds": Key(
        list(SECRET_KINDS),
        lambda value: _texts(value) and set(value) <= set(SECRET_KINDS),
        "a list of kinds of secrets: " + ", ".join(SECRET_KINDS),
        "Which kinds of secrets in an artifact keep its whole content from all but admins.",
    ),
    "collector.optedOutSenders": Key(
        [], _texts, "a list of texts", "Sender ids (or names) whose messages and their answers are not collected."
    ),
    "collector.stashOutputs": Key(
        True,
        lambda value: isinstance(value, bool),
        "true or false",
        "Whether big outputs of tools become artifacts while transcripts are collected.",
    ),
    "memoryGate.windowSize": Key(
        10,
        lambda value: type(value) is int and 0 <= value <= 200,
        "a whole number from 0 to 200",
        "How many messages before a turn are kept with it as its context.",
    ),
    "backup.folder": Key(
        "",
        lambda value: isinstance(value, str) and "\0" not in value and (not value or value.startswith("/")),
        "an absolute path, or empty",
        "Where backups go; empty: the folder backups in the home. Another disk is better.",
    ),
    "backup.keep": Key(
        7,
        _whole(0, 1000),
        "a whole number from 0 to 1000",
        "How many verified backups stay when the schedule makes a new one; 0: all.",
    ),
    "jobs.retentionDays": Key(
        90,
        _whole(0, 36_500),
        "a whole number from 0 to 36500",
        "Remove ended jobs, and receipts nothing refers to, after this many days. 0 = never.",
    ),
    "retentionDays": Key(
        0,
        _whole(0, 36_500),
        "a whole number from 0 to 36500",
        "Sessions without activity for so many days are removed once a day, without a way back; evidence stays. "
        "0: none is; 365 is a good start. The page Retention counts them first.",
    ),
    "jsonlExport.enabled": Key(
        False,
        lambda value: isinstance(value, bool),
        "true or false",
        "Whether conversations are written to exports/conversations-YYYY-MM-DD.jsonl of the home, once a day.",
    ),
    "jsonlExport.retentionDays": Key(
        30,
        _whole(1, 3650),
        "a whole number from 1 to 3650",
        "How many days back those files are kept.",
    ),
    "jsonlExport.schedule": Key(
        "0 0 * * *",
        lambda value: isinstance(value, str) and DAILY.fullmatch(value) is not None,
        "a time of the day (UTC) as a cron expression: minute and hour, then * * *",
        "When those files are written each day (UTC): minute and hour as a cron expression, such as 30 2 * * *.",
    ),
    "review.guide": Key(
        "",
        lambda value: isinstance(value, str) and len(value) <= 20_000 and "\0" not in value,
        "a text of at most 20,000 characters",
        "What a good reply is, in your words: shown beside each sample in review. Empty = no guide.",
    ),
    "review.rejectReasons": Key(
        ["wrong_fact: Wrong fact", "wrong_tool: Wrong tool", "tone: Tone", "unsafe: Unsafe", "other: Other"],
        _reasons,
        "a list of at most 9 different reasons such as wrong_fact: Wrong fact",
        "Reasons a reject can have, one per line: a code, a colon and a label. Empty = none are asked for.",
    ),
    "schedule.backupHours": Key(
        0,
        _whole(0, 8760),
        "a whole number from 0 to 8760",
        "Hours between two backups that are made by themselves; 0: none is.",
    ),
    "schedule.collectMinutes": Key(
        0,
        _whole(0, 10080),
        "a whole number from 0 to 10080",
        "Minutes between two collects, for homes that nobody watches; 0: none.",
    ),
    "schedule.drillDays": Key(
        0,
        _whole(0, 365),
        "a whole number from 0 to 365",
        "Days between two restores of the newest backup into a folder of its own, to prove it; 0: none.",
    ),
}


def get(key: str) -> Any:
    """The value of a setting, or its default. Raises Refused for a key that does not exist."""
    known = _known(key)
    row = KeyValue.objects.filter(scope=SCOPE, key=key).first()
    return orjson.loads(row.value_json) if row else known.default


def several(*keys: str) -> dict[str, Any]:
    """The value of each setting, or its default, in one query. Raises Refused for a key that does not exist."""
    defaults = {key: _known(key).default for key in keys}
    rows = KeyValue.objects.filter(scope=SCOPE, key__in=keys).values_list("key", "value_json")
    return defaults | {key: orjson.loads(value) for key, value in rows}


def named(values: list[str]) -> dict[str, str]:
    """The labels of settings that are lists of `code: label`, by code."""
    parts = (value.partition(":") for value in values)
    return {code: label.strip() for code, _colon, label in parts}


def put(key: str, value: Any, *, by: str = "") -> None:
    """Set a setting. Raises Refused for an unknown key or a value of the wrong shape."""
    if sentence := why_not(key, value):
        raise Refused(sentence)
    with transaction.atomic():
        KeyValue.objects.update_or_create(
            scope=SCOPE, key=key, defaults={"value_json": orjson.dumps(value).decode(), "updated_at": now_ms()}
        )
        audit.record(by, "setting_changed", object_type="setting", object_id=key)


def put_all(values: dict[str, Any], *, by: str = "") -> None:
    """Set several settings, or none. Raises Refused for the first that is unknown or of the wrong shape."""
    with transaction.atomic():
        for key, value in values.items():
            put(key, value, by=by)


def why_not(key: str, value: Any) -> str:
    """Why a setting cannot have this value, in a sentence; empty when it can. Raises Refused for an unknown key."""
    known = _known(key)
    return "" if known.accepts(value) else _("%(key)s must be %(shape)s.") % {"key": key, "shape": known.shape}


def default(key: str) -> Any:
    """What a setting is while nobody has set it. Raises Refused for a key that does not exist."""
    return _known(key).default


def _known(key):
    if key not in KEYS:
        raise Refused(_("There is no setting %(key)s.") % {"key": key})
    return KEYS[key]
