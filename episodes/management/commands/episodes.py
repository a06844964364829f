"""`openclaw-web episodes`: the ledger, with the receipts of the existing tool (openclaw-mem 2.0.0)."""

import json
import os
from argparse import SUPPRESS
from contextlib import nullcontext

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import VERSION, clock
from openclaw_web.commands.groups import Group, WrongUse
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, WRONG_USE, get_output_encoding

from ...append import format_utc
from ...chain.heads import WrongHead
from ...events import WrongEvent
from ...verbs import (
    append,
    append_receipt,
    capture,
    embed,
    extract_sessions,
    gc,
    head,
    ingest,
    policy,
    query,
    redact,
    replay,
    search,
    verify,
)

HINT = gettext_lazy("openclaw-web episodes VERB --help lists the options.")
IGNORED = {"--db": "PATH", "--harness-home": "PATH"}
ENVIRONMENT = "OPENCLAW_MEM_DB"
THEIR_VERSION = "2.0.0"


class Command(Group):
    """The command `episodes`.

    Receipts are those of the existing tool: with `--json` one object, without it a line for each of its keys, and JSON
    for every failure of a verb.
    """

    help = gettext_lazy("Append, query, replay, redact and verify events of the ledger.")
    examples = (
        "episodes query --scope openclaw-mem --limit 20 --json",
        "episodes replay sess-001 --scope openclaw-mem",
        "episodes verify --head-file /mnt/usb/openclaw-web.head",
    )
    statuses = (DONE, FAILED, WRONG_USE, INTERRUPTED)
    verbs = {
        "append": append, "append-session-store-receipt": append_receipt, "extract-sessions": extract_sessions,
        "ingest": ingest, "query": query, "replay": replay, "search": search, "embed": embed, "redact": redact,
        "gc": gc, "policy": policy, "head": head, "verify": verify, "capture": capture,
    }  # fmt: skip
    verb_name = ""

    def add_arguments(self, parser):
        _add_ignored(parser)
        super().add_arguments(parser)

    def add_common_arguments(self, parser):
        parser.add_argument("--agent", default="main", help=_("agent whose ledger is meant (%(default)s)"))
        _add_ignored(parser)

    def handle(self, *args, **options):
        for name in [option for option in IGNORED if options.get(option.strip("-").replace("-", "_")) is not None]:
            self._say_ignored(name)
        if os.environ.get(ENVIRONMENT):
            self._say_ignored(ENVIRONMENT)
        # Receipts are for programs, in English; these verbs print words for people instead.
        is_for_people = options["verb"] in (head, policy, verify) and not options.get("json")
        with nullcontext() if is_for_people else translation.override(settings.LANGUAGE_CODE):
            super().handle(*args, **options)

    def _say_ignored(self, name):
        self.stderr.write(_("%(name)s is ignored: the ledger is in the file of the agent.") % {"name": name}, str)

    def run(self, verb, **options):
        self.verb_name = next(name for name, module in self.verbs.items() if module is verb)
        super().run(verb, **options)

    def _status_of(self, refused):
        return WRONG_USE if isinstance(refused, WrongEvent | WrongHead | WrongUse) else FAILED

    def fail(self, sentence, status, *, reasons=()):
        if not self.verb_name:  # the command line itself, which goes to standard error alone
            self.is_json = False
            super().fail(sentence, status, reasons=reasons)
        details = {"detail": "\n".join(row["reason"] for row in rows)} if (rows := list(reasons)) else {}
        receipt = {"kind": self._kind, "ok": False, "error": str(sentence), **details, "hint": str(HINT)}
        self._print(_as_json(receipt))
        raise CommandError("", returncode=status)

    def end(self, outcome):
        failure = {"error": outcome.sentence, "hint": str(HINT)} if outcome.status else {}
        receipt = {
            "kind": self._kind,
            "ts": format_utc(clock.now_ms()),
            "version": {"openclaw_mem": THEIR_VERSION, "schema": "v0", "openclaw_web": VERSION},
            "ok": not outcome.status,
            **outcome.receipt,
            **failure,
        }
        lines = outcome.words or "\n".join(f"{name}: {value}" for name, value in receipt.items())
        self._print(_as_json(receipt) if self.is_json else lines)
        if outcome.status:
            raise CommandError(outcome.sentence, returncode=outcome.status)

    @property
    def _kind(self):
        return f"openclaw-mem.episodes.{self.verb_name}.v0"

    def _print(self, text):
        self.stdout.write(self.fit_to_output(text, errors="backslashreplace"))
        self.stdout.flush()  # a closed pipe is noticed here, not when Python ends


def _add_ignored(parser):
    for option, metavar in IGNORED.items():
        parser.add_argument(
            option, metavar=metavar, default=SUPPRESS, help=_("accepted for scripts of openclaw-mem, and ignored")
        )


def _as_json(receipt):
    is_ascii = not get_output_encoding().lower().startswith("utf")
    return json.dumps(receipt, ensure_ascii=is_ascii, indent=2)
