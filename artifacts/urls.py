from django.urls import path

from agents.routes import agent_paths

from . import views

app_name = "artifacts"
urlpatterns = [
    *agent_paths("artifacts/", views.artifact_list, name="artifact_list"),
    path("agents/<str:agent>/artifacts/<str:sha256>/", views.artifact_detail, name="artifact_detail"),
    path("agents/<str:agent>/artifacts/<str:sha256>/download/", views.artifact_download, name="artifact_download"),
    path("agents/<str:agent>/artifacts/<str:sha256>/remove/", views.artifact_remove, name="artifact_remove"),
    path("agents/<str:agent>/artifacts/<str:sha256>/verify/", views.artifact_verify, name="artifact_verify"),
]
