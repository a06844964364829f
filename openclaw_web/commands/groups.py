"""Commands that have verbs of their own, such as `openclaw-web artifact stash`.

`VerbModule` says what a verb needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from ..errors import Refused
from .verbs import (
    DONE,
    FAILED,
    INTERRUPTED,
    PARTLY,
    REFUSED,
    WRONG_USE,
    HelpFormatter,
    Verb,
    is_disabled,
    refuse_disabled,
)

MOST_ROWS = 1_000  # of a list


class WrongUse(Refused):
    """The command line makes no sense. Exit status 2."""


def check_limit(limit: int) -> None:
    """Raise WrongUse for a number of rows that no list may have."""
    if not 1 <= limit <= MOST_ROWS:
        raise WrongUse(_("--limit must be 1 to 1000."))


class Failed(Refused):
    """The command began its work and could not finish it. Exit status 1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a verb: its receipt, the same in words, and its exit status.

    A status that is not 0 has a `sentence`, which the receipt gets as `error`, and perhaps `reasons`.
    """

    receipt: dict[str, Any]
    words: str
    status: int = DONE
    sentence: str = ""
    reasons: tuple[dict[str, str], ...] = ()


class VerbModule(Protocol):
    """Interface of a verb, which is a module of a few functions or a small object."""

    HELP: str
    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: CommandParser) -> None: ...

    def run(self, **options: Any) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Branch:
    """A word that verbs follow: `gate` in `openclaw-web reflection gate list`."""

    HELP: str
    verbs: Mapping[str, "VerbModule | Branch"]

    @property
    def EXAMPLES(self) -> tuple[str, ...]:
        return tuple(example for verb in self.verbs.values() for example in verb.EXAMPLES[:1])


class Misused(CommandError):
    """A command line that no verb understands, with the parser that prints the usage."""

    def __init__(self, sentence, parser):
        super().__init__(sentence, returncode=WRONG_USE)
        self.parser = parser


class VerbParser(CommandParser):
    """The parser of a verb, which reports unknown arguments itself, with its own usage.

    Raises Refused for a verb of a disabled capability.
    """

    def parse_known_args(self, args=None, namespace=None):
        words = _strip_program(self.prog)
        refuse_disabled(words)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            values = {"verb": words, "word": unknown[0].partition("=")[0]}
            self.error(_("%(verb)s has no %(word)s.") % values)
        return parsed, unknown

    def error(self, message):
        raise Misused(message, self)


def _strip_program(prog):
    """The words of a command line without the name of the program."""
    return prog.removeprefix("openclaw-web").strip()


class Group(Verb):
    """A command whose first words are a verb. Subclasses fill `verbs`, and `refusals`: statuses by exception.

    A command that does something without a verb says so in `alone`.
    """

    verbs: Mapping[str, VerbModule | Branch] = {}
    alone: VerbModule | None = None
    refusals: dict[type[Refused], int] = {}
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    has_receipt = True

    def add_arguments(self, parser):
        count = len(parser._actions)
        if self.alone:
            self.alone.add_arguments(parser)
            parser.set_defaults(verb=self.alone)
        self._alone_actions = parser._actions[count:]
        self._add_verbs(parser, self.verbs, is_needed=self.alone is None)

    def _add_verbs(self, parser, verbs, *, is_needed=True):
        name = "VERB" if is_needed else "[VERB]"
        words = parser.add_subparsers(required=is_needed, metavar=name, title=_("verbs"), parser_class=VerbParser)
        for name, verb in verbs.items():
            texts = {"description": str(verb.HELP), "epilog": self._epilog_of(verb.EXAMPLES)}
            if not is_disabled(f"{_strip_program(parser.prog)} {name}"):
                texts["help"] = str(verb.HELP)  # without it the list of verbs leaves the verb out
            below = words.add_parser(name, formatter_class=HelpFormatter, **texts)
            if isinstance(verb, Branch):
                self._add_verbs(below, verb.verbs)
                continue
            verb.add_arguments(below)
            self.add_common_arguments(below)
            self.add_usual_arguments(below, is_below=True)
            below.set_defaults(verb=verb)

    def add_common_arguments(self, parser: CommandParser) -> None:
        """Add the arguments that every verb has."""

    def run(self, verb, **options):
        # `archive --dry-run restore FILE`: the option would be ignored.
        for action in self._alone_actions if verb is not self.alone else ():
            if options[action.dest] != action.default:
                words = {"option": action.option_strings[-1]}
                self.fail(_("%(option)s cannot be used with a verb.") % words, WRONG_USE)
        try:
            outcome = self.ask(verb, **options)
        except Refused as refused:
            self.fail(refused.sentence, self._status_of(refused), reasons=refused.reasons)
        self.end(outcome)

    def ask(self, verb: VerbModule, **options: Any) -> Outcome:
        """Run a verb. Subclasses pass the arguments that all of their verbs need."""
        return verb.run(**options)

    def _status_of(self, refused):
        return ({WrongUse: WRONG_USE, Failed: FAILED} | self.refusals).get(type(refused), REFUSED)

    def end(self, outcome: Outcome) -> None:
        """Print the outcome, and end with its status."""
        if outcome.status:
            report = (outcome.receipt, outcome.words, outcome.sentence, outcome.reasons)
            self.end_partly(*report, status=outcome.status)
        self.answer(outcome.receipt, outcome.words)
