"""Checks the rules of the house by reading the source.

A failure lists `file:line  what is wrong`.
"""

import ast
import inspect
import re
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.urls import URLResolver, get_resolver
from jinja2 import Environment, nodes

from tests.people.site_surface import ROUTES
from tests.suite.sources import (
    ALL_MODULES,
    MODULES,
    ORDER,
    ROOT,
    SCRIPTS,
    TEMPLATES,
    fail_for,
    find_imports,
    lines_matching,
    source,
    where,
)
from tests.whole.pages import BARE, GETS

SHAPELESS = {"utils", "helpers", "common", "core", "managers", "signals"}
LONG_SCRIPTS = {"app.js": 260, "review.js": 300}  # all others: 200
SCRIPT_LINES = 1_300  # of all together: what needs more may want to be a page
TEST_FILES = {path.name for path in ALL_MODULES if path.is_relative_to(ROOT / "tests")}

# Events that Django reports by a signal only: a connection was opened, a request has ended, migrations begin.
OF_DJANGO = {"connection_created", "request_finished", "pre_migrate"}

# Words of docs/map.md, and the folders or modules where names of modules may use each.
WORD_ROOMS = {
    "archive": {"retention"},
    "backup": {"operations"},
    "content": {"artifacts", "doctor"},
    "reading": {"ledger"},
    "record": {"ledger"},
    "report": {"backups", "collecting", "demo", "doctor", "exports", "gate", "guardian", "operations", "retention"},
    "row": {"doctor", "exports", "ledger", "sqlite", "rows"},
    "run": {"automation", "backups", "collecting", "collection", "doctor", "operations", "runner", "runners"},
    "session": {"collecting", "demo", "doctor", "first_page", "ledger", "retention", "rollbacks", "traces"},
    "turn": {"datasets", "gate", "ledger", "traces"},
    "verdict": {"datasets", "gate"},
    "verifying": {"artifacts", "backups", "doctor", "exports"},
}

# Parts of a template that no person reads, or that are translated already.
UNSEEN = re.compile(
    r"\{#.*?#\}|\{% trans\b.*?endtrans %\}|<!--.*?-->"
    r"|<(script|style|code|pre|kbd)\b.*?</\1>",
    re.DOTALL,
)
TAGS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
HTML_TAGS = re.compile(r"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>|&#?\w+;", re.DOTALL)
TEXT = r"(\"[^\"]*\"|'[^']*')"
PARSER = Environment(extensions=["jinja2.ext.i18n"])
GETTEXT = ("_", "gettext", "ngettext", "pgettext")
SPOKEN_ATTRIBUTES = re.compile(
    rf"\s(?:title|alt|placeholder|aria-label|aria-description|data-label-\w+|data-done)={TEXT}"
)
NAMES = re.compile(r"\b(OpenClaw( Web)?|[A-Z]+\.md|[A-Z0-9]{2,}|\w*_\w*)\b")  # and abbreviations, and identifiers
WORDS = re.compile(r"[^\W\d_]{2,}")
INLINE = [
    (re.compile(r"\sstyle\s*=", re.IGNORECASE), "an inline style"),
    (re.compile(r"<style\b", re.IGNORECASE), "an inline style sheet"),
    (re.compile(r"<script\b(?![^>]*\ssrc=)", re.IGNORECASE), "an inline script"),
    (re.compile(r"<[a-z][^<>]*\son[a-z]+\s*=", re.IGNORECASE), "an inline handler"),
    (re.compile(r"\shx-on[:=-]", re.IGNORECASE), "an inline handler"),
    (re.compile(r"[\"']\s*javascript:", re.IGNORECASE), "an inline script"),
]


def test_readers_know_no_django():
    """Readers of a foreign format return records and know no tables or settings."""
    own = [path for path in MODULES if path.parent.name != "commands"]  # the command `records` prints rows of tables
    readers = [path for path in own if path.parent.name == "collectors" or path.name == "records.py"]
    fail_for(
        f"{where(path, line)}  a reader imports {name}"
        for path in readers
        for line, name in find_imports(path)
        if name.split(".")[0] == "django" or ".models" in name
    )


def find_untyped_functions(path):
    for node in source(path).tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if node.returns is None or any(argument.annotation is None for argument in arguments):
                yield f"{where(path, node.lineno)}  {node.name} has no types in its signature"


TYPED = {*("sample_texts", "redaction", "markers", "turns", "dialects", "exchanges", "histories", "formats", "rows")}


def test_what_reads_writes_and_exports_is_typed():
    typed = [f for f in MODULES if f.name == "services.py" or f.parent.name == "collectors" or f.stem in TYPED]
    fail_for(problem for path in typed for problem in find_untyped_functions(path))


