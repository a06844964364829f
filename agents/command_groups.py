"""Commands that have verbs of their own: `openclaw-web artifact stash`. Each verb is a module of a few functions."""

import sys
from dataclasses import dataclass
from typing import Any, Protocol

from django.core.management.base import CommandError, CommandParser

from openclaw_web.errors import Refused

from .commands import DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, HelpFormatter, Verb


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verb did: its receipt (`schema` first), the same in words, and how it ended.

    A status that is not 0 has a `sentence`, which the receipt gets as `error`, and perhaps `reasons`.
    """

    receipt: dict[str, Any]
    words: str
    status: int = DONE
    sentence: str = ""
    reasons: tuple[dict[str, str], ...] = ()


class VerbModule(Protocol):
    """What a module of a verb has."""

    HELP: str
    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: CommandParser) -> None: ...

    def run(self, **options: Any) -> Outcome: ...


class Group(Verb):
    """A command whose first word is a verb. Subclasses fill `verbs`, `hint`, and `refusals`: statuses by exception."""

    verbs: dict[str, VerbModule] = {}
    refusals: dict[type[Refused], int] = {}
    hint = ""
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)

    def add_arguments(self, parser):
        self._parsers = {}
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", title="verbs")
        for name, module in self.verbs.items():
            verb = verbs.add_parser(
                name,
                help=module.HELP,
                description=module.HELP,
                formatter_class=HelpFormatter,
                epilog=self._epilog_of(module.EXAMPLES),
            )
            module.add_arguments(verb)
            self.add_common_arguments(verb)
            verb.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
            self._parsers[name] = verb

    def add_common_arguments(self, parser: CommandParser) -> None:
        """Add what every verb knows."""

    def run(self, verb, **options):
        try:
            outcome = self.verbs[verb].run(**options)
        except Refused as refused:
            self.fail(refused.sentence, self.refusals.get(type(refused), REFUSED), reasons=refused.reasons)
        self._end(outcome)

    def fail(self, sentence, status, *, reasons=()):
        """End with `status`; a receipt has the sentence, and where to read on."""
        rows = list(reasons)
        if self.is_json:
            failure = {"error": str(sentence), "hint": self.hint, "ok": False, "reasons": rows}
            self._print(self.as_json(failure))
        raise CommandError(str(sentence), returncode=status)

    def _end(self, outcome):
        failure = {"error": outcome.sentence, "reasons": list(outcome.reasons)} if outcome.status else {}
        receipt = {**outcome.receipt, "ok": not outcome.status, **failure}
        self._print(self.as_json(receipt) if self.is_json else outcome.words)
        if outcome.status:
            raise CommandError(outcome.sentence, returncode=outcome.status)

    def as_json(self, facts: dict[str, Any]) -> str:
        """A receipt as text."""
        raise NotImplementedError

    def _parse(self, argv):
        parser = self.create_parser("openclaw-web", argv[1])
        try:
            return vars(parser.parse_args(argv[2:]))
        except CommandError as error:
            self.is_json = "--json" in argv
            self._parsers.get(next(iter(argv[2:]), ""), parser).print_usage(sys.stderr)
            self.fail(str(error).removeprefix("Error: "), WRONG_USE)
