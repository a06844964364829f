"""The card of a row on a phone, as a list declares it."""

import pytest

from openclaw_web.lists.declaration import TITLE, find_lists
from tests.factories import SessionFactory, TurnFactory

pytestmark = pytest.mark.django_db


def find_marks(declaration):
    return [column[3] for column in declaration.columns if len(column) > 3]


def test_every_list_says_what_is_on_its_card():
    for name, declaration in find_lists().items():
        values = [mark for mark in find_marks(declaration) if mark != TITLE]
        assert 2 <= len(values) <= 4, name
        assert find_marks(declaration).count(TITLE) <= 1, name


def test_the_table_has_it_as_classes(as_admin, ada):
    session = SessionFactory()
    TurnFactory(session_id=session.id)
    for name, marks in (("sessions", "card-t1 card-p5 card-n6 card-p8"), ("turns", "card-p1 card-t2 card-n6 card-p8")):
        assert f'<table class="table table--dense card {marks}" data-rows>' in as_admin.get(f"/agents/ada/{name}/").text