def test_a_module_has_a_topic():
    fail_for(
        f"{where(path, 1)}  “{part}” is no topic"
        for path in ALL_MODULES
        for part in path.relative_to(ROOT).with_suffix("").parts
        if part in SHAPELESS
    )


def test_a_template_is_one_page():
    lengths = ((path, len(path.read_text().splitlines())) for path in TEMPLATES)
    fail_for(f"{where(path, length)}  {length} lines, 150 at most" for path, length in lengths if length > 150)


def test_scripts_stay_small():
    lengths = {path: len(path.read_text().splitlines()) for path in SCRIPTS}
    most = {path: LONG_SCRIPTS.get(path.name, 200) for path in SCRIPTS}
    long = [path for path in SCRIPTS if lengths[path] > most[path]]
    fail_for(f"{where(path, lengths[path])}  {lengths[path]} lines, {most[path]} at most" for path in long)
    assert sum(lengths.values()) <= SCRIPT_LINES, f"static/*.js: {sum(lengths.values())} lines, {SCRIPT_LINES} at most"


def list_url_patterns(resolver, prefix=""):
    """Every (route, pattern) of the site, except those of the API, which checks roles itself."""
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if not isinstance(entry, URLResolver):
            yield route, entry
        elif entry.app_name != "ninja":
            yield from list_url_patterns(entry, route)


def test_every_page_says_who_may_see_it():
    def problems():
        for route, entry in list_url_patterns(get_resolver()):
            view = entry.callback
            if not hasattr(view, "needs_role") and getattr(view, "login_required", True):
                code = view.__wrapped__ if hasattr(view, "__wrapped__") else view
                place = f"{code.__module__.replace('.', '/')}.py:{code.__code__.co_firstlineno}"
                yield f"{place}  {view.__name__} (/{route}) has neither @needs nor @login_not_required"

    fail_for(problems())


def test_every_app_lives_in_one_kind_of_file():
    """An app's tables are in the agents' files exactly when docs/map.md says so, and AGENT_APPS agrees."""
    ours = {config.label for config in apps.get_app_configs() if Path(config.path).parent == ROOT}
    assert ours == set(ORDER), "an app is missing in INSTALLED_APPS or in the order of the apps"
    with_tables = {label for label in ours if apps.get_app_config(label).models}
    documented = re.findall(r"^\| `(\w+)` \| (agent|global) \|", (ROOT / "docs" / "map.md").read_text(), re.MULTILINE)
    kinds = dict(documented)
    assert with_tables <= set(kinds), f"docs/map.md says nothing of {sorted(with_tables - set(kinds))}"
    assert {label for label, kind in kinds.items() if kind == "agent"} == set(settings.AGENT_APPS)


def find_glossary_words(path):
    """Yield the words in the names of a module and its folders.

    A plural is yielded as the glossary has the word.
    """
    for part in path.relative_to(ROOT).with_suffix("").parts[1:]:
        for piece in part.split("_"):
            yield piece if piece in WORD_ROOMS else piece.removesuffix("s")


def find_other_meanings():
    """Yield (`room/module`, word) for each module named with a word of other rooms."""
    for path in MODULES:
        place = path.relative_to(ROOT).with_suffix("")
        if not {"commands", "verbs"} & set(place.parts):  # docs/commands.md is their list
            for word in find_glossary_words(path):
                if word in WORD_ROOMS and not WORD_ROOMS[word] & set(place.parts):
                    yield f"{path.parent.name}/{path.stem}", word


def test_a_word_means_one_thing_in_names_of_modules():
    known = set(re.findall(r"^\| (\w+) \|", (ROOT / "docs" / "map.md").read_text(), re.MULTILINE))
    assert known >= WORD_ROOMS.keys(), "docs/map.md does not say what these mean"
    fail_for(
        f"{name}  “{word}” means something else here than in {sorted(WORD_ROOMS[word])}: docs/map.md, Words"
        for name, word in find_other_meanings()
    )


def pages():
    """Yield (stem, view) of every page.

    A page is what GET answers, except for files, redirects and the API's own document.
    """
    for name, page in GETS.items():
        stem = name.partition(":")[2]
        if not name.startswith("api:") and page.why not in BARE:
            yield stem, inspect.unwrap(ROUTES[name].callback)


def find_stem_problems(stem, view):
    """Yield a problem for each of view, template and test that lacks the page's stem."""
    place = f"{view.__module__.replace('.', '/')}.py:{view.__code__.co_firstlineno}"
    if view.__name__ != stem:
        yield f"{place}  the view of the page {stem} is called {view.__name__}"
    named = [path for path in TEMPLATES if path.name == f"{stem}.html" and path.parent.name != "templates"]
    own = [path for path in named if path.parent.name == view.__module__.partition(".")[0]]  # apps may share a stem
    template = next(iter([*own, *named]), None)
    if template is None:
        yield f"{place}  the page {stem} has no template {stem}.html"
    elif f'"{template.relative_to(ROOT / "templates")}' not in inspect.getsource(inspect.getmodule(view)):
        yield f"{place}  the page {stem} does not draw {where(template, 1)}"
    if f"test_{stem}.py" not in TEST_FILES:
        yield f"{place}  the page {stem} has no test_{stem}.py"


