from pathlib import Path

import orjson

from agents import configuration, reasons, settings_import
from agents.commands import PARTLY, WRONG_USE, Verb
from openclaw_web.errors import Refused

BY = "command line"


class Command(Verb):
    help = "Show and change what an operator tunes."
    examples = (
        "settings",
        "settings get memoryGate.windowSize",
        "settings set memoryGate.windowSize 20",
        'settings set collector.optedOutSenders \'["42", "mei"]\'',
        "settings import reflection.json --dry-run",
        "settings import ~/.openclaw/openclaw.json",
    )
    schema = "openclaw-web.settings.v1"
    is_mixed = True
    statuses = (0, 2, 3, PARTLY, 130)
    status_words = {PARTLY: "imported, with names that are unknown"}

    def add_arguments(self, parser):
        parser.add_argument("action", nargs="?", default="get", choices=("get", "set", "import"), help="(get)")
        parser.add_argument("what", nargs="?", metavar="KEY", help="a setting; with import: a file (JSON or JSON5)")
        parser.add_argument("value", nargs="?", metavar="VALUE", help="JSON; what is no JSON is a text")
        parser.add_argument(
            "--dry-run", action="store_true", help="with import: say what would be set, and set nothing"
        )

    def run(self, action, what, value, dry_run=False, **options):
        if dry_run and action != "import":
            self.fail("--dry-run is for import: openclaw-web settings import FILE --dry-run", WRONG_USE)
        if action == "import":
            self._import(what, dry_run)
            return
        if action == "set":
            configuration.put_all(self._pair(what, value), by=BY)
        rows = _rows([what] if what else list(configuration.KEYS))
        self.answer({"settings": rows, "dry_run": False, "ignored": [], "ignored_count": 0}, _lines(rows))

    def _import(self, file, dry_run):
        before = {key: configuration.get(key) for key in configuration.KEYS}
        found = settings_import.apply(settings_import.parse(read(file)), by=BY, is_dry=dry_run)
        rows = [
            {"key": key, "value": value, "default": configuration.default(key), "before": before[key]}
            for key, value in found.values.items()
        ]
        ignored = [one.as_json() for one in found.ignored]
        listed = ignored[: settings_import.LISTED]
        facts = {"settings": rows, "dry_run": dry_run, "ignored": listed, "ignored_count": len(ignored)}
        last = ["Nothing was set: this was a dry run."] if dry_run else []
        words = "\n".join([_lines(rows), *_ignored_lines(ignored), *last])
        if not found.unknown:
            self.answer(facts, words)
            return
        reasons = [{"id": one.key, "reason": one.reason} for one in found.unknown[: settings_import.LISTED]]
        self.end_partly(facts, words, "Some names are no settings of this site. The others were imported.", reasons)

    def _pair(self, key, value):
        if key is None or value is None:
            raise Refused("Say which setting and its value: openclaw-web settings set KEY VALUE")
        try:
            return {key: orjson.loads(value)}
        except orjson.JSONDecodeError:
            return {key: value}


def read(file):
    """The bytes of a file of settings, one more than it may have. Raises Refused when it cannot be read."""
    if file is None:
        raise Refused("Say which file: openclaw-web settings import FILE")
    try:
        with Path(file).open("rb") as opened:
            return opened.read(settings_import.MOST_BYTES + 1)
    except OSError as exc:
        raise Refused(f"{file} could not be read: {reasons.of(exc)}.") from exc


def _rows(keys):
    return [{"key": key, "value": configuration.get(key), "default": configuration.default(key)} for key in keys]


def _lines(rows):
    return "\n".join(f"{row['key']} = {_text(row['value'])}{_before(row)}" for row in rows)


def _before(row):
    is_changed = row.get("before", row["value"]) != row["value"]
    return f" (before: {_text(row['before'])})" if is_changed else ""


def _text(value):
    return orjson.dumps(value).decode()


def _ignored_lines(ignored):
    if ignored:
        yield "Not imported:"
    yield from (f"  {one['key']}: {one['reason']}" for one in ignored[: settings_import.LISTED])
    if len(ignored) > settings_import.LISTED:
        yield f"  … and {len(ignored) - settings_import.LISTED} more"
