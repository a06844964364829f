"""Everything the site answers, routes and operations of its API as mounted and as documented; and how to ask it."""

import re
from functools import cache

from django.urls import URLResolver, get_resolver, reverse

from openclaw_web.api import api

ROOT = "/api/v1"


def routes(resolver, namespace=""):
    """Every (full name, pattern) of the site."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from routes(entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace)
        else:
            yield f"{namespace}{entry.name}", entry


ROUTES = dict(routes(get_resolver()))


def mounted():
    """Every operation of the API as (`METHOD /path`, name of its route), documented or not."""
    for _prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                for method in operation.methods:
                    yield f"{method} {path}", f"api:{operation.view_func.__name__}"


@cache
def documented():
    """Every operation of the API's document as `METHOD /path`, with its own words about it."""
    return {
        f"{method.upper()} {path.removeprefix(ROOT)}": operation
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
    }


# What stands in an address when a test asks for it.
ARGUMENTS = {"agent": "ada", "username": "somebody", "key": "memoryGate.windowSize"}


def page_address(name):
    return reverse(name, kwargs={each: ARGUMENTS.get(each, "x") for each in ROUTES[name].pattern.converters})


def api_address(operation):
    return ROOT + re.sub(r"{(\w+)}", lambda match: ARGUMENTS.get(match[1], "x"), operation.partition(" ")[2])


def ask(client, method, address, body=None, **headers):
    if method == "GET":
        return client.get(address, headers=headers)
    send = client.delete if method == "DELETE" else client.post
    return send(address, body or {}, "application/json", headers=headers)
