from argparse import ArgumentParser, _SubParsersAction

from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ... import VERSION
from ...commands import cli
from ...commands.verbs import DONE, WRONG_USE, Verb

# Kinds of values, by the names that the help gives them.
FILES, FOLDERS = {"ARCHIVE", "FILE", "PATH"}, {"DIR", "FOLDER"}
# Names with a space stay one word; zsh and fish keep the line in their own quotes until a completion is needed.
AGENTS = "sh -c 'IFS=; ls ${OPENCLAW_WEB_HOME-$HOME/.openclaw-web}/agents 2>/dev/null'"
ESCAPED_AGENTS = AGENTS.replace("$", r"\$")


class Command(Verb):
    help = gettext_lazy("Print a script that completes our commands in a shell.")
    examples = (
        "completion bash > ~/.local/share/bash-completion/completions/openclaw-web",
        "completion zsh > ~/.zfunc/_openclaw-web",
        "completion fish > ~/.config/fish/completions/openclaw-web.fish",
    )
    statuses = (DONE, WRONG_USE)
    needs_database = works_in_home = False

    def add_arguments(self, parser):
        parser.add_argument("shell", choices=("bash", "zsh", "fish"))

    def run(self, shell, **options):
        import shtab  # imported here: other commands do not need it

        parser = ArgumentParser("openclaw-web")
        parser.add_argument("--version", action="version", version=VERSION)
        commands = parser.add_subparsers(parser_class=lambda prog, **_options: _load_parser(prog.split()[-1]))
        for _group, sentences in cli.list_commands(settings.DISABLED):
            for name, sentence in sentences.items():
                commands.add_parser(name, help=_(sentence))
        for action in _iterate_actions(parser):
            name = str(action.metavar or action.dest).upper()
            if isinstance(action.choices, range):  # too many values to list
                action.choices = None
            if name in FILES | FOLDERS:
                action.complete = shtab.FILE if name in FILES else shtab.DIRECTORY
            elif action.dest == "agent":
                action.complete = shtab.cmd(AGENTS) | {"zsh": rf"(\$({ESCAPED_AGENTS}))", "fish": f"({ESCAPED_AGENTS})"}
        self.stdout.write(shtab.complete(parser, shell))


def _load_parser(name):
    return load_command_class(get_commands()[name], name).create_parser("openclaw-web", name)


def _iterate_actions(parser):
    """Yield the options and arguments of a parser, and those of all verbs below it."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for below in action.choices.values():
                yield from _iterate_actions(below)
        else:
            yield action
