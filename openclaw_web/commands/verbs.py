"""Base class of our commands: help with examples, refusals, exit statuses and `--json` receipts.

A command speaks the language of the terminal; its texts for programs are English.
"""

import logging
import os
import sys
from argparse import SUPPRESS, RawDescriptionHelpFormatter
from collections.abc import Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NoReturn

import orjson
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections
from django.utils import translation
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .. import capabilities, reasons
from ..disk import home, reserve
from ..errors import Refused
from ..pages import glyphs
from ..sqlite import creation, failures, known_migrations

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that says something counts, as for other programs


def use_command_language(argv: list[str]) -> AbstractContextManager:
    """Use the language of the environment for the block, or English with `--json`.

    The words of a receipt never differ between languages.
    """
    code = settings.LANGUAGE_CODE if "--json" in argv else read_environment_language()
    return nullcontext() if code == settings.LANGUAGE_CODE else translation.override(code)


def read_environment_language() -> str:
    """The supported language that comes nearest to that of the environment, such as `zh_CN.UTF-8`."""
    locale_name = next((value for name in VARIABLES if (value := os.environ.get(name))), "")
    language_code = locale_name.partition(".")[0].partition("@")[0].replace("_", "-").lower()
    codes = [code for code, _name in settings.LANGUAGES]
    near_codes = [code for code in codes if code.partition("-")[0] == language_code.partition("-")[0]]
    return language_code if language_code in codes else next(iter(near_codes), settings.LANGUAGE_CODE)


DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED = 0, 1, 2, 3, 4, 130
STATUSES = {
    DONE: gettext_lazy("done"),
    FAILED: gettext_lazy("failed"),
    WRONG_USE: gettext_lazy("wrong use"),
    REFUSED: gettext_lazy("refused, nothing was done"),
    PARTLY: gettext_lazy("partly done"),
    INTERRUPTED: gettext_lazy("interrupted"),
}
BY = "command line"  # the user of acts in a terminal
REASONS_SHOWN = 20
TO_SERVE = 4 * reserve.TO_READ  # several processes, for long
NO_ROOM = gettext_lazy(
    "No space left on the disk of the home. To free space: run openclaw-web artifact gc, openclaw-web retention "
    "--days N --remove or openclaw-web archive --out on another disk, or remove files in %(home)s/backups by hand."
)


def is_disabled(command: str) -> bool:
    """Return whether a command, or a verb such as `reflection gate`, is of a disabled capability."""
    return capabilities.is_command_disabled(command, settings.DISABLED)


def refuse_disabled(command: str) -> None:
    """Raise Refused for a command or verb of a disabled capability."""
    if is_disabled(command):
        raise Refused(capabilities.describe(command))


