"""What the documentation says, checked against the code it talks about."""

import ast
import json
import re
from pathlib import Path

from django.apps import apps
from django.core.management import BaseCommand, find_commands, load_command_class

from people.configuration.setting_values import KEYS
from tests.suite.sources import MODULES, ROOT, dotted, fail_for, lines_matching, source, where

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
TREES = [page for page in (ROOT / "README.md", DOCS / "map.md") if page.exists()]

COMMANDS_SAID = re.compile(r"^## `openclaw-web ([\w-]+)", re.MULTILINE)
ROW_SAID = re.compile(r"^\| `([\w.]+)` \|", re.MULTILINE)
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
TREE = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"\.?[\w-]+(?:[/.][\w.-]+)*/?")
MADE_BY_DEV = {".venv", ".demo"}
# Read by Django or pytest, not by a person who runs the site.
NOT_OURS = {"DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE"}


def our_commands():
    """Every command of ours with the app it is in."""
    ours = [config for config in apps.get_app_configs() if Path(config.path).parent == ROOT]
    return {name: app.name for app in ours for name in find_commands(str(Path(app.path) / "management"))}


def test_every_command_is_documented_and_nothing_else_is():
    said = set(COMMANDS_SAID.findall((DOCS / "commands.md").read_text()))
    assert said == our_commands().keys(), "docs/commands.md and management/commands/ differ"


def options_of(name):
    """The options a command has of its own, not those every command of Django has."""
    common = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    actions = list(load_command_class(our_commands()[name], name).create_parser("", name)._actions)
    verbs = [parser for action in actions if isinstance(action.choices, dict) for parser in action.choices.values()]
    actions += [action for parser in verbs for action in parser._actions]
    return {action.option_strings[0] for action in actions if action.option_strings} - common


def test_every_option_is_documented():
    pages = re.split(r"^## ", (DOCS / "commands.md").read_text(), flags=re.MULTILINE)
    said = {name: page for page in pages for name in COMMANDS_SAID.findall(f"## {page}")}
    fail_for(
        f"docs/commands.md  says nothing of {name} {option}"
        for name in sorted(our_commands())
        for option in sorted(options_of(name))
        if f"{option}`" not in said.get(name, "") and f"{option} " not in said.get(name, "")
    )


def environment_names(path):
    """Every environment variable that `path` reads: env.str("NAME"), os.environ["NAME"], os.environ.get("NAME")."""
    readers = {"env", "os.environ", "environ", "os", "env_path"}
    for node in source(path).nodes(ast.Call, ast.Subscript):
        if isinstance(node, ast.Call) and node.args:
            function = dotted(node.func)
            is_read = function in readers or function.rpartition(".")[0] in readers
            argument = node.args[0] if is_read else None
        elif isinstance(node, ast.Subscript):
            argument = node.slice if dotted(node.value) in readers else None
        else:
            continue
        if isinstance(argument, ast.Constant) and re.fullmatch(r"[A-Z][A-Z0-9_]+", str(argument.value)):
            yield node.lineno, argument.value


def test_every_environment_variable_is_documented():
    said = set(ROW_SAID.findall((DOCS / "settings.md").read_text())) | NOT_OURS
    fail_for(
        f"{where(path, line)}  {name} is not in docs/settings.md"
        for path in MODULES
        if path.name != "settings_test.py"
        for line, name in environment_names(path)
        if name not in said
    )


def test_every_setting_is_documented():
    said = set(ROW_SAID.findall((DOCS / "settings.md").read_text()))
    unsaid = KEYS.keys() - said
    gone = {name for name in said if "." in name} - KEYS.keys()
    assert not unsaid, f"docs/settings.md says nothing of {sorted(unsaid)}"
    assert not gone, f"docs/settings.md documents {sorted(gone)}, which do not exist"
    rows = [f"| `{key}` | {known.label} | {_default(known)}" for key, known in KEYS.items()]
    assert not [row for row in rows if row not in (DOCS / "settings.md").read_text()], "otherwise on the page"


def _default(setting):
    """A default as the table has it; of a list that is not empty the table only says how many it holds."""
    is_named = isinstance(setting.default, list) and setting.default
    return "" if is_named else f"`{json.dumps(setting.default)}` |"


def named_paths(page):
    """Every (line, path) of `page` that means a place in the repository, not one that ./dev makes."""
    text = page.read_text()
    for line, match in lines_matching(FENCE.sub(lambda found: "\n" * found.group().count("\n"), text), CODE):
        name = match.group(1)
        top = name.split("/")[0]
        if PATH.fullmatch(name) and "/" in name and top not in MADE_BY_DEV and (ROOT / top).is_dir():
            yield line, name
    for block in TREE.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        yield from ((first + offset, name) for offset, name in tree_paths(block.group(1)))


def tree_paths(block):
    """Every (line, path) of a drawn tree: indented names are in the folder above; after two blanks come words."""
    folders = []
    for offset, line in enumerate(block.split("\n")):
        names = re.split(r"\s{2,}", line.strip())[0].split()
        depth = (len(line) - len(line.lstrip())) // 2
        for name in names:
            yield offset, "".join([*folders[:depth], name])
        if names and names[-1].endswith("/"):
            folders[depth:] = [names[-1]]


def test_every_path_the_map_names_exists():
    fail_for(
        f"{where(page, line)}  {name} does not exist"
        for page in TREES
        for line, name in named_paths(page)
        if not (ROOT / name).exists()
    )


def test_links_lead_somewhere():
    def broken(page):
        for line, match in lines_matching(page.read_text(), LINK):
            target, _, _ = match.group(1).partition("#")
            is_here = target and "://" not in target and not target.startswith("mailto:")
            if is_here and not (page.parent / target).exists():
                yield f"{where(page, line)}  {target} does not exist"

    fail_for(problem for page in PAGES for problem in broken(page))


def test_the_changelog_starts_with_what_is_unreleased():
    parts = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert parts[0] == "Unreleased"
