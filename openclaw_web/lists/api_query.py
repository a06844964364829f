"""The query of a list in the API, from the filters of its page."""

from collections.abc import Collection
from typing import Any, Literal

from django import forms
from django.utils.choices import CallableChoiceIterator
from pydantic import Field, create_model

from ..endpoints.schemas import LARGEST_FIRST, SEGMENT, PageQuery, Schema, TimeRangeQuery
from .filters import BESIDE, DayFilters, ListFilters
from .segments import NAME

LONGEST_NAME = 56  # of an agent: choices that only the database knows
NUMBERS: dict[type[forms.Field], type] = {forms.FloatField: float, forms.IntegerField: int}


def list_query(filters: type[ListFilters], without: Collection[str] = (), base: type[Schema] | None = None) -> Any:
    """Build the base class of a list's query: the filters of its page but `without`, its segments and its orders.

    Days of the page are moments in milliseconds here. `DESCRIPTIONS` of the filters describe the parameters. With
    `base` it is no query of a list: it has neither pages nor moments.
    """
    left_out = {*BESIDE, *filters.PLACE, *without}
    fields: dict[str, Any] = {
        name: _build_parameter(field, filters.DESCRIPTIONS.get(name))
        for name, field in filters.base_fields.items()
        if name not in left_out
    }
    if filters.SEGMENTS and NAME not in left_out:
        fields[NAME] = (Literal[tuple(filters.SEGMENTS.parts)], Field("all", description=SEGMENT))
    if "sort" not in without:
        fields["sort"] = (Literal[filters.sorts()], Field(filters.DEFAULT, description=LARGEST_FIRST))
    base = base or (TimeRangeQuery if issubclass(filters, DayFilters) else PageQuery)
    return create_model(f"{filters.__name__}Query", __base__=base, __module__=filters.__module__, **fields)


def _build_parameter(field, description):
    """The type of a parameter, and its pydantic field."""
    if isinstance(field, forms.BooleanField):
        return bool, Field(False, description=description)
    if number := NUMBERS.get(type(field)):
        return number | None, Field(None, ge=field.min_value, le=field.max_value, description=description)
    choices = getattr(field, "choices", ())
    if choices and not isinstance(choices, CallableChoiceIterator):
        values = tuple(str(value) for value, _word in choices if value)
        return Literal[values] | None, Field(None, description=description)
    longest = getattr(field, "max_length", LONGEST_NAME)
    return str | None, Field(None, max_length=longest, description=description)
