"""Declares operations of the API: path, answers, failures, and name in the OpenAPI document."""

from collections.abc import Callable
from functools import partialmethod
from typing import Any

from ninja import Router

from . import openapi_extras
from .schemas import Problem

Declare = Callable[[Callable[..., Any]], Callable[..., Any]]


class Operations:
    """The operations of one topic, with a decorator for each HTTP method.

    A decorator takes the path, the schema of the good answer (for 200, or as `{202: JobOut}`) and the statuses of the
    operation's own failures. 401, 403 and 422, which all operations have, are added, as are those of `openapi_extras`.
    Further options go to ninja. Failures are only described in the document, because ninja would make a model for each
    of them, about a thousand.

    An operation is called `<ids>_<its function>` in the document. Client programs are generated from these names, so a
    module that moves keeps its `ids`.
    """

    def __init__(self, ids: str, *, tags: list[str], **options: Any) -> None:
        self.ids = ids
        self.tags = tags
        self.options = options
        self.declared: dict[str, list[tuple[Any, ...]]] = {}

    def declare(self, method: str, path: str, answer: Any, *failing: int, **options: Any) -> Declare:
        def add(view):
            self.declared.setdefault(path, []).append((view, method, answer, failing, options))
            return view

        return add

    get = partialmethod(declare, "GET")
    post = partialmethod(declare, "POST")
    delete = partialmethod(declare, "DELETE")

    def build_router(self, path: str) -> Router:
        """Build the operations of a path with their models."""
        router = Router(tags=self.tags, **self.options)
        for view, method, answer, failing, options in self.declared[path]:
            extra = options.get("openapi_extra", {})
            described = {status: openapi_extras.describe_failure(status) for status in (403, 422, *failing)}
            more = {"operation_id": f"{self.ids}_{view.__name__}"} | options
            more["response"] = {**(answer if isinstance(answer, dict) else {200: answer}), 401: Problem}
            more["openapi_extra"] = extra | {"responses": described | extra.get("responses", {})}
            router.add_api_operation(path, [method], view, **more)
        for operation in router.path_operations[path].operations:
            operation.openapi_extra = openapi_extras.build_extra(operation, operation.view_func.needs_role)
        return router
