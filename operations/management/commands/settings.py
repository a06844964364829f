from pathlib import Path

import orjson

from agents import configuration, reasons
from agents.commands import Verb
from openclaw_web.errors import Refused

BY = "command line"


class Command(Verb):
    help = "Show and change what an operator tunes."
    examples = (
        "settings",
        "settings get memoryGate.windowSize",
        "settings set memoryGate.windowSize 20",
        'settings set collector.optedOutSenders \'["42", "mei"]\'',
        "settings import settings.json",
    )
    schema = "openclaw-web.settings.v1"

    def add_arguments(self, parser):
        parser.add_argument("action", nargs="?", default="get", choices=("get", "set", "import"), help="(get)")
        parser.add_argument("what", nargs="?", metavar="KEY", help="a setting; with import: a file with a JSON object")
        parser.add_argument("value", nargs="?", metavar="VALUE", help="JSON; what is no JSON is a text")

    def run(self, action, what, value, **options):
        keys = [what] if what else list(configuration.KEYS)
        if action == "set":
            configuration.put_all(self._pair(what, value), by=BY)
        elif action == "import":
            values = flat(read(what))
            configuration.put_all(values, by=BY)
            keys = list(values)
        rows = [{"key": key, "value": configuration.get(key), "default": configuration.default(key)} for key in keys]
        words = "\n".join(f"{row['key']} = {orjson.dumps(row['value']).decode()}" for row in rows)
        self.answer({"settings": rows}, words)

    def _pair(self, key, value):
        if key is None or value is None:
            raise Refused("Say which setting and its value: openclaw-web settings set KEY VALUE")
        try:
            return {key: orjson.loads(value)}
        except orjson.JSONDecodeError:
            return {key: value}


def read(file):
    """The JSON object in a file. Raises Refused when there is none."""
    if file is None:
        raise Refused("Say which file: openclaw-web settings import FILE")
    try:
        values = orjson.loads(Path(file).read_bytes())
    except (OSError, orjson.JSONDecodeError) as exc:
        raise Refused(f"{file} could not be read: {reasons.of(exc)}.") from exc
    if not isinstance(values, dict):
        raise Refused(f"{file} must hold one JSON object: setting to value.")
    return values


def flat(values, prefix=""):
    """`{"memoryGate": {"windowSize": 10}}` as `{"memoryGate.windowSize": 10}`; dotted names stay as they are."""
    found = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        found |= flat(value, f"{key}.") if isinstance(value, dict) and key not in configuration.KEYS else {key: value}
    return found
