import json
import sys

import orjson
from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from artifacts.errors import DamagedArtifact, NoRoom, NoSuchArtifact, WrongSelector
from artifacts.handles import NotAHandle
from openclaw_web.commands.groups import Group
from openclaw_web.commands.verbs import FAILED, WRONG_USE

from ...artifact_gc.services import WrongAge
from .artifact_verbs import fetch, gc, import_, lint, list_, peek, rm, stash, verify

HINT = gettext_lazy("openclaw-web artifact VERB --help lists the options.")


class Command(Group):
    """The command `artifact`, with the receipts of the existing tool.

    `schema` comes first, and a failure has a hint.
    """

    help = gettext_lazy("Store large outputs as artifacts, and read them in parts of limited size.")
    examples = (
        "artifact stash --from build.log --json | jq -r .handle",
        "artifact fetch ocm_artifact:v1:sha256:… --mode grep --pattern ERROR --max-chars 4000",
        "artifact gc --older-than 30d --dry-run",
    )
    verbs = {
        "stash": stash, "fetch": fetch, "peek": peek, "list": list_, "rm": rm,
        "gc": gc, "verify": verify, "import": import_, "lint": lint,
    }  # fmt: skip
    # Exit statuses of the existing tool: 2 for wrong input, 1 for missing or damaged artifacts.
    refusals = {
        NotAHandle: WRONG_USE, WrongAge: WRONG_USE, WrongSelector: WRONG_USE,
        NoSuchArtifact: FAILED, DamagedArtifact: FAILED, NoRoom: FAILED,
    }  # fmt: skip

    def add_common_arguments(self, parser):
        parser.add_argument("--agent", default="main", help=_("agent whose artifacts are meant (%(default)s)"))

    def fail(self, sentence, status, *, reasons=()):
        if self.is_json:
            self._print(_as_json({"error": str(sentence), "hint": str(HINT), "ok": False, "reasons": list(reasons)}))
        raise CommandError(str(sentence), returncode=status)

    def end(self, outcome):
        failure = {"error": outcome.sentence, "reasons": list(outcome.reasons)} if outcome.status else {}
        receipt = {**outcome.receipt, "ok": not outcome.status, **failure}
        self._print(_as_json(receipt) if self.is_json else outcome.words)
        if outcome.status:
            raise CommandError(outcome.sentence, returncode=outcome.status)

    def _print(self, text):
        if self.stdout.isatty():  # texts of agents must not control the terminal
            text = "".join(char if char in "\n\t" or char.isprintable() else "\ufffd" for char in text)
        encoding = sys.stdout.encoding or "utf-8"
        self.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _as_json(facts):
    try:
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # a lone surrogate, from a file name or an option
        return json.dumps(facts, indent=2)
