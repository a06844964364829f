"""Values of settings, stored in `kv` under the scope `settings`.

The catalogue describes each setting.
"""

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
    """The value of a setting, or its default. Raises Refused for an unknown key."""
    setting = _get_setting(key)
    row = statements.read_row(DEFAULT_DB_ALIAS, VALUE, [SCOPE, key])
    return orjson.loads(row[0]) if row else setting.default


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
    """The values of settings, or their defaults, in one query.

    Raises Refused for an unknown key.
    """
    defaults = {key: _get_setting(key).default for key in keys}
    rows = KeyValue.objects.filter(scope=SCOPE, key__in=keys).values_list("key", "value_json")
    return defaults | {key: orjson.loads(value) for key, value in rows}


def read_changed_settings() -> list[tuple[str, str]]:
    """Every changed setting as (key, JSON value).

    The list differs after each change, so it can serve as a version.
    """
    return list(KeyValue.objects.filter(scope=SCOPE).order_by("key").values_list("key", "value_json"))


def put(key: str, value: Any, *, by: str = "") -> None:
    """Set a setting. Raises Refused for an unknown key or an invalid value."""
    if sentence := find_refusal(key, value):
        raise Refused(sentence)
    with transaction.atomic():
        KeyValue.objects.put(SCOPE, key, value)
        audit.record(by, "setting_changed", object_type="setting", object_id=key)
        if effect := settings.SETTING_EFFECTS.get(key):
            import_string(effect)()


def put_all(values: dict[str, Any], *, by: str = "") -> None:
    """Set several settings, or none.

    Raises Refused for the first unknown key or invalid value.
    """
    with transaction.atomic():
        for key, value in values.items():
            put(key, value, by=by)


def find_refusal(key: str, value: Any) -> str:
    """Why a setting cannot have this value, as a sentence, or "".

    Raises Refused for an unknown key.
    """
    setting = _get_setting(key)
    return "" if setting.accepts(value) else setting.refusal(key, value)


def setting_to_json(key: str, value: Any) -> dict[str, Any]:
    """A setting for programs: key, value and default. Raises Refused for an unknown key."""
    return {"key": key, "value": value, "default": _get_setting(key).default}


def _get_setting(key):
    if key not in KEYS:
        raise Refused(gettext("There is no setting %(key)s.") % {"key": key})
    return KEYS[key]
