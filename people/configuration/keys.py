"""What an operator tunes, kept in `kv` under the scope `settings`: default, check and words of every key."""

import re
from typing import Any

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils.module_loading import import_string
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as N_

from openclaw_web.clock import now_ms
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements

from ..audit import log as audit
from ..models.kept import KeyValue
from . import reflection_keys
from .shapes import Key, is_texts, number, switch

SCOPE = "settings"
VALUE = "SELECT value_json FROM kv WHERE scope = %s AND key = %s"
DAILY = re.compile(r"([0-9]|[1-5][0-9]) ([0-9]|1[0-9]|2[0-3]) \* \* \*", re.ASCII)
REASON = re.compile(r"([a-z][a-z0-9_]{0,31}): *(\S.{0,39})")
MOST_REASONS = 9  # each has a digit as its key
# Stored in English; whoever looks reads them in their own language, as long as nobody gives a code another label.
REJECT_REASONS = {
    "wrong_fact": N_("Wrong fact"),
    "wrong_tool": N_("Wrong tool"),
    "tone": N_("Tone"),
    "unsafe": N_("Unsafe"),
    "other": N_("Other"),
}

# The names of artifacts.contents.secrets, which lies above; a test compares the two.
SECRET_KINDS = {
    "api_key": _("API key (the word)"),
    "password": _("Password (the word)"),
    "token": _("Token (the word)"),
    "secret": _("Secret (the word)"),
    "private_key": _("Private key"),
    "aws_key": _("AWS key"),
    "bearer": _("Bearer token"),
    "github_key": _("GitHub key"),
    "google_key": _("Google key"),
    "jwt": _("JSON Web Token"),
    "model_key": _("Key of a model provider"),
    "slack_key": _("Slack key"),
}
SECRET_WORDS = frozenset({"api_key", "password", "token", "secret"})  # found where people only speak of one


def _reasons(value):
    if not is_texts(value) or len(value) > MOST_REASONS or not all(map(REASON.fullmatch, value)):
        return False
    return len(named(value)) == len(value)


_IMPORT = {
    "schedule.collectMinutes": number(
        0,
        0,
        10080,
        label=_("Import every"),
        unit=_("minutes"),
        help=_("Imports again after this time, for folders that nobody watches. 0 = off."),
    ),
    "collector.optedOutSenders": Key(
        [],
        is_texts,
        _("a list of texts"),
        "lines",
        _("Senders to leave out"),
        _("Not imported: messages of these sender IDs or names, and answers to them. One per line; empty = none."),
        after=_("Lines that they left in memory files are under Writes, Opted out, of each agent."),
    ),
    "collector.includeDeleted": switch(
        False,
        label=_("Import reset and deleted sessions"),
        help=_(
            "Every import and check includes sessions that were reset or deleted in OpenClaw. Off = they are left out."
        ),
    ),
}
_MEMORY = {
    "collector.stashOutputs": switch(
        True,
        label=_("Store large tool outputs as artifacts"),
        help=_("During import, large tool outputs become artifacts. Off = they are kept in their records."),
    ),
}


def _secret_kinds(default, label, help):
    """A setting that lists kinds of secrets."""
    return Key(
        default,
        lambda value: is_texts(value) and set(value) <= SECRET_KINDS.keys(),
        format_lazy(_("a list of kinds of secrets: {kinds}"), kinds=", ".join(SECRET_KINDS)),
        "choices",
        label,
        help,
    )


