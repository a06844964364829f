"""The JSON API under /api/v1/: its routers, and the answers to failures."""

from functools import cache, cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain

import orjson
from csp.decorators import csp_update
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import OperationalError
from django.http import Http404
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt  # requests with a token: each use says why
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.docs import Swagger
from ninja.openapi.urls import get_openapi_urls, get_root_url
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from ninja.router import BoundRouter, RouterMount
from ninja.utils import replace_path_param_notation

from people.api_auth import openapi_access
from people.api_auth.auth import SessionAuth, TokenAuth
from people.api_auth.middleware import wrap_operation

from . import capabilities
from .endpoints import spellings
from .endpoints.error_responses import (
    build_error,
    build_refusal,
    build_validation_error,
    describe_csrf_failure,
    not_allowed,
    not_found,
    with_json_refusals,
)
from .endpoints.operations import Operations
from .errors import UserFacingError
from .sqlite import failures, time_limits

ROUTERS = (
    "agents.api",
    "search.api",
    "collecting.api",  # before ledger.lists: two of its operations have that router
    "artifacts.api",
    "ledger.lists.api",
    "ledger.session.api",
    "ledger.savings.api",
    "ledger.session.steps_api",
    "gate.api",
    "gate.runner.api",
    "gate.statistics.page.api",
    "gate.replays.api",
    "guardian.api",
    "guardian.corrections.api",
    "guardian.detail.api",
    "guardian.reach.api",
    "guardian.rollbacks.api",
    "guardian.handover.api",
    "guardian.runner.api",
    "episodes.api",
    "datasets.review.api",
    "datasets.queues.api",
    "datasets.imported_sets.api",  # before datasets.api: the id of a sample is no `import`
    "datasets.api",
    "datasets.kinds.api",
    "datasets.finding_values.api",
    "datasets.model_scores.api",
    "datasets.statistics.api",
    "datasets.spot_checks.api",
    "datasets.quality.api",
    "datasets.score_evaluation.api",
    "overview.api",
    "problems.api",
    "jobs.api",
    "datasets.exports.api",
    "datasets.coverage.api",  # before datasets.releases: the name of a dataset is no `coverage`
    "datasets.releases.api",
    "datasets.collection.api",
    "operations.chain.api",
    "operations.remediation.api",
    "operations.traces.api",
    "operations.backups.api",
    "operations.retention.api",
    "operations.doctor.api",
    "automation.api",
    "automation.background_api",
    "ledger.lists.stored_api",
    "operations.checkpoints.api",
    "operations.artifact_gc.api",
    "operations.lint.api",
    "operations.notifications.api",
    "operations.mcp.api",
    "people.audit.api",
    "people.accounts.api",
    "people.configuration.api",
)
DESCRIPTION = """Everything the pages show and do, as JSON. Sign in on the site, or send `Authorization: Bearer oc_…`.

Times are milliseconds since 1970 UTC. Lists return `{"items": […], "next": …, "previous": …}`: send `next` as `after`
for the following page, `previous` as `before` for the preceding page; `null` is the end. With `format=jsonl` a list
is returned whole, one row per line. Every failure returns `{"detail": a sentence, "code": a word}`. Parameters may be
spelled as in the specs (`sessionId`, `fromTs`, `includePayload`)."""


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request, data, *, response_status):
        return orjson.dumps(data)


class OrjsonParser(Parser):
    """Parses bodies, which have to be objects.

    A schema would read the attributes of any other value, and fall back to its defaults.
    """

    def parse_body(self, request):
        body = orjson.loads(request.body)  # unlike json, refuses half of a surrogate pair, which no database stores
        if not isinstance(body, dict):
            raise TypeError("not an object")
        return spellings.rename_body(body, request.body_spellings)


class Document(Swagger):
    """The page of the document by our template. As ninja is no app here, its own would load scripts from elsewhere."""

    def render_page(self, request, api, **kwargs):
        swagger_settings = self.settings | {"url": self.get_openapi_url(api, kwargs)}
        return render(request, self.template, {"swagger_settings": orjson.dumps(swagger_settings).decode()})


