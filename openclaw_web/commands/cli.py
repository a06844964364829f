"""The `openclaw-web` command: our own verbs under one name, Django's commands behind them."""

import difflib
import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from .. import VERSION, capabilities

SERVERS = {"serve", "demo", "runserver"}
FOR_OTHERS = {"service"}  # root runs them for another user, in the home of that user
WITHOUT_HOME = {"stage"}  # they run on machines where no site was set up, and must not begin one
FAILED = 1
NO_SUCH_COMMAND = WRONG_USE = 2
REFUSED = 3
INTERRUPTED = 130


def N_(text):
    """Mark a text for translators; it is translated where it is shown."""
    return text


# Written here as well as in the commands, because --help must answer at once, without settings or a home. The commands
# mark the same sentences for translators.
VERBS = {
    N_("Run the site"): {
        "serve": "Serve the site, run its jobs and watch the OpenClaw folder, until stopped.",
        "work": "Run jobs until stopped. `serve` starts such a worker automatically.",
        "demo": "Create demonstration data, import it and serve the site, until stopped.",
        "service": "Install the site as a service of systemd; show and remove the service.",
        "mcp": "Serve the tools of the Model Context Protocol on standard input and output.",
    },
    N_("Data"): {
        "collect": "Import an OpenClaw folder. Running the command again imports only what is new.",
        "stage": "Copy what imports may read of an OpenClaw folder, for a site on another machine.",
        "export": "Write approved samples to training files.",
        "trace": "Export whole sessions for other programs.",
        "reflection": "Show and record decisions, writes and samples of the Reflection plugin.",
        "verify_export": "Compare the files of exports with what was written.",
        "checkpoint": "Create and show checkpoints: what a compaction removed from the model's context.",
        "turn_context": "Print the context of a turn: the messages before it.",
        "artifact": "Store large outputs as artifacts, and read them in parts of limited size.",
        "episodes": "Append, query, replay, redact and verify events of the ledger.",
    },
    N_("People"): {
        "create_user": "Add a user and print a one-time sign-in link.",
        "sign_in_link": "Print a one-time sign-in link for a user, valid for 24 hours.",
        "create_token": "Create an API token for a user and print it once.",
    },
    N_("Maintenance"): {
        "doctor": "Check every source and the store; import and repair with --fix.",
        "backup": "Create, verify, test and restore backups.",
        "retention": "Count old sessions; remove them with --remove. Sessions that evidence needs are kept.",
        "archive": "Move old sessions to archive files, which are read back first; restore them later.",
        "search": "Find words in all texts; build and verify the indexes that this needs.",
        "jobs": "List the latest jobs, newest first.",
        "settings": "Show and change settings.",
        "migrate_agents": "Bring the database of every agent up to the current schema.",
        "records": "Print the answers of the API and the columns of files that a table becomes.",
        "completion": "Print a script that completes our commands in a shell.",
    },
}
OURS = [verb for verbs in VERBS.values() for verb in verbs]
DEMO_FOLDER = "~/.openclaw-web-demo"
VALUE_OPTIONS = ("--db", "--harness-home")
USAGE = N_("usage: openclaw-web COMMAND [OPTIONS]")
MORE = N_("openclaw-web COMMAND --help lists the options, with examples.")
OF_DJANGO = N_("Django's own commands are also available: migrate, shell, check, ... (openclaw-web help --commands).")


