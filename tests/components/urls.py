"""The addresses of the site and of the page of components."""

from django.urls import path

from openclaw_web.urls import *  # noqa: F403
from openclaw_web.urls import urlpatterns as site_patterns

from .page import component_list

urlpatterns = [*site_patterns, path("components/", component_list)]
