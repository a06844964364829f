"""Declares operations of the API: path, answers, failures, and name in the OpenAPI document."""

from collections.abc import Callable
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
        self.router = Router(tags=tags, **options)

    def get(self, path: str, answer: Any, *failing: int, **options: Any) -> Declare:
        return self._declare("GET", path, answer, failing, options)

    def post(self, path: str, answer: Any, *failing: int, **options: Any) -> Declare:
        return self._declare("POST", path, answer, failing, options)

    def delete(self, path: str, answer: Any, *failing: int, **options: Any) -> Declare:
        return self._declare("DELETE", path, answer, failing, options)

    def _declare(self, method, path, answer, failing, options):
        answers = answer if isinstance(answer, dict) else {200: answer}
        ids = options.pop("ids", self.ids)  # for an operation that moved into another module
        extra = options.pop("openapi_extra", {})
        responses = {status: openapi_extras.describe_failure(status) for status in (403, 422, *failing)} | extra.get(
            "responses", {}
        )
        options |= {"response": {**answers, 401: Problem}, "openapi_extra": extra | {"responses": responses}}

        def declare(view):
            name = f"{ids}_{view.__name__}"
            return self.router.api_operation([method], path, operation_id=name, **options)(view)

        return declare
