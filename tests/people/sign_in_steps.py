"""Ways to sign in, for the tests of people: a password, a link, a token."""

import re
from urllib.parse import parse_qs, urlsplit

from django.test import Client

PASSWORD = "correct horse battery"
SIGN_IN = "/sign-in/"
USERS = "/operations/users/"
TOKENS = "/operations/tokens/"


def sign_in(client, **data):
    return client.post(SIGN_IN, {"username": "stranger", "password": PASSWORD, **data})


def find_link(response):
    return re.search(r"/welcome/[\w-]+/", response.content.decode())[0]


def find_token(response):
    return re.search(r"oc_[0-9a-f]{8}_[\w-]+", response.content.decode())[0]


def ask_with_token(token):
    return Client().get("/api/v1/agents", headers={"Authorization": f"Bearer {token}"})


def find_way_back(response):
    """Returns the address after signing in for a request that was redirected to the sign-in page."""
    return parse_qs(urlsplit(response["Location"]).query)["next"][0]
