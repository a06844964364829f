"""Settings out of a file: ours, and the configuration of openclaw-reflection as its spec spells it.

Source format: JSON5. Names are dotted or nested. An object with `config` is a plugin's entry, and one with
`plugins.entries` is a whole `openclaw.json`, of which only entries with `reflection` in their names are looked at.
What is not taken is named with the reason; a value that is not taken is never repeated, because it may be a key.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from openclaw_web import json5
from openclaw_web.errors import Refused

from . import setting_values as configuration

MOST_BYTES = 1024 * 1024
MOST_DEEP = 20
MOST_NAME = 300
LISTED = 200
NOT_USED, ELSEWHERE, SECRET, UNKNOWN = "not_used", "elsewhere", "secret", "unknown"
PLUGIN = "reflection"
# What the Reflection spec spells with `storage.` before it.
STORAGE = ("retentionDays", "jsonlExport.enabled", "jsonlExport.schedule", "jsonlExport.retentionDays")
SPELLED = {f"storage.{key}": key for key in STORAGE}
_LATER = N_("Not used by this version.")
_PLUGINS = N_("It is about the plugin, which this site does not run.")
# What else that spec has, by name or by the beginning of names (the longest counts), and why it is no setting here.
OTHERS = {
    "enabled": (NOT_USED, _PLUGINS),
    "bufferSize": (NOT_USED, _PLUGINS),
    "logLevel": (NOT_USED, _PLUGINS),
    "workspaceDir": (ELSEWHERE, N_("Workspaces are found in openclaw.json.")),
    "storage.type": (ELSEWHERE, N_("The store is always SQLite.")),
    "storage.sqlite.": (ELSEWHERE, N_("The site sets up its databases itself.")),
    "storage.sqlite.dbPath": (ELSEWHERE, N_("Set the folder of the store in the environment: OPENCLAW_WEB_HOME.")),
    "storage.sqlite.busyTimeoutMs": (
        ELSEWHERE,
        N_("Set it in the environment, in seconds: OPENCLAW_WEB_BUSY_SECONDS."),
    ),
    "storage.sqlite.walMode": (ELSEWHERE, N_("Databases always have a write-ahead log.")),
    "storage.sqlite.autoVacuum": (ELSEWHERE, N_("Databases always give room back (incremental vacuum).")),
    "storage.sqlite.retentionDays": (NOT_USED, N_("It is called storage.retentionDays.")),
    "memoryGate.model": (NOT_USED, N_("It is called llm.model.")),
    "memoryGateAuditing.": (NOT_USED, _LATER),
    "datasetCollection.": (NOT_USED, _LATER),
    "consolidation.": (NOT_USED, _LATER),
    "llm.": (NOT_USED, _LATER),
    "llm.baseURL": (ELSEWHERE, N_("Set the address of the model in the environment: OPENCLAW_WEB_LLM_URL.")),
}
_SECRET = re.compile(r"api[_-]?key|password|secret|token|credential|private[_-]?key", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ignored:
    """A name of the file that was not taken: `why` is a word that programs may rely on."""

    key: str
    why: str
    reason: str


@dataclass(frozen=True, slots=True)
class Import:
    """What a file holds: values by the names that settings have here, and everything else of it."""

    values: dict[str, Any]
    ignored: list[Ignored]

    @property
    def unknown(self) -> list[Ignored]:
        return [one for one in self.ignored if one.why == UNKNOWN]


def parse_file(data: bytes) -> Any:
    """The value of a file of settings. Raises Refused for one that is too big or no JSON5."""
    if len(data) > MOST_BYTES:
        raise Refused(_("A settings file can have at most 1 MB. Nothing was changed."))
    try:
        return json5.loads(data)
    except json5.NotJson as exc:
        raise Refused(
            _("The settings file cannot be used: %(reason)s. Nothing was changed.") % {"reason": exc}
        ) from None


def plan(document: Any) -> Import:
    """What `document` would set. Raises Refused, with every reason, when a value does not fit or nothing is known."""
    values: dict[str, Any] = {}
    ignored, wrong = [], []
    for name, value in _named(document):
        key = SPELLED.get(name, name)
        if key not in configuration.KEYS:
            ignored.append(_why_not(name))
        elif sentence := configuration.find_refusal(key, value):
            wrong.append({"id": name, "reason": sentence})
        elif values.setdefault(key, value) != value:
            wrong.append({"id": name, "reason": _("The file contains two values for %(key)s.") % {"key": key}})
    if wrong:
        raise Refused(_("Nothing was changed: %(reason)s") % {"reason": wrong[0]["reason"]}, reasons=wrong)
    if not values:
        reasons = [{"id": one.key, "reason": one.reason} for one in ignored[:LISTED]]
        raise Refused(_("The file contains none of the settings of this site. Nothing was changed."), reasons=reasons)
    return Import(values, ignored)


def import_settings(document: Any, *, by: str, is_dry: bool = False) -> Import:
    """Set what `document` holds, all of it or nothing; with `is_dry` only look. Raises Refused like `plan`."""
    with transaction.atomic():
        found = plan(document)
        if not is_dry:
            configuration.put_all(found.values, by=by)
    return found


def _named(document) -> Iterator[tuple[str, Any]]:
    """Every value with its name as the spec has it."""
    if not isinstance(document, dict):
        raise Refused(_("The file must contain an object with settings and their values. Nothing was changed."))
    for part in _parts(document):
        for name, value in _flat(part, "", MOST_DEEP):
            yield name.removeprefix("config."), value


def _parts(document):
    plugins = document.get("plugins")
    entries = plugins.get("entries") if isinstance(plugins, dict) else None
    if not isinstance(entries, dict):
        return [document]
    found = [entry for name, entry in entries.items() if PLUGIN in name.lower() and isinstance(entry, dict)]
    if not found:
        raise Refused(_("This openclaw.json configures no plugin with “reflection” in its name. Nothing was changed."))
    return found


def _flat(values, prefix, deep):
    """`{"memoryGate": {"windowSize": 10}}` as `memoryGate.windowSize`; dotted names stay as they are."""
    for name, value in values.items():
        key = f"{prefix}{name}"[:MOST_NAME]  # or a long name with many below it would be written out for each of them
        if isinstance(value, dict) and key not in configuration.KEYS and deep:
            yield from _flat(value, f"{key}.", deep - 1)
        else:
            yield key, value


def _why_not(name):
    if _SECRET.search(name.rpartition(".")[2]):
        return Ignored(_shown(name), SECRET, _("Secrets are not stored here."))
    begins = [begin for begin in OTHERS if name == begin or (begin.endswith(".") and name.startswith(begin))]
    if not begins:
        return Ignored(_shown(name), UNKNOWN, _("There is no such setting."))
    why, reason = OTHERS[max(begins, key=len)]
    return Ignored(name, why, _(reason))


def _shown(name):
    return "".join(letter if letter.isprintable() else "?" for letter in name)
