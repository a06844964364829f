"""Routes and API operations of the site, as mounted and as documented, and requests to them."""

import re
from functools import cache

from django.urls import URLResolver, get_resolver, reverse

from openclaw_web.api import api

ROOT = "/api/v1"


def routes(resolver, namespace=""):
    """Yields every (full name, pattern) of the site."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from routes(entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace)
        else:
            yield f"{namespace}{entry.name}", entry


ROUTES = dict(routes(get_resolver()))


CONVERTER = re.compile(r"\{\w+:")  # documents name arguments without it


def mounted_operations():
    """Yields every operation of the API as (`METHOD /path`, name of its route), documented or not."""
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                for method in operation.methods:
                    yield f"{method} {CONVERTER.sub('{', path)}", f"api:{operation.view_func.__name__}"


@cache
def documented_operations():
    """Returns every operation of the API's document by its `METHOD /path`."""
    return {
        f"{method.upper()} {path.removeprefix(ROOT)}": operation
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
    }


# Arguments of addresses in the requests of tests.
ARGUMENTS = {"agent": "ada", "username": "somebody", "key": "memoryGate.windowSize", "number": "9", "run_id": "9"}


def page_address(name):
    return reverse(name, kwargs={each: ARGUMENTS.get(each, "x") for each in ROUTES[name].pattern.converters})


def api_address(operation):
    return ROOT + re.sub(r"{(\w+)}", lambda match: ARGUMENTS.get(match[1], "x"), operation.partition(" ")[2])


def send_request(client, method, address, body=None, **headers):
    if method == "GET":
        return client.get(address, headers=headers)
    send = client.delete if method == "DELETE" else client.post
    return send(address, body or {}, "application/json", headers=headers)
