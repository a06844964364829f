"""`openclaw-web records`: what a table becomes outside of the database."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Field, Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ...commands.verbs import DONE, REFUSED, WRONG_USE, Verb
from ...endpoints.table_schemas import TableSchema
from ...errors import Refused
from ...lists import segments
from ...lists.declaration import List, find_lists
from ...lists.filters import DayFilters
from ...sqlite.fields import get_text_kind


class Command(Verb):
    help = gettext_lazy("Print the answers of the API and the columns of files that a table becomes.")
    examples = ("records gate_calls", "records GateCall")
    statuses = (DONE, WRONG_USE, REFUSED)
    needs_database = works_in_home = False

    def add_arguments(self, parser):
        parser.add_argument("name", metavar="NAME", help=_("name of the table, or of its class"))

    def run(self, name, **options):
        table = next((table for table in apps.get_models() if name in (table.__name__, table._meta.db_table)), None)
        if table is None:
            raise Refused(_("There is no table %(name)s.") % {"name": name})
        lists = find_lists().values()  # which reads the addresses, and so all answers
        self.stdout.write("\n".join(describe(table, lists)))


def describe(table: type[Model], lists: Iterable[List]) -> Iterator[str]:
    """All that is made from the fields of a table, line by line."""
    yield f"{table._meta.db_table}: {table._meta.label}"
    for field in table._meta.concrete_fields:
        yield from _row(field.attname, _column(field), str(field.help_text))
    for schema in sorted(_schemas(TableSchema, table), key=lambda schema: schema.__name__):
        yield f"\nAPI {schema.__name__}"
        document = schema.model_json_schema(mode="serialization", by_alias=True)
        for name, value in document["properties"].items():
            yield from _row(name, _type(value), value.get("description", ""))
    for declared in lists:
        if declared.table is table:
            yield from _list(declared)


def _schemas(schema: type[TableSchema], table: type[Model]) -> Iterator[type[TableSchema]]:
    """The answers with columns of a table, without the classes that they are made from."""
    for each in schema.__subclasses__():
        if each.table is table and not each.__name__.endswith("Columns"):
            yield each
        yield from _schemas(each, table)


def _list(declared: List) -> Iterator[str]:
    """The file, the filters and the orders of a list."""
    asked = [name for name in declared.filters.base_fields if name not in ("sort", "format")]
    asked += [segments.NAME] if declared.filters.SEGMENTS else []
    asked += ["from", "to"] if issubclass(declared.filters, DayFilters) else []
    yield f"\nlist {declared.on}"
    yield from _row("file", ", ".join(declared.fields))
    yield from _row("filters", ", ".join(asked))
    yield from _row("orders", ", ".join(declared.filters.sorts()))


def _column(field: Field) -> str:
    """What a field says of its column: type, kind, and where it is shown."""
    kind, places = get_text_kind(field), getattr(field, "shown", ())
    what = [field.db_type(connection), "null" if field.null else "", kind.value if kind else ""]
    return ", ".join([*filter(None, what), f"shown in {' and '.join(sorted(places))}" if places else "shown nowhere"])


def _type(value: dict[str, Any]) -> str:
    """The type of a value in JSON, as one word or several with bars between them."""
    if parts := value.get("anyOf"):
        return " | ".join(map(_type, parts))
    if "enum" in value:
        return " | ".join(map(str, value["enum"]))
    if items := value.get("items"):
        return f"list of {_type(items)}"
    return value.get("type") or value.get("$ref", "any").rpartition("/")[2]


def _row(name: str, what: str, help: str = "") -> Iterator[str]:
    yield f"  {name:<24} {what}{f'  # {help}' if help else ''}".rstrip()
