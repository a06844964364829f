from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>

from . import background_views, views

app_name = "automation"
urlpatterns = [
    path("agents/<str:agent>/cron/", views.cron_list, name="cron_list"),
    path("agents/<str:agent>/cron/<anything:job_id>/", views.cron_detail, name="cron_detail"),
    path("agents/<str:agent>/subagents/", views.subagent_list, name="subagent_list"),
    path("agents/<str:agent>/background/", background_views.background_list, name="background_list"),
]
