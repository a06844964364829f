"""`openclaw-web records`: the API schemas and the file columns of a table."""

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
        lists = find_lists().values()  # this imports the addresses, and with them all schemas of answers
        self.stdout.write("\n".join(describe(table, lists)))


def describe(table: type[Model], lists: Iterable[List]) -> Iterator[str]:
    """Yield a description of everything that is made from a table, line by line."""
    yield f"{table._meta.db_table}: {table._meta.label}"
    for field in table._meta.concrete_fields:
        yield from _format_row(field.attname, _describe_column(field), str(field.help_text))
    for schema in sorted(_iterate_schemas(TableSchema, table), key=lambda schema: schema.__name__):
        yield f"\nAPI {schema.__name__}"
        document = schema.model_json_schema(mode="serialization", by_alias=True)
        for name, value in document["properties"].items():
            yield from _format_row(name, _format_type(value), value.get("description", ""))
    for declared in lists:
        if declared.table is table:
            filter_names = [name for name in declared.filters.base_fields if name not in ("sort", "format")]
            filter_names += [segments.NAME] if declared.filters.SEGMENTS else []
            filter_names += ["from", "to"] if issubclass(declared.filters, DayFilters) else []
            yield f"\nlist {declared.on}"
            yield from _format_row("file", ", ".join(declared.fields))
            yield from _format_row("filters", ", ".join(filter_names))
            yield from _format_row("orders", ", ".join(declared.filters.sorts()))


def _iterate_schemas(schema: type[TableSchema], table: type[Model]) -> Iterator[type[TableSchema]]:
    """Yield the schemas with columns of a table, without their generated base classes."""
    for each in schema.__subclasses__():
        if each.table is table and not each.__name__.endswith("Columns"):
            yield each
        yield from _iterate_schemas(each, table)


def _describe_column(field: Field) -> str:
    """The type, the kind and the places of a column in one line."""
    kind, places = get_text_kind(field), getattr(field, "shown", ())
    parts = [field.db_type(connection), "null" if field.null else "", kind.value if kind else ""]
    return ", ".join([*filter(None, parts), f"shown in {' and '.join(sorted(places))}" if places else "shown nowhere"])


def _format_type(value: dict[str, Any]) -> str:
    """The type of a JSON schema, as one word or several with bars between them."""
    if parts := value.get("anyOf"):
        return " | ".join(map(_format_type, parts))
    if "enum" in value:
        return " | ".join(map(str, value["enum"]))
    if items := value.get("items"):
        return f"list of {_format_type(items)}"
    return value.get("type") or value.get("$ref", "any").rpartition("/")[2]


def _format_row(name: str, text: str, help: str = "") -> Iterator[str]:
    yield f"  {name:<24} {text}{f'  # {help}' if help else ''}".rstrip()
