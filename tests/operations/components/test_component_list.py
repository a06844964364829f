"""The page of components: everything that templates/components/ holds, in both themes."""

from pathlib import Path

import pytest

from operations.components import catalogue
from tests.openclaw_web.test_colours import TOKENS

PAGE = "/operations/components/"
COMPONENTS = Path(__file__).resolve().parents[3] / "templates" / "components"
pytestmark = pytest.mark.django_db


def test_it_works(as_admin, django_assert_max_num_queries):
    as_admin.get(PAGE)
    with django_assert_max_num_queries(4):
        text = as_admin.get(PAGE).content.decode()
    for theme in ("light", "dark"):
        assert text.count(f'data-theme="{theme}"') == len(catalogue.entries())
    assert "{% include &quot;components/badge.html&quot; with ... only %}" in text
    assert "A state in one word. Inputs: label;" in text


def test_every_component_is_shown():
    assert {file.stem for file in COMPONENTS.glob("*.html")} == catalogue.shown()


def test_every_component_says_what_it_takes():
    for name in catalogue.shown():
        comment = catalogue.component(name).comment
        assert "nputs" in comment, name


def test_every_colour_is_shown_with_its_contrast(as_admin):
    text = as_admin.get(PAGE).content.decode()
    assert [colour.name for colour in catalogue.colours()] == list(TOKENS)
    assert all(f"--{name}<" in text for name in TOKENS)
    assert (catalogue.contrast("#000000", "#ffffff"), catalogue.contrast("#777777", "#777777")) == (21, 1)
