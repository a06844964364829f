"""Which kinds of secrets flag an artifact, as the operator has it."""

import pytest

from artifacts.contents import secret_flags, secrets
from people.configuration import catalogue
from people.configuration import setting_values as configuration

pytestmark = pytest.mark.django_db
SHAPES = ["private_key", "aws_key", "bearer", "github_key", "google_key", "jwt", "model_key", "slack_key"]


def test_every_kind_flags_unless_told():
    assert configuration.KEYS[secret_flags.KEY].default == list(secrets.KINDS)
    assert all(secret_flags.is_flagged([kind]) for kind in secrets.KINDS)
    assert not secret_flags.is_flagged([])
    assert not secret_flags.is_flagged("[]")


def test_an_operator_narrows_it():
    configuration.put(secret_flags.KEY, SHAPES)
    assert not secret_flags.is_flagged('["token", "password"]')
    assert secret_flags.find_flagged_kinds('["token", "jwt"]') == ["jwt"]
    configuration.put(secret_flags.KEY, [])
    assert not secret_flags.is_flagged(list(secrets.KINDS))


def test_the_page_of_settings_offers_every_kind(as_admin):
    assert "artifacts.flaggedKinds" in as_admin.get("/operations/settings/").text
    assert list(catalogue.SECRET_KINDS) == list(secrets.KINDS)


def test_many_rows_cost_one_query(django_assert_num_queries):
    with django_assert_num_queries(1):
        kinds = secret_flags.read_flagged_kinds()
        assert [secret_flags.is_flagged(["token"], kinds) for _row in range(50)] == [True] * 50
