from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>

from . import views
from .proposing import views as own_views

app_name = "guardian"
urlpatterns = [
    path("agents/<str:agent>/files/", views.file_list, name="file_list"),
    path("agents/<str:agent>/files/<anything:name>/", views.file_detail, name="file_detail"),
    path("agents/<str:agent>/writes/own/", own_views.own_guardian, name="own_guardian"),
    path("agents/<str:agent>/writes/own/run/", own_views.own_guardian_run, name="own_guardian_run"),
    path("agents/<str:agent>/writes/own/switch/", own_views.own_guardian_switch, name="own_guardian_switch"),
    path("agents/<str:agent>/writes/own/proposals/", own_views.proposal_list, name="proposal_list"),
    path("agents/<str:agent>/writes/own/proposals/<str:run_id>/", own_views.proposal_detail, name="proposal_detail"),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/approve/",
        own_views.proposal_approve,
        name="proposal_approve",
    ),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/decline/",
        own_views.proposal_decline,
        name="proposal_decline",
    ),
    path(
        "agents/<str:agent>/writes/own/proposals/<str:run_id>/patch/", own_views.proposal_patch, name="proposal_patch"
    ),
    path("agents/<str:agent>/writes/own/retry/<anything:audit_id>/", own_views.write_retry, name="write_retry"),
]
