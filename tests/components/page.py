"""The page of components, drawn by the site's templates and those beside it.

The site itself has no address for it.
"""

from pathlib import Path
from types import SimpleNamespace

from django import forms
from django.http import HttpResponse
from django.template import engines
from django.template.backends.jinja2 import Template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET
from jinja2 import ChoiceLoader, FileSystemLoader

from artifacts.lint import lint_text
from openclaw_web.diffs import line_diff
from openclaw_web.pages import states
from openclaw_web.pages.charts import Point, Series, bar_chart, histogram, line_chart
from openclaw_web.pages.roles import needs
from openclaw_web.pages.small_charts import dot_strip, share_chart, sparkline

from . import catalogue

HERE = Path(__file__).parent
STYLES = HERE / "components.css"
THEMES = {"light": gettext_lazy("Light"), "dark": gettext_lazy("Dark")}
DECISIONS = ("NO_WRITE", "UPDATE_MEMORY", "UPDATE_USER", "UPDATE_SOUL", "UPDATE_IDENTITY", "UPDATE_TOOLS")
ROLES = ("user", "agent", "thinking", "tool", "system")
OLD = "# Memory\n\n- Mei likes oat milk.\n- The oven needs 20 minutes.\n- Orders by Friday.\n"
NEW = "# Memory\n\n- Mei likes oat milk, no sugar.\n- The oven needs 20 minutes.\n"


class Example(forms.Form):
    """A field of each kind."""

    name = forms.CharField(label=gettext_lazy("Name"), help_text=gettext_lazy("Visible to other users."))
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=[("viewer", "Viewer"), ("admin", "Admin")])
    note = forms.CharField(label=gettext_lazy("Note"), required=False, widget=forms.Textarea(attrs={"rows": 2}))
    often = forms.BooleanField(label=gettext_lazy("Daily"), required=False)


@require_GET
@needs("admin")
def component_list(request):
    """Every component in its states, in both themes beside each other."""
    panes = [
        {
            "theme": theme,
            "name": name,
            "form": Example(auto_id=f"{theme}-ok-%s", initial={"name": "Mei"}),
            "panel_id": f"{theme}-panel",
            "panel_form": Example(auto_id=f"{theme}-panel-%s"),
            "bad_form": Example({"role": "king"}, auto_id=f"{theme}-bad-%s"),
        }
        for theme, name in THEMES.items()
    ]
    context = {
        "panes": panes,
        "entries": catalogue.entries(),
        "frame": [catalogue.components()[name] for name in catalogue.FRAME],
        "colours": catalogue.colours(),
        **_build_example_context(),
    }
    backend = engines["jinja2"]
    loader = ChoiceLoader([backend.env.loader, FileSystemLoader(HERE / "templates")])
    drawn = backend.env.overlay(loader=loader).get_template("component_list.html")
    return HttpResponse(Template(drawn, backend).render(context, request))


def _build_example_context():
    # Values for the examples. None of them is in a database.
    diff = line_diff.compare(OLD, NEW)
    return {
        "states": list({state.word: value for value, state in reversed(states.STATES.items())}.values())[::-1],
        "decisions": DECISIONS,
        "roles": ROLES,
        "example_agent": SimpleNamespace(agent_id="main", model="claude-sonnet-4-5"),
        "example_job": SimpleNamespace(
            job=SimpleNamespace(id="example", state="refused"),
            label=_("Import"),
            tone="bad",
            sentence=_("There is no OpenClaw folder at %(path)s.") % {"path": "/x"},
            href="#c-notice",
            action=_("View job"),
            is_polled=False,
        ),
        "example_page": SimpleNamespace(next="b", previous="a"),
        "example_search": SimpleNamespace(reached=1_767_571_200_000),
        "example_tabs": [
            {"label": states.word(value), "amount": amount, "href": "#c-list", "is_current": amount["is_more"]}
            for value, amount in (
                ("pending", {"count": 10_000, "is_more": True}),
                ("approved", {"count": 7, "is_more": False}),
            )
        ],
        "hits": list(lint_text("openclaw sessions list --json")),
        "examples_of_reasons": [{"id": "sample 7", "reason": "A text is empty (output)."}],
        "diff": diff,
        "diff_view": line_diff.build_view(diff),
        "charts": _build_charts(),
        "long_word": "a-session-key-" + "of-many-parts-" * 8,
    }


def _build_charts():
    days = [Point(f"{n} Feb 2026", f"{n} Feb", (n * 7 % 31, n % 4), f"#day-{n}") for n in range(1, 29)]
    seconds = [(n * 5 % 17 + 2, None if n == 6 else n * 11 % 40 + 8) for n in range(1, 15)]
    times = [Point(f"{n} Feb 2026", f"{n} Feb", values) for n, values in enumerate(seconds, start=1)]
    turns = Series(_("Turns")), Series(_("Errors"), "bad", is_below=True)
    lengths = [Point(f"{n} – {n + 10}", str(n), (n * n % 97,)) for n in range(0, 120, 10)]
    verdicts = Series(_("Right"), "ok"), Series(_("Wrong"), "bad")
    options = {"title": _("Turns and errors"), "unit": _("Day"), "series": turns}
    return {
        "bars": bar_chart(days, **options),
        "one": bar_chart(days[4:5], **options),
        "none": bar_chart([], **options),
        "lines": line_chart(
            times,
            title=_("Time to answer"),
            unit=_("Day"),
            series=[Series(_("Median"), "info"), Series(_("Slowest tenth"), "warn")],
            in_words=lambda value: "–" if value is None else f"{value} s",
        ),
        "histogram": histogram(
            lengths, title=_("Turns of a session"), unit=_("Turns"), label=_("Sessions"), tone="tool"
        ),
        "shares": share_chart(days, title=_("Turns and errors"), unit=_("Day"), series=verdicts),
        "dots": dot_strip(days, title=_("Verdicts of people"), series=verdicts),
        "strip": {"chart": bar_chart(days, **options), "spark": sparkline([3, 5, 2, 8, 4, 6, 9], label="")},
        "spark": sparkline([3, 5, 2, 8, 4, 6, 9], label=_("Turns")),
    }