def test_a_page_is_an_address_a_view_a_template_and_a_test_of_one_name():
    fail_for(problem for stem, view in pages() for problem in find_stem_problems(stem, view))


def keep_line_breaks(match):
    """Return a blank with the line breaks of the match, so that line numbers stay true."""
    return " " + "\n" * match.group().count("\n")


# Pages of this site have its policy; this template is a file to keep, with a policy of its own and nothing to load.
KEPT_FILES = {"operations/session_file.html"}


def find_inline_code(path):
    if str(path.relative_to(ROOT / "templates")) in KEPT_FILES:
        return
    text = re.sub(r"\{#.*?#\}", keep_line_breaks, path.read_text(), flags=re.DOTALL)
    for pattern, fault in INLINE:
        for line, _ in lines_matching(text, pattern):
            yield f"{where(path, line)}  {fault}: the content security policy forbids it"


def test_templates_hold_no_inline_code():
    """One of them is no page but a file to keep, which has its own policy and its own style sheet."""
    pages_only = [path for path in TEMPLATES if path.name != "session_file.html"]
    fail_for(problem for path in pages_only for problem in find_inline_code(path))


def find_untranslated_text(path):
    """Yield every (line, words) that a person reads and that is not translated."""
    text = UNSEEN.sub(keep_line_breaks, path.read_text())
    html = TAGS.sub(keep_line_breaks, text)
    yield from ((line, match.group(1)) for line, match in lines_matching(html, SPOKEN_ATTRIBUTES))
    yield from enumerate(HTML_TAGS.sub(keep_line_breaks, html).split("\n"), start=1)


def test_templates_speak_through_translation():
    fail_for(
        f"{where(path, line)}  “{words.strip()}” is not marked for translation"
        for path in TEMPLATES
        for line, words in find_untranslated_text(path)
        if WORDS.search(NAMES.sub("", words))
    )


def find_untranslated_expressions(path):
    """Yield every (line, text) of an expression that reads like a sentence and is not translated."""
    tree = PARSER.parse(path.read_text())
    calls = (call for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name))
    translated = {id(given) for call in calls if call.node.name in GETTEXT for given in call.args}
    for text in tree.find_all(nodes.Const):
        if isinstance(text.value, str) and text.value[:1].isupper() and id(text) not in translated:
            yield text.lineno, text.value


def test_expressions_of_templates_speak_through_translation():
    fail_for(
        f"{where(path, line)}  “{words}” is not marked for translation"
        for path in TEMPLATES
        for line, words in find_untranslated_expressions(path)
        if WORDS.search(NAMES.sub("", words))
    )


def test_every_download_is_counted():
    """Answers that are sent in parts take a place: docs/decisions/0018."""
    names = {"StreamingHttpResponse", "FileResponse"}
    fail_for(
        f"{where(path, line)}  {name} is for openclaw_web/pages/downloads.py alone"
        for path in MODULES
        if path != ROOT / "openclaw_web" / "pages" / "downloads.py"
        for line, name in find_imports(path)
        if name.rpartition(".")[2] in names
    )


def test_locks_are_taken_in_one_place():
    fail_for(
        f"{where(path, line)}  locks are taken in openclaw_web/disk/locks.py alone"
        for path in MODULES
        if path != ROOT / "openclaw_web" / "disk" / "locks.py"
        for line, name in find_imports(path)
        if name.partition(".")[0] == "fcntl"
    )


def find_own_pages(path):
    for node in source(path).nodes(ast.ClassDef):
        named = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
        if {"items", "next", "previous"} <= named:
            yield f"{where(path, node.lineno)}  {node.name} spells out what Page[…] of endpoints/schemas.py is"


def test_a_page_of_the_api_is_declared_once():
    fail_for(
        problem
        for path in MODULES
        if path != ROOT / "openclaw_web" / "endpoints" / "schemas.py"
        for problem in find_own_pages(path)
    )


def test_apps_above_are_named_in_settings():
    """A lower app names its callbacks in the settings, because a signal hides who is called."""
    fail_for(
        f"{where(path, line)}  {name}: name what is called in openclaw_web/settings.py (docs/map.md, The order)"
        for path in MODULES
        for line, name in find_imports(path)
        if name.startswith("django.dispatch") or (".signals." in name and name.rpartition(".")[2] not in OF_DJANGO)
    )
