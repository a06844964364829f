"""`openclaw-web records`, and the API, files and document of a table with a new column."""

import os
from io import StringIO
from pathlib import Path

import orjson
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test.utils import isolate_apps
from ninja import NinjaAPI
from ninja.testing import TestClient

from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.declaration import file_columns
from openclaw_web.lists.filters import download_rows
from openclaw_web.lists.paging import page_of
from openclaw_web.management.commands.records import describe
from openclaw_web.sqlite.fields import EpochMs, Number, PlainText, SpeechText

GOLDEN = Path(__file__).parents[1] / "data" / "records"
DESCRIBED_TABLES = {
    table._meta.db_table
    for table in apps.get_models()
    if any(getattr(field, "shown", ()) for field in table._meta.concrete_fields)
}


def print_records(name):
    out = StringIO()
    call_command("records", name, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("table", sorted(DESCRIBED_TABLES))
def test_what_a_table_becomes_is_known(table):
    """The effect of a changed field shows up in the diff of the golden file.

    UPDATE_GOLDEN=1 rewrites it.
    """
    golden = GOLDEN / f"{table}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(print_records(table))
    assert print_records(table) == golden.read_text(), (
        "run UPDATE_GOLDEN=1 ./dev test tests/openclaw_web/test_records.py, look at the diff"
    )


def test_no_golden_is_left_of_a_table_that_is_gone():
    assert {path.stem for path in GOLDEN.iterdir()} == DESCRIBED_TABLES


def test_a_table_goes_by_the_name_of_its_class_as_well():
    assert print_records("GateCall") == print_records("gate_calls")


def test_a_table_that_is_not_there_is_refused():
    with pytest.raises(CommandError, match="There is no table no_such_table"):
        print_records("no_such_table")


def sightings(**more):
    """Creates a table of tests with one row; `more` are additional fields."""
    fields = {
        "id": PlainText(primary_key=True, shown="api file"),
        "at": EpochMs(shown="api file"),
        "note": SpeechText(),
    } | more
    meta = type("Meta", (), {"app_label": "jobs", "db_table": "sightings"})
    table = type("Sighting", (models.Model,), {"__module__": __name__, "Meta": meta, **fields})
    with connection.cursor() as cursor:
        cursor.execute(*connection.schema_editor().table_sql(table))
    table.objects.create(id="one", at=5, note="seen", **({"cost_usd": 0.25} if more else {}))
    return table


def read_outputs(table):
    """Returns a table's items of the API, its file, its properties and its `records` lines."""

    class SightingOut(table_schema(table)):
        """A row of the table."""

    api = NinjaAPI(urls_namespace=f"sightings-{len(SightingOut.model_fields)}")

    @api.get("/sightings", response=Page[SightingOut])
    def sightings(request):
        return page_to_json(page_of(table.objects.all(), order=("at", "id")))

    columns = file_columns(table, "id")
    rows = table.objects.values(*columns)
    answer = download_rows(rows.order_by("at", "id").iterator(), columns=columns, name="sightings", kind="jsonl")
    properties = api.get_openapi_schema(path_prefix="")["components"]["schemas"]["SightingOut"]["properties"]
    return (
        TestClient(api).get("/sightings").json()["items"],
        b"".join(answer.streaming_content).decode(),
        properties,
        "\n".join(describe(table, ())),
    )


@pytest.mark.django_db
@isolate_apps("jobs")
def test_a_field_that_is_added_is_in_the_api_the_file_the_document_and_the_command():
    items, file, properties, lines = read_outputs(
        sightings(cost_usd=Number(null=True, shown="api file", help_text="known"))
    )
    assert items == [{"id": "one", "at": 5, "cost_usd": 0.25}]
    assert orjson.loads(file) == items[0]
    assert properties["cost_usd"] == {
        "anyOf": [{"type": "number"}, {"type": "null"}],
        "description": "known",
        "title": "Cost Usd",
    }
    assert "cost_usd                 number | null  # known" in lines


@pytest.mark.django_db
@isolate_apps("jobs")
@pytest.mark.parametrize("options", [{}, {"shown": ""}])
def test_a_field_that_says_nothing_or_nowhere_is_shown_nowhere(options):
    items, file, properties, lines = read_outputs(sightings(cost_usd=Number(null=True, **options)))
    assert "cost_usd" not in {*items[0], *properties} and "cost_usd" not in file
    assert "cost_usd                 real, null, shown nowhere" in lines
