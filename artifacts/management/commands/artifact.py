import json
import sys

import orjson
from django.core.management.base import BaseCommand, CommandError

from artifacts.errors import Damaged, NoRoom, NoSuchArtifact
from artifacts.handles import NotAHandle
from openclaw_web.errors import Refused

from .artifact_verbs import WrongUse, fetch, gc, import_, lint, list_, peek, rm, stash, verify

VERBS = {
    "stash": stash, "fetch": fetch, "peek": peek, "list": list_, "rm": rm,
    "gc": gc, "verify": verify, "import": import_, "lint": lint,
}  # fmt: skip
# As the existing tool ends: 2 for what was typed wrongly, 1 for what is not there or damaged.
STATUSES = {NotAHandle: 2, WrongUse: 2, NoSuchArtifact: 1, Damaged: 1, NoRoom: 1}
HINT = "openclaw-web artifact VERB --help tells the options."


class Command(BaseCommand):
    requires_system_checks = []  # an agent waits for the answer
    help = "Keep big outputs in the artifact store, and get them back in pieces of known size."

    def add_arguments(self, parser):
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, module in VERBS.items():
            verb = verbs.add_parser(name, help=module.HELP, description=module.HELP)
            module.add_arguments(verb)
            verb.add_argument("--agent", default="main", help="whose artifacts (%(default)s)")
            verb.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, verb, **options):
        try:
            receipt, words, status = VERBS[verb].run(**options)
        except Refused as exc:
            if options["json"]:
                self._write(_json({"error": exc.sentence, "hint": HINT}))
            raise CommandError(exc.sentence, returncode=STATUSES.get(type(exc), 3)) from exc
        if options["json"]:
            words = _json(receipt)
        self._write(words)
        if status:
            raise SystemExit(status)

    def _write(self, text):
        if self.stdout.isatty():  # what agents wrote must not steer the terminal
            text = "".join(char if char in "\n\t" or char.isprintable() else "\ufffd" for char in text)
        self.stdout.write(text.encode(sys.stdout.encoding or "utf-8", "replace").decode(sys.stdout.encoding or "utf-8"))


def _json(facts):
    try:
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # half a character, in a name of a file or an option
        return json.dumps(facts, indent=2)
