import logging
import re

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import path
from django.views.defaults import bad_request, permission_denied, server_error

from openclaw_web.logs import LineFormatter
from openclaw_web.urls import handler500  # noqa: F401 - of the site below

pytestmark = pytest.mark.django_db


def broken(request):
    raise ZeroDivisionError


broken.login_required = False
urlpatterns = [path("broken/", broken)]  # a site with nothing but a page that fails


def test_an_unknown_address_can_be_asked_for_before_signing_in(client):
    response = client.get("/nowhere/")
    assert response.status_code == 404 and "rail" not in response.text


def test_a_role_that_is_too_low_is_told_so(as_stranger):
    response = as_stranger.get("/operations/users/")
    assert response.status_code == 403
    assert "You are signed in as stranger with the role Viewer." in response.text


def test_somebody_unknown_is_asked_to_sign_in(rf):
    request = rf.get("/")
    assert "Sign in, then open this page again." in permission_denied(request, PermissionDenied()).content.decode()


def test_a_form_without_its_token_says_that_nothing_changed(admin):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
    response = client.post("/sign-out/")
    assert response.status_code == 403 and "Nothing was changed." in response.text


@pytest.mark.parametrize(("answer", "status"), [(bad_request, 400), (server_error, 500)])
def test_the_last_resorts_need_no_database(rf, django_assert_num_queries, answer, status):
    with django_assert_num_queries(0):
        response = answer(rf.get("/"), *([ValueError()] if status == 400 else []))
    assert response.status_code == status and "<h1>" in response.content.decode()


def test_a_failure_has_a_reference_that_is_in_the_log(settings, caplog):
    settings.ROOT_URLCONF = __name__
    answer = Client(raise_request_exception=False).get("/broken/")
    assert answer.status_code == 500
    reference = re.search(r'class="mono">(\w{8})<', answer.content.decode())[1]
    [failure] = [record for record in caplog.records if record.name == "django.request"]
    line = LineFormatter("%(levelname)s %(message)s").format(failure)
    assert line.startswith(f"ERROR Internal Server Error: /broken/ (reference {reference})\n")
    assert "ZeroDivisionError" in line and failure.levelno == logging.ERROR
