"""The addresses of the site, and that of the page of components."""

from django.urls import path

from openclaw_web.urls import *  # noqa: F403
from openclaw_web.urls import urlpatterns as of_the_site

from .page import component_list

urlpatterns = [*of_the_site, path("components/", component_list)]
