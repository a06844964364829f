"""The contents of the page of components: components, patterns of app.css, colours."""

import re
from dataclasses import dataclass
from functools import cache

from django.contrib.staticfiles import finders
from django.template import engines

from tests.openclaw_web.pages import test_colours

GROUNDS = ("surface", "raised")
TOKEN = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);")
MACRO = re.compile(r"\{#\s*((?:[^#]|#(?!\}))*?)\s*#\}\n\{% macro ([a-z]\w*)\(([^%]*)\) -?%\}")

# (title, the example, the components that it shows), in the order of the page.
ENTRIES = {
    "controls": [
        ("Button", "button", ("button",)),
        ("Button with an immediate effect", "post-button", ("post_button",)),
        ("Import button", "collect-button", ("collect_button",)),
        ("Actions of a row", "row-actions", ("row_actions",)),
        ("Fold on a phone", "phone-fold", ("phone_fold",)),
        ("Copy", "copy", ("copy",)),
        ("Command", "command", ("command",)),
        ("Field", "field", ("field",)),
        ("Form in a panel", "form-panel", ("form_panel",)),
        ("Filters and chips", "filters", ("chip", "sample_filter")),
        ("Segments", "tabs", ("list_segments",)),
        ("Pager", "pager", ("pager", "piece_pager")),
        ("Menu", "menu", ("user_menu", "theme_switch")),
        ("Languages before sign-in", "languages", ("language_choice",)),
        ("Keys", "keys", ("keys_button", "usual_keys")),
    ],
    "states": [
        ("State", "state", ("state",)),
        ("Badge", "badge", ("badge",)),
        ("Notice", "notice", ("notice", "job_notice")),
        ("Empty", "empty", ("empty",)),
        ("Error", "error", ()),
        ("Partial", "partial", ("searched",)),
        ("Progress", "progress", ("progress",)),
        ("Secret, shown once", "secret", ("new_secret",)),
        ("Reasons of a refusal", "reasons", ("reasons",)),
    ],
    "data": [
        ("Stat tiles", "stat", ("stat",)),
        ("Table", "table", ("sort_header",)),
        (
            "List",
            "list",
            (
                *("filter_line", "filter_form", "filter_count", "filter_control"),
                *("list_bar", "list_title", "list_count", "list_files", "side_panel"),
            ),
        ),
        ("Facts", "facts", ()),
        ("Bars above a list", "list_strip", ("list_strip",)),
        ("The agent of a row in a list of all agents", "agent_cell", ("agent_cell",)),
        ("Bar chart", "bars", ("chart", "chart_table")),
        ("Line chart", "lines", ("chart",)),
        ("Histogram", "histogram", ("chart",)),
        ("Chart of one point, chart of none", "few", ("chart",)),
        ("Dots below a chart", "dot_strip", ("dot_strip",)),
        ("Sparkline", "spark", ("sparkline",)),
    ],
    "transcript": [
        ("Turn with every kind of record", "turn", ()),
        ("Call", "call", ()),
        ("Payload", "payload", ()),
        ("Diff", "difference", ("diff", "diff_rows", "numbered_lines")),
        ("Verdict bar", "verdicts", ()),
        ("Evidence", "evidence", ()),
        ("Findings of lint", "lint", ("lint_hits",)),
        ("Text and words", "text", ()),
    ],
}
# Around every page, this one too, or a part that pages load.
FRAME = ("logo", "rail_of", "tab_bar", "related_links", "find_field", "chain", "agent_chooser", "zone_note")


@dataclass(frozen=True, slots=True)
class Component:
    """A macro of templates/ui/, with the comment above it and its arguments with their defaults."""

    name: str
    comment: str
    arguments: str

    @property
    def call(self):
        """The text that calls the macro in a template."""
        return f"{{{{ ui.{self.name}({self.arguments}) }}}}"


@dataclass(frozen=True, slots=True)
class Entry:
    """An example of the page: a macro of templates/components/, and the components in it."""

    title: str
    anchor: str
    file: str
    components: tuple[Component, ...]

    @property
    def macro(self):
        """The name of the macro."""
        return self.anchor.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Colour:
    """A token in both themes, with its contrast to the surface and to raised areas."""

    name: str
    light: str
    dark: str
    light_contrast: float
    dark_contrast: float


def entries() -> list[Entry]:
    """Every example, in order."""
    return [
        Entry(title, example, file, tuple(components()[name] for name in names))
        for file, examples in ENTRIES.items()
        for title, example, names in examples
    ]


def list_shown_components() -> set[str]:
    """The names of the components on the page, including its own frame."""
    return {name for examples in ENTRIES.values() for _title, _example, names in examples for name in names} | {*FRAME}


@cache
def components() -> dict[str, Component]:
    """Every component by its name."""
    env = engines["jinja2"].env
    files = env.list_templates(filter_func=lambda name: name.startswith("ui/"))
    macros = (macro for file in files for macro in MACRO.findall(env.loader.get_source(env, file)[0]))
    return {name: Component(name, comment, arguments) for comment, name, arguments in macros}


@cache
def colours() -> list[Colour]:
    """The colour tokens of app.css in their order, each with its poorest contrast."""
    with open(finders.find("app.css"), encoding="utf-8") as file:
        tokens = {name: themes for name, *themes in TOKEN.findall(file.read())}
    grounds = [tokens[ground] for ground in GROUNDS]
    return [
        Colour(name, *themes, *(min(contrast(themes[i], ground[i]) for ground in grounds) for i in (0, 1)))
        for name, themes in tokens.items()
    ]


def contrast(colour: str, other: str) -> float:
    """The contrast of two colours (`#rrggbb`) after WCAG 2: 1 to 21."""
    return round(test_colours.compute_contrast(colour, other), 2)