class Api(NinjaAPI):
    """The API. The models of an address are built by its first request, those of all addresses by the document."""

    topics: list[Operations] = []

    @cached_property
    def document(self):
        return super().get_openapi_schema()

    def get_openapi_schema(self, *, path_prefix=None, path_params=None):
        return self.document

    def _get_bound_routers(self):
        return [bind(topic, address) for topic in self.topics for address in topic.declared]


# Swagger UI's style sheet draws icons from data: addresses; the rest of it complies with the site's policy.
with_data_images = csp_update({"img-src": ["data:"]})

api = Api(
    title="OpenClaw Web",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api",
    auth=[TokenAuth(), SessionAuth()],
    renderer=OrjsonRenderer(),
    parser=OrjsonParser(),
    docs=Document(),
    docs_decorator=with_data_images,
)


def mount(name):
    """Add the operations of a module, unless its capability is disabled.

    An operation without a role stops the checks, and every request to the API.
    """
    topic = import_module(name).router
    if capabilities.find_router_owner(name, topic.tags) in settings.DISABLED:
        return
    for view, *_declaration in chain.from_iterable(topic.declared.values()):
        if not hasattr(view, "needs_role"):
            raise ImproperlyConfigured(f"{name}.{view.__name__} needs a role: @needs(...)")
    api.topics.append(topic)


@cache
def bind(topic, address):
    """The operations of an address with their models, which are most of the weight of the API."""
    mount = RouterMount(topic.build_router(address), "", inherited_decorators=[(wrap_operation, "view")])
    return BoundRouter(mount, api)


def answer(topic, address, request, **values):
    return bind(topic, address).path_operations[address].get_view()(request, **values)


@csrf_exempt  # a POST to an unknown address gets the API's 404, not a page about CSRF; nothing is read or changed
@login_not_required
def nowhere(request, rest):
    """Answer every other address under the API with a JSON 404."""
    return not_found(request, Http404())


api.exception_handler(Http404)(not_found)
api.exception_handler(PermissionDenied)(not_allowed)


@api.exception_handler(UserFacingError)
def answerable(request, exc):
    return build_refusal(exc)


@api.exception_handler(ValidationError)
def does_not_fit(request, exc):
    return build_validation_error(exc.errors)


@api.exception_handler(HttpError)
def unreadable(request, exc):
    """Answer a refusal of ninja: a body that is no JSON, or a missing CSRF token."""
    if exc.status_code == 403:
        return build_error(403, describe_csrf_failure(), code="csrf")
    return build_error(exc.status_code, _("The request body cannot be read. Send a JSON object."))


@api.exception_handler(AuthenticationError)
def not_signed_in(request, exc):
    sentence = _("Sign in, or send a valid token: Authorization: Bearer oc_…")
    return build_error(401, sentence, headers={"WWW-Authenticate": "Bearer"})


@api.exception_handler(OperationalError)
def busy(request, exc):
    """Answer 503 for a query that took too long, or for a busy writer.

    Other errors of the database are bugs, and are raised.
    """
    if time_limits.is_page_limit(exc):
        return build_error(503, time_limits.describe_slow_page(), code="too_slow")
    if not failures.is_locked(exc):
        raise exc
    sentence = _("Another write is taking long. Send this request again in a moment.")
    return build_error(503, sentence, code="busy", headers={"Retry-After": 1})


for module in ROUTERS:
    if find_spec(module):
        mount(module)

# All views but the page of the document answer 401 themselves; that page redirects to the sign-in.
urlpatterns = [*get_openapi_urls(api), get_root_url(api)]
for topic in api.topics:
    for address, declarations in topic.declared.items():
        route = replace_path_param_notation(address).lstrip("/")
        view = csrf_exempt(partial(answer, topic, address))  # SessionAuth checks the token of CSRF itself
        urlpatterns += [path(route, view, name=declared[0].__name__) for declared in declarations]
for pattern in urlpatterns:
    pattern.callback = with_json_refusals(pattern.callback)
    if pattern.name == "openapi-json":
        pattern.callback = openapi_access.allow_tokens(pattern.callback, not_signed_in)
    if pattern.name != "openapi-view":
        login_not_required(pattern.callback)
urlpatterns.append(path("<path:rest>", nowhere))
