"""Scripts that let a shell complete `openclaw-web`: its verbs, their options and the values that are known."""

from argparse import SUPPRESS, _SubParsersAction
from dataclasses import dataclass

from django.core.management import get_commands, load_command_class

from .cli import VERBS

FOLDERS, FILES = {"--source"}, {"--from"}
AGENTS = {"--agent"}
AGENT_NAMES = "ls ${OPENCLAW_WEB_HOME:-~/.openclaw-web}/agents 2>/dev/null"


@dataclass(frozen=True, slots=True)
class Word:
    """One option of a verb, or (without a name) one of its positional values."""

    name: str
    help: str
    choices: tuple[str, ...]
    has_value: bool


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its sentence and everything that may follow it."""

    name: str
    help: str
    words: tuple[Word, ...]

    @property
    def options(self):
        return [word for word in self.words if word.name]

    @property
    def values(self):
        return [choice for word in self.words if not word.name for choice in word.choices]


def verbs() -> list[Verb]:
    """Our verbs, read from their parsers."""
    apps = get_commands()
    return [
        Verb(name, sentence, tuple(_words(load_command_class(apps[name], name).create_parser("openclaw-web", name))))
        for group in VERBS.values()
        for name, sentence in group.items()
    ]


def _words(parser):
    for action in parser._actions:
        if action.help == SUPPRESS:
            continue
        if isinstance(action, _SubParsersAction):
            yield from _of_verbs(action)
            continue
        choices = () if isinstance(action.choices, range) else tuple(map(str, action.choices or ()))
        help_text = (action.help or "") % {"default": action.default, "prog": parser.prog}
        yield Word(action.option_strings[-1] if action.option_strings else "", help_text, choices, action.nargs != 0)


def _of_verbs(action):
    """The verbs of a group, and the options of all of them."""
    yield Word("", action.help or "", tuple(action.choices), True)
    options = {word.name: word for parser in action.choices.values() for word in _words(parser) if word.name}
    yield from (word for name, word in options.items() if name != "--help")


def script(shell: str) -> str:
    """The script for `bash`, `zsh` or `fish`."""
    return SHELLS[shell](verbs())


def _bash(found):
    cases, values = [], []
    for verb in found:
        cases.append(f'    {verb.name}) words="{" ".join([*(o.name for o in verb.options), *verb.values])}" ;;')
        values += [f'    "{verb.name} {o.name}") {_bash_value(o)} ;;' for o in verb.options if o.has_value]
    return f"""\
# bash completion for openclaw-web
_openclaw_web() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} verb=${{COMP_WORDS[1]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(verb.name for verb in found)} help --help --version" -- "$cur"))
    return
  fi
  case "$verb $prev" in
{chr(10).join(values)}
    "settings import") COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case "$verb" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _openclaw_web openclaw-web"""


def _bash_value(option):
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur")); return'
    if option.name in FOLDERS:
        return 'COMPREPLY=($(compgen -d -- "$cur")); return'
    if option.name in FILES:
        return 'COMPREPLY=($(compgen -f -- "$cur")); return'
    if option.name in AGENTS:
        return f'COMPREPLY=($(compgen -W "$({AGENT_NAMES})" -- "$cur")); return'
    return "return"


def _zsh(found):
    lines = [f"    {_quoted(f'{verb.name}:{verb.help}')}" for verb in found]
    cases = []
    for verb in found:
        specs = [f"      {_quoted(_zsh_option(option))}" for option in verb.options]
        if verb.values:
            specs.append("      " + _quoted(f":value:({' '.join(verb.values)})"))
        cases.append(f"  {verb.name}) _arguments \\\n" + " \\\n".join(specs) + " ;;")
    return f"""\
#compdef openclaw-web
_openclaw_web() {{
  local -a verbs=(
{chr(10).join(lines)}
  )
  if (( CURRENT == 2 )); then
    _describe command verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{chr(10).join(cases)}
  esac
}}
_openclaw_web "$@\""""


def _zsh_option(option):
    text = option.help.translate(str.maketrans({"[": "(", "]": ")", ":": " "}))
    if not option.has_value:
        return f"{option.name}[{text}]"
    if option.choices:
        return f"{option.name}[{text}]:value:({' '.join(option.choices)})"
    if option.name in FOLDERS:
        return f"{option.name}[{text}]:folder:_files -/"
    if option.name in FILES:
        return f"{option.name}[{text}]:file:_files"
    if option.name in AGENTS:
        return f"{option.name}[{text}]:agent:($({AGENT_NAMES}))"
    return f"{option.name}[{text}]:value: "


def _fish(found):
    lines = ["# fish completion for openclaw-web", "complete -c openclaw-web -f"]
    for verb in found:
        lines.append(f"complete -c openclaw-web -n __fish_use_subcommand -a {verb.name} -d {_quoted(verb.help)}")
        seen = f"complete -c openclaw-web -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.values:
            lines.append(f"{seen} -a {_quoted(' '.join(verb.values))}")
        lines += [f"{seen} -l {o.name[2:]}{_fish_value(o)} -d {_quoted(o.help)}" for o in verb.options]
    return "\n".join(lines)


def _fish_value(option):
    if not option.has_value:
        return ""
    if option.choices:
        return f" -x -a {_quoted(' '.join(option.choices))}"
    if option.name in FOLDERS:
        return " -x -a '(__fish_complete_directories)'"
    if option.name in FILES:
        return " -r -F"
    if option.name in AGENTS:
        return f" -x -a {_quoted(f'(sh -c {AGENT_NAMES!r})')}"
    return " -x"


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