_SECRETS = {
    "artifacts.flaggedKinds": _secret_kinds(
        list(SECRET_KINDS),
        _("Secrets that restrict an artifact to admins"),
        _("Only admins download artifacts in which these were found. None = no restriction."),
    ),
    "exports.withheldKinds": _secret_kinds(
        [kind for kind in SECRET_KINDS if kind not in SECRET_WORDS],
        _("Secrets that keep a row out of exports"),
        _("Rows with these are left out, unless an admin includes them. None = nothing is left out."),
    ),
}
_BACKUPS = {
    "backup.folder": Key(
        "",
        lambda value: isinstance(value, str) and "\0" not in value and (not value or value.startswith("/")),
        _("an absolute path, or empty"),
        "line",
        _("Backup folder"),
        _("Absolute path; another disk is safer. Empty = “backups” in the home of this site."),
    ),
    "schedule.backupHours": number(
        0,
        0,
        8760,
        label=_("Back up every"),
        unit=_("hours"),
        help=_("Creates and verifies a backup after this time. 0 = off."),
    ),
    "backup.keep": number(
        7,
        0,
        1000,
        label=_("Backups to keep"),
        unit=_("backups"),
        help=_("Each scheduled backup removes the oldest verified backups above this number. 0 = keep all."),
    ),
    "schedule.drillDays": number(
        0,
        0,
        365,
        label=_("Restore test every"),
        unit=_("days"),
        help=_("Restores the newest backup into a separate folder, to prove that the backup works. 0 = off."),
    ),
}
_RETENTION = {
    "retentionDays": number(
        0,
        0,
        36_500,
        label=_("Remove inactive sessions after"),
        unit=_("days"),
        help=_("Permanently, once a day; anything used by samples is kept. 0 = never. Preview on the page Retention."),
    ),
    "jobs.retentionDays": number(
        90,
        0,
        36_500,
        label=_("Remove ended jobs after"),
        unit=_("days"),
        help=_("Removes ended jobs, and receipts nothing refers to, after this time. 0 = never."),
    ),
}
_DAILY_FILES = {
    "jsonlExport.enabled": switch(
        False,
        label=_("Write conversations to daily files"),
        help=_("Once a day, writes exports/conversations-YYYY-MM-DD.jsonl in the home of this site."),
    ),
    "jsonlExport.schedule": Key(
        "0 0 * * *",
        lambda value: isinstance(value, str) and DAILY.fullmatch(value) is not None,
        _("a time of the day (UTC) as a cron expression: minute and hour, then * * *"),
        "time",
        _("Write daily files at"),
        _("Time of the day at which these files are written."),
        unit="UTC",
    ),
    "jsonlExport.retentionDays": number(
        30,
        1,
        3650,
        label=_("Keep daily files for"),
        unit=_("days"),
        help=_("Removes daily files after this time. At least 1."),
    ),
}
_REVIEW = {
    "review.guide": Key(
        "",
        lambda value: isinstance(value, str) and len(value) <= 20_000 and "\0" not in value,
        _("a text of at most 20,000 characters"),
        "text",
        _("Review guide"),
        _("Shown beside each sample in review: what a good reply is. Empty = no guide."),
    ),
    "review.rejectReasons": Key(
        [f"{code}: {label}" for code, label in REJECT_REASONS.items()],
        _reasons,
        _("a list of at most 9 different reasons such as wrong_fact: Wrong fact"),
        "lines",
        _("Reasons for a reject"),
        _("One per line: a code, a colon, a label. Empty = reviewers are not asked for a reason."),
    ),
    "schedule.signatureMinutes": number(
        10,
        0,
        10080,
        label=_("Check signatures every"),
        unit=_("minutes"),
        help=_("Creates the signatures that samples lack; exports find duplicates by them. 0 = at each export."),
    ),
}
GROUPS = {
    "import": (_("Import"), _IMPORT),
    "memory": (_("Artifacts"), _MEMORY),
    "gate": (_("Memory gate"), reflection_keys.GATE),
    "guardian": (_("Write guardian"), reflection_keys.GUARDIAN),
    "secrets": (_("Secrets"), _SECRETS),
    "backups": (_("Backups"), _BACKUPS),
    "retention": (_("Retention"), _RETENTION),
    "daily-files": (_("Daily files"), _DAILY_FILES),
    "review": (_("Review"), _REVIEW),
}
KEYS = {name: key for _heading, group in GROUPS.values() for name, key in group.items()}


def get(key: str) -> Any:
    """The value of a setting, or its default. Raises Refused for a key that does not exist."""
    known = _known(key)
    row = statements.one(DEFAULT_DB_ALIAS, VALUE, [SCOPE, key])
    return orjson.loads(row[0]) if row else known.default


def several(*keys: str) -> dict[str, Any]:
    """The value of each setting, or its default, in one query. Raises Refused for a key that does not exist."""
    defaults = {key: _known(key).default for key in keys}
    rows = KeyValue.objects.filter(scope=SCOPE, key__in=keys).values_list("key", "value_json")
    return defaults | {key: orjson.loads(value) for key, value in rows}


def stored() -> list[tuple[str, str]]:
    """Every setting that is not left at its default, with its value as JSON: it differs after each change."""
    return list(KeyValue.objects.filter(scope=SCOPE).order_by("key").values_list("key", "value_json"))


def named(values: list[str]) -> dict[str, str]:
    """The labels of reasons for a reject (`code: label`), by code; our own in the language of the request."""
    parts = ((code, label.strip()) for code, _colon, label in (value.partition(":") for value in values))
    return {code: gettext(label) if REJECT_REASONS.get(code) == label else label for code, label in parts}


def put(key: str, value: Any, *, by: str = "") -> None:
    """Set a setting. Raises Refused for an unknown key or a value of the wrong shape."""
    if sentence := why_not(key, value):
        raise Refused(sentence)
    with transaction.atomic():
        KeyValue.objects.update_or_create(
            scope=SCOPE, key=key, defaults={"value_json": orjson.dumps(value).decode(), "updated_at": now_ms()}
        )
        audit.record(by, "setting_changed", object_type="setting", object_id=key)
        if effect := settings.SETTING_EFFECTS.get(key):
            import_string(effect)()


def put_all(values: dict[str, Any], *, by: str = "") -> None:
    """Set several settings, or none. Raises Refused for the first that is unknown or of the wrong shape."""
    with transaction.atomic():
        for key, value in values.items():
            put(key, value, by=by)


def why_not(key: str, value: Any) -> str:
    """Why a setting cannot have this value, in a sentence; empty when it can. Raises Refused for an unknown key."""
    known = _known(key)
    return "" if known.accepts(value) else gettext("%(key)s must be %(shape)s.") % {"key": key, "shape": known.shape}


def default(key: str) -> Any:
    """What a setting is while nobody has set it. Raises Refused for a key that does not exist."""
    return _known(key).default


def _known(key):
    if key not in KEYS:
        raise Refused(gettext("There is no setting %(key)s.") % {"key": key})
    return KEYS[key]
