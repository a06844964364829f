"""The `openclaw-web` command: our own verbs under one name, Django's commands behind them."""

import difflib
import os
import sys
from contextlib import suppress

SERVERS = {"serve", "demo", "runserver"}
FAILED = 1
NO_SUCH_COMMAND = WRONG_USE = 2
REFUSED = 3
INTERRUPTED = 130

# Here and not asked of the commands, because --help must answer at once, without settings or a home.
VERBS = {
    "Run the site": {
        "serve": "Serve the site, run its jobs and watch OpenClaw's home, until told to stop.",
        "work": "Run jobs until told to stop. `serve` starts one of these by itself.",
        "demo": "Write demonstration data, collect it and serve the site, until told to stop.",
    },
    "Data": {
        "collect": "Read an OpenClaw home into the store. Running it again reads only what is new.",
        "export": "Write approved samples into training files.",
        "checkpoint": "Make and show checkpoints: what a compaction took out of the model's sight.",
        "turn_context": "Print what was said before a turn: the context in which it was judged.",
        "stash_outputs": "Bring an older store up to date: big outputs become artifacts, savings are counted.",
        "artifact": "Keep big outputs in the artifact store, and get them back in pieces of known size.",
    },
    "People": {
        "create_user": "Add a person and print a one-time sign-in link for them.",
        "sign_in_link": "Print a link that signs a person in once, within 24 hours.",
        "create_token": "Create an API token for a person and print it once.",
    },
    "Maintenance": {
        "doctor": "Look at every source and at the store; import and mend with --fix.",
        "backup": "Make backups, prove them by restoring, and put one back.",
        "retention": "Count sessions that are old; with --remove, remove them. Evidence stays.",
        "archive": "Put old sessions into files that are read back, then remove them; put them back with restore.",
        "jobs": "List the latest runs of jobs, newest first.",
        "settings": "Show and change what an operator tunes.",
        "migrate_agents": "Bring every agent's file up to the current schema.",
        "completion": "Print a script that lets a shell complete our commands.",
    },
}
OURS = [verb for verbs in VERBS.values() for verb in verbs]
OF_DJANGO = "Django's own commands are there as well: migrate, shell, check, ... (openclaw-web help --commands)."


def main():
    """Run `openclaw-web <command> ...` and end with its status: see docs/commands.md."""
    words = sys.argv[1:]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
    if words in ([], ["help"], ["-h"], ["--help"]):
        print(overview())  # noqa: T201 - Django, which has a stream for it, is not there yet
    elif words == ["--version"]:
        from .. import VERSION

        print(f"openclaw-web {VERSION}")  # noqa: T201
    else:
        _run(words)


def overview() -> str:
    """What `openclaw-web --help` prints: every verb of ours, one line each."""
    width = max(map(len, OURS)) + 2
    parts = ["usage: openclaw-web COMMAND [OPTIONS]"]
    for group, verbs in VERBS.items():
        lines = [f"  {verb:<{width}}{sentence}" for verb, sentence in verbs.items()]
        parts.append("\n".join([f"{group}:", *lines]))
    parts.append(f"openclaw-web COMMAND --help tells the options, with examples. {OF_DJANGO}")
    return "\n\n".join(parts)


def _run(words):
    if not SERVERS.intersection(words[:1]):
        os.environ.setdefault("OPENCLAW_WEB_BUSY_SECONDS", "30")  # a command waits for a writer; a page does not
    from django.core.management import ManagementUtility
    from django.db import DatabaseError

    from ..errors import Refused

    _choose_settings(words)
    _read_settings()
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
        _say_refusal(refused)
    except DatabaseError as exc:  # of one of Django's commands; ours have said it
        _say_damage(exc)
    except BrokenPipeError:  # `openclaw-web jobs | head`: whoever read has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _say_damage(exc):
    from django.conf import settings

    from ..sqlite import failures

    if not failures.is_damage(exc):
        raise exc
    print(failures.sentence(exc, settings.HOME_DIR), failures.way_out(settings.HOME_DIR), file=sys.stderr)  # noqa: T201
    sys.exit(FAILED)


def _choose_settings(words):
    # Django hears --settings when a command begins; here they are read before.
    from django.core.management.base import CommandError, CommandParser, handle_default_options

    parser = CommandParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--settings")
    parser.add_argument("--pythonpath")
    with suppress(CommandError):  # the command itself says what is wrong
        handle_default_options(parser.parse_known_args(words[1:])[0])


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

    from ..disk import home
    from ..errors import Refused

    try:
        home.enter(settings.HOME_DIR)
    except Refused as refused:
        _say_refusal(refused)


def _say_refusal(refused):
    print(refused.sentence, file=sys.stderr)  # noqa: T201
    sys.exit(REFUSED)


def _check_exists(word):
    import django
    from django.core.management import get_commands

    django.setup()  # apps bring commands as well
    known = sorted({*OURS, *get_commands()})
    if word in known:
        return
    close = difflib.get_close_matches(word.replace("-", "_"), known, n=3, cutoff=0.5)
    advice = f"Did you mean {' or '.join(close)}?" if close else "openclaw-web --help lists them."
    print(f"There is no command {word!r}. {advice}", file=sys.stderr)  # noqa: T201
    sys.exit(NO_SUCH_COMMAND)
