"""Every macro of templates/ui/, in both themes.

COMPONENTS=FOLDER writes the page and its styles to that folder.
"""

import os
import shutil
from pathlib import Path

import pytest
from django.template import engines

from tests.components import catalogue, page
from tests.openclaw_web.pages.test_colours import TOKENS

PAGE = "/components/"
STATIC = Path(__file__).resolve().parents[2] / "static"
pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.components.urls")]


def test_it_works(as_admin, django_assert_max_num_queries):
    as_admin.get(PAGE)
    with django_assert_max_num_queries(4):
        text = as_admin.get(PAGE).content.decode()
    for theme in ("light", "dark"):
        assert text.count(f'data-theme="{theme}"') == len(catalogue.entries())
    if folder := os.environ.get("COMPONENTS"):
        shutil.copytree(STATIC, Path(folder) / "static", dirs_exist_ok=True)
        shutil.copy(page.STYLES, folder)
        (Path(folder) / "index.html").write_text(text.replace('"/', '"'))
    assert "{{ ui.badge(label, tone=&#34;&#34;, title=&#34;&#34;) }}" in text
    assert "A badge with a word that is no state. `tone`:" in text


def test_every_component_is_shown():
    assert (
        set(engines["jinja2"].env.globals["ui"].macros)
        == catalogue.list_shown_components()
        == set(catalogue.components())
    )


def test_every_component_says_what_it_is_with_the_arguments_it_has():
    for name, macro in engines["jinja2"].env.globals["ui"].macros.items():
        component = catalogue.components()[name]
        arguments = [argument.partition("=")[0].strip() for argument in component.arguments.split(",")]
        assert tuple(filter(None, arguments)) == macro.arguments and len(component.comment) > 20, name


def test_every_colour_is_shown_with_its_contrast(as_admin):
    text = as_admin.get(PAGE).content.decode()
    assert [colour.name for colour in catalogue.colours()] == list(TOKENS)
    assert all(f"--{name}<" in text for name in TOKENS)
    assert (catalogue.contrast("#000000", "#ffffff"), catalogue.contrast("#777777", "#777777")) == (21, 1)
