from django.urls import path
from django.views.generic import RedirectView

from agents.routes import agent_paths
from guardian.views import file_list

from . import views

app_name = "overview"
urlpatterns = [
    *agent_paths("", views.overview, name="overview"),
    path("agents/", views.agent_list, name="agent_list"),
    # The memory files of all agents, and the files of one.
    path("files/", views.memory_list, name="memory_list"),
    path("agents/<str:agent>/files/", file_list, name="memory_list"),
    path(
        "operations/memory/",
        RedirectView.as_view(pattern_name="overview:memory_list", query_string=True),
        name="memory_list_before",
    ),
    path("healthz", views.healthz, name="healthz"),
]
