"""Imports settings from a file: ours, or the configuration of openclaw-reflection.

Source format: JSON5. Names are dotted or nested. An object with `config` is the entry of a plugin; one with
`plugins.entries` is a whole `openclaw.json`, of which only entries with `reflection` in their names are read. Ignored
names are reported with the reason. Their values are never repeated, because a value may be a key.
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
WEIGHTS = "datasetCollection.qualityScoring.weights"
# Settings that the Reflection spec spells with the prefix `storage.`.
STORAGE = ("retentionDays", "jsonlExport.enabled", "jsonlExport.schedule", "jsonlExport.retentionDays")
SPELLED = {f"storage.{key}": key for key in STORAGE}
_LATER = N_("Not used by this version.")
_PLUGINS = N_("It is about the plugin, which this site does not run.")
# Other names of that spec, by name or by prefix (the longest counts), and why they are no settings here.
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
    "datasetCollection.": (ELSEWHERE, N_("Save it in a version of the strategy: page Collecting.")),
    "datasetCollection.privacyFiltering.enabled": (
        ELSEWHERE,
        N_("Texts are always scanned, and exports always redact what was found."),
    ),
    "datasetCollection.qualityScoring.": (ELSEWHERE, N_("Scores are computed whenever the turn is complete.")),
    "consolidation.": (NOT_USED, _LATER),
    "llm.": (NOT_USED, _LATER),
    "llm.baseURL": (ELSEWHERE, N_("Set the address of the model in the environment: OPENCLAW_WEB_LLM_URL.")),
}
_SECRET = re.compile(r"api[_-]?key|password|secret|token|credential|private[_-]?key", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ignored:
    """A name in the file that was not imported.

    `why` is a word that programs may rely on.
    """

    key: str
    why: str
    reason: str


@dataclass(frozen=True, slots=True)
class Import:
    """The content of a file: values by our names of settings, and ignored names."""

    values: dict[str, Any]
    ignored: list[Ignored]

    @property
    def unknown(self) -> list[Ignored]:
        return [name for name in self.ignored if name.why == UNKNOWN]


def parse_file(data: bytes) -> Any:
    """Parse a file of settings. Raises Refused when it is too large or no JSON5."""
    if len(data) > MOST_BYTES:
        raise Refused(_("A settings file can have at most 1 MB. Nothing was changed."))
    try:
        return json5.loads(data)
    except json5.NotJson as exc:
        raise Refused(
            _("The settings file cannot be used: %(reason)s. Nothing was changed.") % {"reason": exc}
        ) from None


def plan(document: Any) -> Import:
    """Validate `document`, and return the settings it would change.

    Raises Refused, with all reasons, when a value does not fit or no name is known.
    """
    values: dict[str, Any] = {}
    ignored, wrong = [], []
    for name, value in _iterate_values(document):
        key = SPELLED.get(name, name)
        if key not in configuration.KEYS:
            ignored.append(_explain_ignored(name))
        elif sentence := configuration.find_refusal(key, value := _as_lines(key, value)):
            wrong.append({"id": name, "reason": sentence})
        elif values.setdefault(key, value) != value:
            wrong.append({"id": name, "reason": _("The file contains two values for %(key)s.") % {"key": key}})
    if wrong:
        raise Refused(_("Nothing was changed: %(reason)s") % {"reason": wrong[0]["reason"]}, reasons=wrong)
    if not values:
        reasons = [{"id": name_ignored.key, "reason": name_ignored.reason} for name_ignored in ignored[:LISTED]]
        raise Refused(_("The file contains none of the settings of this site. Nothing was changed."), reasons=reasons)
    return Import(values, ignored)


def import_settings(document: Any, *, by: str, is_dry: bool = False) -> Import:
    """Set the settings in `document`, all or none; with `is_dry` only validate.

    Raises Refused like `plan`.
    """
    with transaction.atomic():
        imported = plan(document)
        if not is_dry:
            configuration.put_all(imported.values, by=by)
    return imported


def _as_lines(key, value):
    """The weights of the spec, an object, as the lines that the setting has here."""
    is_object = key == WEIGHTS and isinstance(value, dict)
    return [f"{name}: {number}" for name, number in value.items()] if is_object else value


def _iterate_values(document) -> Iterator[tuple[str, Any]]:
    """Yield every value with its name as in the spec."""
    if not isinstance(document, dict):
        raise Refused(_("The file must contain an object with settings and their values. Nothing was changed."))
    for part in _find_entries(document):
        for name, value in _flatten(part, "", MOST_DEEP):
            yield name.removeprefix("config."), value


def _find_entries(document):
    plugins = document.get("plugins")
    entries = plugins.get("entries") if isinstance(plugins, dict) else None
    if not isinstance(entries, dict):
        return [document]
    reflection_entries = [
        entry for name, entry in entries.items() if PLUGIN in name.lower() and isinstance(entry, dict)
    ]
    if not reflection_entries:
        raise Refused(_("This openclaw.json configures no plugin with “reflection” in its name. Nothing was changed."))
    return reflection_entries


def _flatten(values, prefix, deep):
    """Flatten `{"memoryGate": {"windowSize": 10}}` to `memoryGate.windowSize`.

    Dotted names remain as they are.
    """
    for name, value in values.items():
        key = f"{prefix}{name}"[:MOST_NAME]  # otherwise each name below repeats a long name
        if isinstance(value, dict) and key.removeprefix("config.") not in configuration.KEYS and deep:
            yield from _flatten(value, f"{key}.", deep - 1)
        else:
            yield key, value


def _explain_ignored(name):
    if _SECRET.search(name.rpartition(".")[2]):
        return Ignored(_make_printable(name), SECRET, _("Secrets are not stored here."))
    begins = [begin for begin in OTHERS if name == begin or (begin.endswith(".") and name.startswith(begin))]
    if not begins:
        return Ignored(_make_printable(name), UNKNOWN, _("There is no such setting."))
    why, reason = OTHERS[max(begins, key=len)]
    return Ignored(name, why, _(reason))


def _make_printable(name):
    return "".join(letter if letter.isprintable() else "?" for letter in name)