def main():
    """Run `openclaw-web <command> ...` and end with its status: see docs/commands.md."""
    if os.getpid() == 1:  # of a container: the kernel ignores signals without a handler
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    words = sys.argv[1:]
    # A closed standard stream is opened: the next file, such as a database, would get its number and its texts.
    for number, mode in enumerate("rww"):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            os.set_inheritable(number, True)
            setattr(sys, ("stdin", "stdout", "stderr")[number], open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # where the encoding of the terminal lacks a character
    if "--json" in words and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON has no other
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
    if words in ([], ["help"], ["-h"], ["--help"]):
        disabled = capabilities.split_names(os.environ.get("OPENCLAW_WEB_DISABLED", ""))
        print(overview(disabled=disabled))  # noqa: T201 - Django, which has a stream for it, is not there yet
    elif words == ["--version"]:
        import platform

        from ..sqlite.dialect import read_library_version  # only here: help answers sooner without it

        print(f"openclaw-web {VERSION} (Python {platform.python_version()}, SQLite {read_library_version()})")  # noqa: T201
    else:
        if words[0] == "demo":
            _choose_demo_folders()
        _run(adapt_words(words))


def _choose_demo_folders():
    # Without folders of its own, the demo would write into the home and the OpenClaw folder of the person.
    if not os.environ.get("OPENCLAW_WEB_HOME") and not os.environ.get("OPENCLAW_STATE_DIR"):
        os.environ["OPENCLAW_WEB_HOME"] = f"{DEMO_FOLDER}/home"
        os.environ["OPENCLAW_STATE_DIR"] = f"{DEMO_FOLDER}/openclaw"


def adapt_words(words: list[str]) -> list[str]:
    """Return a command line as our commands expect it, also that of a script of openclaw-mem.

    Such scripts put `--db PATH`, `--harness-home PATH` and `--json` before `episodes`, also spelled `episodic`.
    """
    place = 0
    while place < len(words) and words[place].partition("=")[0] in (*VALUE_OPTIONS, "--json"):
        place += 2 if words[place] in VALUE_OPTIONS else 1
    if words[place : place + 1] not in (["episodes"], ["episodic"]):
        return words
    return ["episodes", *words[:place], *words[place + 1 :]]


def list_commands(disabled: Collection[str] = ()) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the groups of our commands, each with their sentences, without those of disabled capabilities."""
    for group, verbs in VERBS.items():
        shown_verbs = {
            verb: sentence for verb, sentence in verbs.items() if not capabilities.is_command_disabled(verb, disabled)
        }
        if shown_verbs:
            yield group, shown_verbs


def overview(translated: Callable[[str], str] = N_, *, disabled: Collection[str] = ()) -> str:
    """The text of `openclaw-web --help`, with one line for each verb of ours."""
    width = max(map(len, OURS)) + 2
    parts = [translated(USAGE)]
    for group, verbs in list_commands(disabled):
        lines = [f"  {verb:<{width}}{translated(sentence)}" for verb, sentence in verbs.items()]
        parts.append("\n".join([f"{translated(group)}:", *lines]))
    parts.append(f"{translated(MORE)} {translated(OF_DJANGO)}")
    return "\n\n".join(parts)


def _run(words):
    if words[0] == "serve":
        gc.disable()  # until its code is loaded, of which nothing is garbage: operations/server/preparation.py
    if not SERVERS.intersection(words[:1]):
        os.environ.setdefault("OPENCLAW_WEB_BUSY_SECONDS", "30")  # a command waits for a writer; a page does not
    from django.core.management import ManagementUtility
    from django.db import DatabaseError

    from ..disk import home
    from ..errors import Refused

    if words[0] in FOR_OTHERS:
        home.accept_other_owner()
    if words[0] in WITHOUT_HOME:
        home.leave_alone()
    # Django handles --settings when a command begins; the settings are read before that.
    from django.core.management.base import CommandError, CommandParser, handle_default_options

    parser = CommandParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--settings")
    parser.add_argument("--pythonpath")
    with suppress(CommandError):  # the command itself reports what is wrong
        handle_default_options(parser.parse_known_args(words[1:])[0])
    _read_settings()
    if words[0] in SERVERS:
        # Paths are absolute by now. A server needs no others, and its libraries need some current folder.
        try:
            os.getcwd()  # noqa: PTH109
        except FileNotFoundError:
            os.chdir("/")
    if words[0] not in (*OURS, "help"):
        _check_exists(words[0])
        _enter_home()
    utility = ManagementUtility(["openclaw-web", *words])
    utility.prog_name = "openclaw-web"
    try:
        utility.execute()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Refused as refused:  # by one of Django's commands, as by `migrate`
        _report_refusal(refused)
    except DatabaseError as exc:  # from one of Django's commands; ours report it themselves
        from django.conf import settings

        from ..sqlite import failures

        sentence = failures.describe_unusable(exc, settings.HOME_DIR)
        if not sentence:
            raise
        print(sentence, file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
    except BrokenPipeError:  # `openclaw-web jobs | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _read_settings():
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        _ = settings.HOME_DIR  # reads them all
    except ImproperlyConfigured as exc:
        print(exc, file=sys.stderr)  # noqa: T201
        sys.exit(WRONG_USE)


def _enter_home():
    # As our own verbs do, Django's commands work in the home until they end.
    from django.conf import settings
    from django.utils.module_loading import import_string

    from ..disk import home
    from ..errors import Refused

    try:
        home.enter(settings.HOME_DIR)
    except Refused as refused:
        _report_refusal(refused)
    import_string(settings.LEFT_BEHIND)(lambda sentence: print(sentence, file=sys.stderr), is_server=False)  # noqa: T201


def _report_refusal(refused):
    print(refused.sentence, file=sys.stderr)  # noqa: T201
    sys.exit(REFUSED)


def _check_exists(word):
    import django
    from django.core.management import get_commands
    from django.utils.translation import gettext as _

    django.setup()  # apps bring commands as well
    known = sorted({*OURS, *get_commands()})
    if word in known:
        return
    close = difflib.get_close_matches(word.replace("-", "_"), known, n=3, cutoff=0.5)
    sentence = _("There is no command “%(word)s”.") % {"word": word}
    advice = _("openclaw-web --help lists all commands.")
    if close:
        advice = _("Did you mean %(commands)s?") % {"commands": _(" or ").join(close)}
    print(f"{sentence} {advice}", file=sys.stderr)  # noqa: T201
    sys.exit(NO_SUCH_COMMAND)
