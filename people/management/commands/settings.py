from dataclasses import asdict
from pathlib import Path

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import reasons
from openclaw_web.commands.groups import Group, Outcome, VerbModule
from openclaw_web.commands.verbs import BY, PARTLY
from openclaw_web.errors import Refused

from ...configuration import file_import
from ...configuration import setting_values as configuration

SOME_UNKNOWN = gettext_lazy("Some names are not settings of this site. The others were imported.")


class Listing(VerbModule):
    """Lists every setting, when no verb is given."""

    HELP = gettext_lazy("Show all settings.")
    EXAMPLES = ("settings",)

    def run(self, key=None, **options):
        return _list_settings([key] if key else list(configuration.KEYS))


class Get(Listing):
    HELP = gettext_lazy("Show one setting, or all settings.")
    EXAMPLES = ("settings get memoryGate.windowSize",)

    def add_arguments(self, parser):
        parser.add_argument("key", nargs="?", metavar="KEY", help=_("name of the setting (all settings)"))


class Set:
    HELP = gettext_lazy("Change a setting.")
    EXAMPLES = (
        "settings set memoryGate.windowSize 20",
        'settings set collector.optedOutSenders \'["42", "mei"]\'',
    )

    def add_arguments(self, parser):
        parser.add_argument("key", metavar="KEY", help=_("name of the setting"))
        parser.add_argument("value", metavar="VALUE", help=_("JSON; anything else is stored as text"))

    def run(self, key, value, **options):
        configuration.put_all({key: _parse_value(value)}, by=BY)
        return _list_settings([key])


class Import:
    HELP = gettext_lazy("Import settings from a file.")
    EXAMPLES = ("settings import reflection.json --dry-run", "settings import ~/.openclaw/openclaw.json")

    def add_arguments(self, parser):
        parser.add_argument("file", nargs="?", metavar="FILE", help=_("JSON or JSON5"))
        parser.add_argument("--dry-run", action="store_true", help=_("show what would change, and change nothing"))

    def run(self, file, dry_run, **options):
        before = configuration.get_many(*configuration.KEYS)
        imported = file_import.import_settings(file_import.parse_file(read(file)), by=BY, is_dry=dry_run)
        rows = [
            configuration.setting_to_json(key, value) | {"before": before[key]}
            for key, value in imported.values.items()
        ]
        ignored = [asdict(ignored) for ignored in imported.ignored]
        listed = ignored[: file_import.LISTED]
        facts = {"settings": rows, "dry_run": dry_run, "ignored": listed, "ignored_count": len(ignored)}
        last = [_("Dry run: nothing was changed.")] if dry_run else []
        words = "\n".join([_format_lines(rows), *_format_ignored(ignored), *last])
        if not imported.unknown:
            return Outcome(facts, words)
        rows = tuple({"id": name.key, "reason": name.reason} for name in imported.unknown[: file_import.LISTED])
        return Outcome(facts, words, PARTLY, str(SOME_UNKNOWN), rows)


class Command(Group):
    help = gettext_lazy("Show and change settings.")
    examples = (*Listing.EXAMPLES, *Get.EXAMPLES, *Set.EXAMPLES, *Import.EXAMPLES)
    alone = Listing()
    verbs = {"get": Get(), "set": Set(), "import": Import()}
    schema = "openclaw-web.settings.v1"
    statuses = (0, 2, 3, PARTLY, 130)
    status_words = {PARTLY: gettext_lazy("imported, but some names are unknown")}


def _list_settings(keys):
    rows = [configuration.setting_to_json(key, value) for key, value in configuration.get_many(*keys).items()]
    return Outcome({"settings": rows, "dry_run": False, "ignored": [], "ignored_count": 0}, _format_lines(rows))


def _parse_value(text):
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def read(file):
    """The bytes of a file, one more than the limit at most.

    Raises Refused when it cannot be read.
    """
    if file is None:
        raise Refused(_("Name the file: openclaw-web settings import FILE"))
    try:
        with Path(file).open("rb") as stream:
            return stream.read(file_import.MOST_BYTES + 1)
    except OSError as exc:
        raise Refused(
            _("%(file)s was not read: %(reason)s.") % {"file": file, "reason": reasons.describe_error(exc)}
        ) from exc


def _format_lines(rows):
    return "\n".join(f"{row['key']} = {_format_value(row['value'])}{_format_before(row)}" for row in rows)


def _format_before(row):
    is_changed = row.get("before", row["value"]) != row["value"]
    return _(" (before: %(value)s)") % {"value": _format_value(row["before"])} if is_changed else ""


def _format_value(value):
    return orjson.dumps(value).decode()


def _format_ignored(ignored):
    if ignored:
        yield _("Not imported:")
    yield from (f"  {name['key']}: {name['reason']}" for name in ignored[: file_import.LISTED])
    if len(ignored) > file_import.LISTED:
        yield _("  … and %(count)s more") % {"count": f"{len(ignored) - file_import.LISTED:,}"}
