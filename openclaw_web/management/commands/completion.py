from argparse import ArgumentParser, _SubParsersAction

from django.core.management import get_commands, load_command_class
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ... import VERSION
from ...commands import cli
from ...commands.verbs import DONE, WRONG_USE, Verb

# What the values of options and words are, by their names in the help.
FILES, FOLDERS = {"ARCHIVE", "FILE", "PATH"}, {"DIR", "FOLDER"}
# Words with a space stay one; zsh and fish keep the line inside quotes of theirs until somebody asks.
AGENTS = "sh -c 'IFS=; ls ${OPENCLAW_WEB_HOME-$HOME/.openclaw-web}/agents 2>/dev/null'"
KEPT = AGENTS.replace("$", r"\$")


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
        import shtab  # here: no other command pays for it

        parser = _everything()
        for action in _actions(parser):
            _say_values(action, shtab)
        self.stdout.write(shtab.complete(parser, shell))


def _everything():
    """One parser that knows all commands of ours."""
    parser = ArgumentParser("openclaw-web")
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(parser_class=lambda prog, **_options: _parser_of(prog.split()[-1]))
    for sentences in cli.VERBS.values():
        for name, sentence in sentences.items():
            commands.add_parser(name, help=_(sentence))
    return parser


def _parser_of(name):
    return load_command_class(get_commands()[name], name).create_parser("openclaw-web", name)


def _actions(parser):
    """Its options and words, and those of all verbs below it."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action


def _say_values(action, shtab):
    name = str(action.metavar or action.dest).upper()
    if isinstance(action.choices, range):  # nobody looks through these
        action.choices = None
    if name in FILES | FOLDERS:
        action.complete = shtab.FILE if name in FILES else shtab.DIRECTORY
    elif action.dest == "agent":
        action.complete = shtab.cmd(AGENTS) | {"zsh": rf"(\$({KEPT}))", "fish": f"({KEPT})"}
