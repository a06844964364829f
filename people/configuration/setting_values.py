"""What an operator tunes, kept in `kv` under the scope `settings`; the catalogue says what each setting is."""

from typing import Any

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements

from ..audit import log as audit
from ..models.bookkeeping import KeyValue
from .catalogue import KEYS

SCOPE = "settings"
VALUE = "SELECT value_json FROM kv WHERE scope = %s AND key = %s"


def get(key: str) -> Any:
    """The value of a setting, or its default. Raises Refused for a key that does not exist."""
    known = _known(key)
    row = statements.read_row(DEFAULT_DB_ALIAS, VALUE, [SCOPE, key])
    return orjson.loads(row[0]) if row else known.default


def is_on(key: str) -> bool:
    """Whether a switch is on."""
    return bool(get(key))


def get_number(key: str) -> int:
    """The value of a setting that is a number."""
    return int(get(key))


def get_text(key: str) -> str:
    """The value of a setting that is a text."""
    return str(get(key))


def get_texts(key: str) -> list[str]:
    """The value of a setting that is a list of texts."""
    return list(get(key))


def get_many(*keys: str) -> dict[str, Any]:
    """The value of each setting, or its default, in one query. Raises Refused for a key that does not exist."""
    defaults = {key: _known(key).default for key in keys}
    rows = KeyValue.objects.filter(scope=SCOPE, key__in=keys).values_list("key", "value_json")
    return defaults | {key: orjson.loads(value) for key, value in rows}


def read_changed_settings() -> list[tuple[str, str]]:
    """Every setting that is not left at its default, with its value as JSON: it differs after each change."""
    return list(KeyValue.objects.filter(scope=SCOPE).order_by("key").values_list("key", "value_json"))


def put(key: str, value: Any, *, by: str = "") -> None:
    """Set a setting. Raises Refused for an unknown key or a value of the wrong shape."""
    if sentence := find_refusal(key, value):
        raise Refused(sentence)
    with transaction.atomic():
        KeyValue.objects.put(SCOPE, key, value)
        audit.record(by, "setting_changed", object_type="setting", object_id=key)
        if effect := settings.SETTING_EFFECTS.get(key):
            import_string(effect)()


def put_all(values: dict[str, Any], *, by: str = "") -> None:
    """Set several settings, or none. Raises Refused for the first that is unknown or of the wrong shape."""
    with transaction.atomic():
        for key, value in values.items():
            put(key, value, by=by)


def find_refusal(key: str, value: Any) -> str:
    """Why a setting cannot have this value, in a sentence; empty when it can. Raises Refused for an unknown key."""
    known = _known(key)
    return "" if known.accepts(value) else known.refusal(key)


def setting_to_json(key: str, value: Any) -> dict[str, Any]:
    """A setting for programs: its key, its value and its default. Raises Refused for a key that does not exist."""
    return {"key": key, "value": value, "default": _known(key).default}


def _known(key):
    if key not in KEYS:
        raise Refused(gettext("There is no setting %(key)s.") % {"key": key})
    return KEYS[key]
