"""Base schemas that the requests and answers of all operations share."""

from functools import cache
from typing import Any, Generic, TypeVar

import ninja
from ninja.schema import DjangoGetter
from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, ValidationInfo, model_validator

from ..lists import paging

BIGGEST = 2**53  # the largest integer that JavaScript holds exactly
T = TypeVar("T")
SEGMENT = "the part of the list that its page shows under that name"
LARGEST_FIRST = "with a leading `-`: largest or newest first"
# A validator is built on first use. Set on ninja's class, because ninja makes a subclass of it for each answer.
ninja.Schema.model_config["defer_build"] = True


class Getter(DjangoGetter):
    """Reads keys of a dictionary and attributes of a row.

    Unlike ninja's own getter, it does not look up a missing name as templates do.
    """

    __slots__ = ()

    def __getattr__(self, key: str) -> Any:
        if resolver := self._schema_cls._ninja_resolvers.get(key):
            return resolver(getter=self)
        if isinstance(self._obj, dict):
            if key in self._obj:
                return self._obj[key]
            raise AttributeError(key)
        return getattr(self._obj, key)


class Schema(ninja.Schema):
    """Base class of everything that the API takes or answers.

    pydantic alone reads a schema without a `resolve_…`, which is faster.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _run_root_validator(cls, values: Any, handler: ModelWrapValidatorHandler[Any], info: ValidationInfo) -> Any:
        return handler(Getter(values, cls, info.context) if cls._ninja_resolvers else values)


class Misfit(Schema):
    """A part of a request that is not valid."""

    loc: list[str | int] = Field(description="where: `query`, `path`, `header` or `body`, then the name")
    msg: str


class Problem(Schema):
    """Why a request failed."""

    detail: str = Field(description="a sentence that says what to do")
    code: str = Field(description="the reason for programs: `not_found`, `refused`, `in_progress`, …")
    reasons: list[dict[str, Any]] = Field([], description="409: the rows that prevent the request")
    errors: list[Misfit] = Field([], description="422: the parts of the request that are not valid")


class Body(Schema):
    """The body of a write. Unknown names are refused, because their request would be ignored."""

    model_config = ConfigDict(extra="forbid")


class Page(Schema, Generic[T]):
    """A page of a list, with the cursors of the pages before and after it.

    `Page[AgentOut]` is `AgentPage` in the document.
    """

    items: list[T]
    next: str | None
    previous: str | None

    def __class_getitem__(cls, item: type[Any]) -> type[Any]:
        return _rename_page(super().__class_getitem__(item), item)


@cache
def _rename_page(part, item):
    """A subclass with a short name; the document would call the generic one `Page_AgentOut_`."""
    return type(part)(f"{item.__name__.removesuffix('Out')}Page", (part,), {"__module__": item.__module__})


class PageQuery(Schema):
    """The position in a list, and the maximum number of rows.

    The position is the `next` or `previous` of another page.
    """

    after: str | None = Field(None, description="`next` of the preceding page; leave out for the first page")
    before: str | None = Field(None, description="`previous` of the following page; used only without `after`")
    limit: int = Field(50, ge=1, le=200)

    @property
    def place(self) -> dict[str, Any]:
        """The position as arguments of `page_of`."""
        return {"after": self.after, "before": self.before, "size": self.limit}

    def criteria(self) -> dict[str, Any]:
        """The filters as arguments of `List.fits`."""
        names = {"from_ts": "since", "to_ts": "until"}
        chosen = self.dict(exclude={"after", "before", "limit"}, exclude_none=True)
        return {names.get(name, name): value for name, value in chosen.items()}


class TimeRangeQuery(PageQuery):
    """The query of a list that can be narrowed to a time range."""

    from_ts: int | None = Field(None, ge=0, le=BIGGEST, description="milliseconds: at or after this time")
    to_ts: int | None = Field(None, ge=0, le=BIGGEST, description="milliseconds: before this time")


def page_to_json(page: paging.Page, items: list[Any] | None = None) -> dict[str, Any]:
    """The answer of a list: its items and the cursors of neighbouring pages.

    `items` replace the rows of the page when they are given.
    """
    return {"items": page if items is None else items, "next": page.next, "previous": page.previous}
