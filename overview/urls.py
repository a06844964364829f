from django.urls import path

from agents.routes import agent_paths

from . import views

app_name = "overview"
urlpatterns = [
    *agent_paths("", views.overview, name="overview"),
    path("agents/", views.agent_list, name="agent_list"),
    path("files/", views.memory_list, name="memory_list"),
    path("operations/memory/", views.memory_list_before, name="memory_list_before"),
    path("healthz", views.healthz, name="healthz"),
]