class HelpFormatter(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Help formatter that prints examples as they are typed."""


class Verb(BaseCommand):
    """A command of ours. Subclasses write `run(**options)`, not `handle`.

    A Refused that `run` raises ends the command with status 3.

    `schema` names the receipt that `--json` prints; without one there is no `--json`. `has_progress` adds `--quiet`.
    """

    examples: tuple[str, ...] = ()
    statuses: tuple[int, ...] = (DONE, WRONG_USE, REFUSED, INTERRUPTED)
    status_words: dict[int, str] = {}  # meanings of statuses that differ for this verb
    schema = ""
    has_progress = False
    is_server = False
    needs_database = True
    works_in_home = True  # a restore of a backup has to wait for it
    works_on_damage = False  # reports a damaged global database itself
    requires_system_checks = []  # `./dev check` runs them; they would take two thirds of the start of every command
    # They still work; without them the help shows sooner what people look for.
    suppressed_base_arguments = {
        "--version", "-v", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    }  # fmt: skip

    def create_parser(self, prog_name, subcommand, **kwargs):
        refuse_disabled(subcommand)
        kwargs |= {"formatter_class": HelpFormatter, "epilog": self._epilog_of(self.examples)}
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.description = str(self.help)
        self.add_usual_arguments(parser)
        for action in parser._actions:  # Django adds this one past suppressed_base_arguments
            if "--skip-checks" in action.option_strings:
                action.help = SUPPRESS
        return parser

    @property
    def has_receipt(self) -> bool:
        """Whether the command has the option `--json`."""
        return bool(self.schema)

    def add_usual_arguments(self, parser: CommandParser, *, is_below: bool = False) -> None:
        """Add the options that commands have in common.

        `is_below`: the parser belongs to a verb of a group, which has the options already; the group's value stays.
        """
        flag: dict[str, Any] = {"action": "store_true"} | ({"default": SUPPRESS} if is_below else {})
        if self.has_receipt:
            parser.add_argument("--json", help=_("print one JSON object and nothing else"), **flag)
        if self.has_progress:
            parser.add_argument("--quiet", help=_("do not show progress"), **flag)

    def _epilog_of(self, lines):
        usable = (line for line in lines if not is_disabled(" ".join(line.split()[:2])))
        examples = "\n".join(f"  openclaw-web {line}" for line in usable)
        statuses = ", ".join(f"{status} {(STATUSES | self.status_words)[status]}" for status in self.statuses)
        return _("examples:\n%(examples)s\n\nexit status: %(statuses)s") % {"examples": examples, "statuses": statuses}

    def run_from_argv(self, argv):
        """Run for a shell.

        A failure is printed as a sentence on standard error, and as a receipt on standard output with `--json`.
        """
        if not self.is_server:
            # A server's log is its output; a command's output is its answer.
            for handler in logging.getLogger().handlers:
                if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout:
                    handler.setStream(sys.stderr)
        options = {}
        try:
            with use_command_language(argv):
                options = self._parse(argv)
                with self._hold_home(options):
                    self._run_on_database(options)
        except CommandError as error:
            if options.get("traceback"):
                raise
            if str(error):
                sys.stderr.write(f"{glyphs.to_terminal(str(error))}\n")
            sys.exit(error.returncode)
        finally:
            connections.close_all()
            reserve.give_back(settings.HOME_DIR)

    def _run_on_database(self, options):
        if not home.is_left_alone():
            reserve.choose_temporary_folder(settings.HOME_DIR)
            reserve.release(settings.HOME_DIR, TO_SERVE if self.is_server else reserve.TO_READ)
        try:
            if self.needs_database:
                with suppress(DatabaseError) if self.works_on_damage else nullcontext():
                    _make_database()
            if self.works_in_home:
                import_string(settings.LEFT_BEHIND)(_say_on_stderr, is_server=self.is_server)
            self.execute(*options.pop("args", ()), **options)
        except Refused as refused:  # before the verb itself ran
            self.is_json = options.get("json", False)
            self.fail(refused.sentence, REFUSED if REFUSED in self.statuses else WRONG_USE)
        except (DatabaseError, OSError) as exc:
            # When the output failed, a receipt cannot be printed either.
            self.is_json = options.get("json", False) and not _is_of_output(exc)
            if isinstance(exc, FileNotFoundError) and exc.filename is None:
                self.fail(_("The current folder was removed. Change to another folder and try again."), REFUSED)
            if sentence := _describe_failure(exc):
                self.fail(sentence, FAILED)
            raise

    @contextmanager
    def _hold_home(self, options):
        if not self.works_in_home:
            yield
            return
        try:
            handle = home.enter(settings.HOME_DIR)
        except Refused as refused:
            self.is_json = options.get("json", False)
            self.fail(refused.sentence, REFUSED)
        try:
            yield
        finally:
            os.close(handle)

    def _parse(self, argv):
        try:
            parser = self.create_parser("openclaw-web", argv[1])
            # No database can hold such a word, and no receipt.
            for word in argv:
                try:
                    word.encode()
                except UnicodeEncodeError:
                    escaped = word.encode(errors="surrogateescape").decode(errors="backslashreplace")
                    parser.error(_("%(word)s is not UTF-8 text.") % {"word": escaped})
            return vars(parser.parse_args(argv[2:]))
        except Refused as refused:  # of a disabled capability
            self.is_json = self.has_receipt and "--json" in argv
            self.fail(refused.sentence, REFUSED)
        except CommandError as error:
            self.is_json = self.has_receipt and "--json" in argv
            getattr(error, "parser", parser).print_usage(sys.stderr)  # the usage of the verb that was typed
            self.fail(str(error).removeprefix("Error: "), WRONG_USE)

    def handle(self, *args, **options):
        self.is_json = options.get("json", False)
        try:
            self.run(**options)
        except Refused as refused:
            self.fail(refused.sentence, REFUSED, reasons=refused.reasons)
        except OperationalError as exc:
            if failures.is_old(exc):  # table or column
                self.fail(failures.OLD_HOME, FAILED)
            if failures.is_locked(exc):
                self.fail(_("Another process is writing to the database. Try again in a minute."), FAILED)
            raise

    def run(self, **options):
        """Do the work of the verb."""
        raise NotImplementedError

    def say(self, sentence: str) -> None:
        """Print a sentence at once, on standard error when standard output is for a receipt."""
        stream = self.stderr if getattr(self, "is_json", False) else self.stdout
        stream.write(glyphs.to_terminal(str(sentence)), lambda text: text)
        stream.flush()

    def answer(self, facts: dict[str, Any], words: str) -> None:
        """Print the receipt of what was done, or the same in words."""
        self._print(_receipt(ok=True, schema=self.schema, **facts) if self.is_json else words)

    def end_partly(
        self, facts: dict[str, Any], words: str, sentence: str, reasons: Iterable = (), *, status: int = PARTLY
    ) -> NoReturn:
        """Print the receipt of work that was partly done, and end with a status."""
        failure = {"error": sentence, "reasons": list(reasons)}
        self._print(_receipt(ok=False, schema=self.schema, **facts, **failure) if self.is_json else words)
        # A terminal shows both streams: lines of the report are not repeated.
        printed_lines = set() if self.is_json else set(words.splitlines())
        sentence = "\n".join(line for line in sentence.splitlines() if line not in printed_lines)
        raise CommandError(_add_reasons(sentence, failure["reasons"]), returncode=status)

    def fail(self, sentence: str, status: int, *, reasons: Iterable = ()) -> NoReturn:
        """End with `status`; each of `reasons` is `{"id": ..., "reason": ...}`."""
        rows = list(reasons)
        if self.is_json:
            self._print(_receipt(ok=False, error=str(sentence), reasons=rows))
        raise CommandError(_add_reasons(sentence, rows), returncode=status)

    def fit_to_output(self, text: str, *, errors: str = "replace") -> str:
        """Return a text of an agent as standard output takes it. It must not control a terminal."""
        if self.stdout.isatty():
            text = "".join(char if char in "\n\t" or char.isprintable() else "\ufffd" for char in text)
        encoding = get_output_encoding()
        return text.encode(encoding, errors).decode(encoding)

    def _print(self, text):
        if text:  # an empty text prints no empty line
            self.stdout.write(text if self.is_json else glyphs.to_terminal(str(text)))


def get_output_encoding() -> str:
    """Return the encoding of standard output."""
    return sys.stdout.encoding or "utf-8"


def _receipt(**facts):
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()


def _add_reasons(sentence, rows):
    lines = [f"  {row['id']}: {row['reason']}" for row in rows[:REASONS_SHOWN]]
    more = [_("  … and more: --json lists all of them")] if len(rows) > REASONS_SHOWN else []
    return "\n".join([line for line in (str(sentence), *lines, *more) if line])


def _make_database():
    # The first command on a new home; one that is not up to date is left to `serve` and `migrate`.
    connection = connections[DEFAULT_DB_ALIAS]
    if not connection.introspection.table_names():
        creation.make_tables(connection)
    known_migrations.refuse_other_version(connection)


def _is_of_output(exc):
    """Whether standard output or error could not be written; the system names no file then."""
    return isinstance(exc, OSError) and exc.errno in reserve.FULL and exc.filename is None


def _describe_failure(exc):
    """The sentence about a failure of a disk or a database; empty for any other."""
    if reserve.is_full(exc, settings.HOME_DIR):
        return NO_ROOM % {"home": settings.HOME_DIR}
    if _is_of_output(exc):
        return _("The output was not written: %(why)s.") % {"why": reasons.describe_os_error(exc)}
    return failures.describe_unusable(exc, settings.HOME_DIR)


def _say_on_stderr(sentence):
    sys.stderr.write(f"{sentence}\n")
