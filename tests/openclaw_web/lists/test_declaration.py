"""What a list declares of the card that its row becomes on a phone."""

import pytest

from openclaw_web.lists.declaration import TITLE, find_lists
from tests.factories import SessionFactory, TurnFactory

pytestmark = pytest.mark.django_db


def marks_of(what):
    return [column[3] for column in what.columns if len(column) > 3]


def test_every_list_says_what_is_on_its_card():
    for name, what in find_lists().items():
        values = [mark for mark in marks_of(what) if mark != TITLE]
        assert 2 <= len(values) <= 4, name
        assert marks_of(what).count(TITLE) <= 1, name


def test_the_table_has_it_as_classes(as_admin, ada):
    session = SessionFactory()
    TurnFactory(session_id=session.id)
    for name, marks in (("sessions", "card-t1 card-p5 card-n6 card-p8"), ("turns", "card-p1 card-t2 card-n6 card-p8")):
        assert f'<table class="table card {marks}" data-rows>' in as_admin.get(f"/agents/ada/{name}/").text
