from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>
from agents.routes import agent_paths

from . import background_views, views

app_name = "automation"
urlpatterns = [
    *agent_paths("cron/", views.cron_list, name="cron_list"),
    path("agents/<str:agent>/cron/<anything:job_id>/", views.cron_detail, name="cron_detail"),
    path("agents/<str:agent>/sessions/<str:session_id>/tree/", views.session_tree, name="session_tree"),
    *agent_paths("subagents/", views.subagent_list, name="subagent_list"),
    *agent_paths("background/", background_views.background_list, name="background_list"),
]
