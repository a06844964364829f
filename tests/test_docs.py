"""Checks the documentation against the code."""

import ast
import json
import re
from pathlib import Path

from django.apps import apps
from django.core.management import BaseCommand, find_commands, load_command_class

from openclaw_web import VERSION
from people.configuration.setting_values import KEYS
from tests.suite.sources import MODULES, ROOT, fail_for, format_dotted_name, lines_matching, source, where

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
TREES = [page for page in (ROOT / "README.md", DOCS / "map.md") if page.exists()]

COMMAND_HEADING = re.compile(r"^## `openclaw-web ([\w-]+)", re.MULTILINE)
SETTING_ROW = re.compile(r"^\| `([\w.]+)` \|", re.MULTILINE)
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
TREE = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"\.?[\w-]+(?:[/.][\w.-]+)*/?")
MADE_BY_DEV = {".venv", ".demo"}
# Read by Django or pytest, not by a person who runs the site.
NOT_OURS = {"DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE"}


def our_commands():
    """Return the names of our commands, each with its app."""
    ours = [config for config in apps.get_app_configs() if Path(config.path).parent == ROOT]
    return {name: app.name for app in ours for name in find_commands(str(Path(app.path) / "management"))}


def test_every_command_is_documented_and_nothing_else_is():
    documented = set(COMMAND_HEADING.findall((DOCS / "commands.md").read_text()))
    assert documented == our_commands().keys(), "docs/commands.md and management/commands/ differ"


def find_options(name):
    """The options of a command that not every command of Django has."""
    common = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    actions = list(load_command_class(our_commands()[name], name).create_parser("", name)._actions)
    verbs = [parser for action in actions if isinstance(action.choices, dict) for parser in action.choices.values()]
    actions += [action for parser in verbs for action in parser._actions]
    return {action.option_strings[0] for action in actions if action.option_strings} - common


def test_every_option_is_documented():
    pages = re.split(r"^## ", (DOCS / "commands.md").read_text(), flags=re.MULTILINE)
    sections = {name: page for page in pages for name in COMMAND_HEADING.findall(f"## {page}")}
    fail_for(
        f"docs/commands.md  says nothing of {name} {option}"
        for name in sorted(our_commands())
        for option in sorted(find_options(name))
        if f"{option}`" not in sections.get(name, "") and f"{option} " not in sections.get(name, "")
    )


def find_environment_names(path):
    """Yield (line, name) of every environment variable that `path` reads.

    It is read by env.str("NAME"), os.environ["NAME"] or os.environ.get("NAME").
    """
    readers = {"env", "os.environ", "environ", "os", "env_path"}
    for node in source(path).nodes(ast.Call, ast.Subscript):
        if isinstance(node, ast.Call) and node.args:
            function = format_dotted_name(node.func)
            is_read = function in readers or function.rpartition(".")[0] in readers
            argument = node.args[0] if is_read else None
        elif isinstance(node, ast.Subscript):
            argument = node.slice if format_dotted_name(node.value) in readers else None
        else:
            continue
        if isinstance(argument, ast.Constant) and re.fullmatch(r"[A-Z][A-Z0-9_]+", str(argument.value)):
            yield node.lineno, argument.value


def test_every_environment_variable_is_documented():
    documented = set(SETTING_ROW.findall((DOCS / "settings.md").read_text())) | NOT_OURS
    fail_for(
        f"{where(path, line)}  {name} is not in docs/settings.md"
        for path in MODULES
        if path.name != "settings_test.py"
        for line, name in find_environment_names(path)
        if name not in documented
    )


def test_every_setting_is_documented():
    documented = set(SETTING_ROW.findall((DOCS / "settings.md").read_text()))
    undocumented = KEYS.keys() - documented
    unknown = {name for name in documented if "." in name} - KEYS.keys()
    assert not undocumented, f"docs/settings.md says nothing of {sorted(undocumented)}"
    assert not unknown, f"docs/settings.md documents {sorted(unknown)}, which do not exist"
    rows = [f"| `{key}` | {known.label} | {_format_default(known)}" for key, known in KEYS.items()]
    assert not [row for row in rows if row not in (DOCS / "settings.md").read_text()], "otherwise on the page"


def _format_default(setting):
    """Format a default as the table of docs/settings.md has it.

    For a list that is not empty the table only says how many entries it has.
    """
    is_named = isinstance(setting.default, list) and setting.default
    return "" if is_named else f"`{json.dumps(setting.default)}` |"


def find_paths(page):
    """Yield (line, path) of every repository path that `page` names.

    Paths that ./dev makes are left out.
    """
    text = page.read_text()
    for line, match in lines_matching(FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), text), CODE):
        name = match.group(1)
        top = name.split("/")[0]
        if PATH.fullmatch(name) and "/" in name and top not in MADE_BY_DEV and (ROOT / top).is_dir():
            yield line, name
    for block in TREE.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        yield from ((first + offset, name) for offset, name in parse_tree(block.group(1)))


def parse_tree(block):
    """Yield (line, path) of each entry of a drawn tree.

    Indented names are in the folder above; two spaces end the name, words follow.
    """
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
        for line, name in find_paths(page)
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


def test_the_changelog_starts_with_this_version():
    parts = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert parts[0] == VERSION
