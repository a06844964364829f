"""What the page of components shows: every component, every pattern of app.css, every colour. Knows no tables."""

import re
from dataclasses import dataclass
from functools import cache

from django.contrib.staticfiles import finders
from django.template.loader import get_template

GROUNDS = ("surface", "raised")
TOKEN = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);")
FIRST_COMMENT = re.compile(r"\{#\s*(.*?)\s*#\}", re.DOTALL)
EXAMPLES = "operations/components/{}.html#{}"

# (title, the example, the files of templates/components/ that it shows), in the order of the page.
ENTRIES = {
    "controls": [
        ("Button", "button", ("button",)),
        ("Button that changes something at once", "post-button", ("post_button",)),
        ("Button that collects", "collect-button", ("collect_button",)),
        ("Copy", "copy", ("copy",)),
        ("Command", "command", ("command",)),
        ("Field", "field", ("field",)),
        ("Form in a panel", "form-panel", ("form_panel",)),
        ("Filters and chips", "filters", ("chip",)),
        ("Tabs and segments", "tabs", ("agent_nav",)),
        ("Pager", "pager", ("pager",)),
        ("Menu", "menu", ("user_menu", "theme_switch")),
        ("Keys", "keys", ()),
    ],
    "states": [
        ("Badge", "badge", ("badge",)),
        ("Notice", "notice", ("notice",)),
        ("Empty", "empty", ("empty",)),
        ("Error", "error", ()),
        ("Partial", "partial", ()),
        ("Progress", "progress", ("progress",)),
        ("Secret that is shown once", "secret", ("new_secret",)),
        ("Reasons of a refusal", "reasons", ("reasons",)),
    ],
    "data": [
        ("Stat tiles", "stat", ("stat",)),
        ("Table", "table", ("sort_header",)),
        (
            "List",
            "list",
            ("filter_form", "list_part", "list_bar", "list_files", "list_tabs", "list_keys"),
        ),
        ("Facts", "facts", ()),
        ("Bar chart", "bars", ("chart",)),
        ("Line chart", "lines", ("chart",)),
        ("Histogram", "histogram", ("chart",)),
        ("Chart of one point, chart of none", "few", ("chart",)),
        ("Heatmap", "heatmap", ("heatmap",)),
    ],
    "transcript": [
        ("Turn with every kind of record", "turn", ()),
        ("Call", "call", ()),
        ("Payload", "payload", ()),
        ("Diff", "diff", ("diff",)),
        ("Verdict bar", "verdicts", ()),
        ("Evidence", "evidence", ()),
        ("Lines that lint bans", "lint", ("lint_hits",)),
        ("Text and words", "text", ()),
    ],
}
FRAME = ("logo", "nav_item", "rail", "rail_operations")  # around every page, this one too


@dataclass(frozen=True, slots=True)
class Component:
    """A file of templates/components/: its first comment, and the line that includes it."""

    name: str
    comment: str

    @property
    def include(self):
        """What to write into a template."""
        return f'{{% include "components/{self.name}.html" with ... only %}}'


@dataclass(frozen=True, slots=True)
class Entry:
    """One example of the page, and what it shows."""

    title: str
    anchor: str
    template: str
    components: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class Colour:
    """A token in both themes, with its contrast to the surface and to what is raised above it."""

    name: str
    light: str
    dark: str
    light_contrast: float
    dark_contrast: float


def entries() -> list[Entry]:
    """Every example, in order."""
    return [
        Entry(title, example, EXAMPLES.format(file, example), tuple(map(component, names)))
        for file, found in ENTRIES.items()
        for title, example, names in found
    ]


def shown() -> set[str]:
    """The names of the components that the page shows, its own frame included."""
    return {name for found in ENTRIES.values() for _title, _example, names in found for name in names} | {*FRAME}


@cache
def component(name: str) -> Component:
    """A component by the name of its file."""
    source = get_template(f"components/{name}.html").template.source
    return Component(name, FIRST_COMMENT.match(source)[1])


@cache
def colours() -> list[Colour]:
    """The colour tokens of app.css in its order; the contrast is the poorer of that to surface and raised."""
    with open(finders.find("app.css"), encoding="utf-8") as file:  # noqa: PTH123 - finders give a text
        tokens = {name: themes for name, *themes in TOKEN.findall(file.read())}
    grounds = [tokens[ground] for ground in GROUNDS]
    return [
        Colour(name, *themes, *(min(contrast(themes[i], ground[i]) for ground in grounds) for i in (0, 1)))
        for name, themes in tokens.items()
    ]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (`#rrggbb`) after WCAG 2: 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return round((lighter + 0.05) / (darker + 0.05), 2)


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
