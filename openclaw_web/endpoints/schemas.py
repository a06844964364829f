"""What the answers and questions of every operation share."""

from functools import cache
from typing import Any, Generic, TypeVar

import ninja
from ninja.schema import DjangoGetter
from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, ValidationInfo, model_validator

from ..lists import paging

BIGGEST = 2**53  # what JavaScript counts to exactly
T = TypeVar("T")
SEGMENT = "the part of the list that its page shows under that name"
LARGEST_FIRST = "with a leading `-`: largest or newest first"
# A validator is built when it is first asked. Set on the class of ninja, of which it makes a model for each answer.
ninja.Schema.model_config["defer_build"] = True


class Getter(DjangoGetter):
    """Reads keys of a dictionary and attributes of a row; what is missing is not looked up as templates do."""

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
    """Something that goes into the API or comes out of it. One without a `resolve_…` is read by pydantic alone."""

    @model_validator(mode="wrap")
    @classmethod
    def _run_root_validator(cls, values: Any, handler: ModelWrapValidatorHandler[Any], info: ValidationInfo) -> Any:
        return handler(Getter(values, cls, info.context) if cls._ninja_resolvers else values)


class Misfit(Schema):
    """A part of a request that is not valid."""

    loc: list[str | int] = Field(description="where: `query`, `path`, `header` or `body`, then the name")
    msg: str


class Problem(Schema):
    """Why nothing was done."""

    detail: str = Field(description="a sentence that says what to do")
    code: str = Field(description="the reason for programs: `not_found`, `refused`, `in_progress`, …")
    reasons: list[dict[str, Any]] = Field([], description="409: the rows that prevent the request")
    errors: list[Misfit] = Field([], description="422: the parts of the request that are not valid")


class Body(Schema):
    """What a write is told. A name that it does not know is refused: it may be a wish that would not be heeded."""

    model_config = ConfigDict(extra="forbid")


class Page(Schema, Generic[T]):
    """One part of a list, and where the parts beside it are. `Page[AgentOut]` is `AgentPage` in the document."""

    items: list[T]
    next: str | None
    previous: str | None

    def __class_getitem__(cls, item: type[Any]) -> type[Any]:
        return _named(super().__class_getitem__(item), item)


@cache
def _named(part, item):
    """A class with a name of its own: the document would call what it was made of `Page_AgentOut_`."""
    return type(part)(f"{item.__name__.removesuffix('Out')}Page", (part,), {"__module__": item.__module__})


class PageQuery(Schema):
    """Which part of a list: the `next` or `previous` of another part, and the maximum number of rows."""

    after: str | None = Field(None, description="`next` of the preceding page; leave out for the first page")
    before: str | None = Field(None, description="`previous` of the following page; used only without `after`")
    limit: int = Field(50, ge=1, le=200)

    @property
    def place(self) -> dict[str, Any]:
        """As `page_of` takes it."""
        return {"after": self.after, "before": self.before, "size": self.limit}

    def criteria(self, **names: str) -> dict[str, Any]:
        """The filters as the list is asked for them (`List.fits`); `names` are those that it calls otherwise."""
        names |= {"from_ts": "since", "to_ts": "until"}
        chosen = self.dict(exclude={"after", "before", "limit"}, exclude_none=True)
        return {names.get(name, name): value for name, value in chosen.items()}


class TimeRangeQuery(PageQuery):
    """A list that can be narrowed to a stretch of time."""

    from_ts: int | None = Field(None, ge=0, le=BIGGEST, description="milliseconds: at or after this time")
    to_ts: int | None = Field(None, ge=0, le=BIGGEST, description="milliseconds: before this time")


def page_to_json(page: paging.Page, items: list[Any] | None = None) -> dict[str, Any]:
    """The answer of a list: a page of rows, or `items` made of them, and the cursors of the pages beside it."""
    return {"items": page if items is None else items, "next": page.next, "previous": page.previous}
