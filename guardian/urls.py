from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>

from . import views
from .correcting import views as correcting_views

app_name = "guardian"
urlpatterns = [
    path("agents/<str:agent>/files/", views.file_list, name="file_list"),
    path("agents/<str:agent>/files/<anything:name>/", views.file_detail, name="file_detail"),
    path("agents/<str:agent>/writes/rules/", correcting_views.rule_list, name="rule_list"),
    path("agents/<str:agent>/writes/rules/try/", correcting_views.rule_try, name="rule_try"),
    path("agents/<str:agent>/writes/rules/<str:rule_id>/switch/", correcting_views.rule_switch, name="rule_switch"),
    path("agents/<str:agent>/writes/correct/<anything:audit_id>/", correcting_views.correct, name="correct"),
    # Not below the writes: an id there may be any text, and so it may here.
    path("agents/<str:agent>/corrections/<anything:audit_id>/", correcting_views.corrections, name="corrections"),
    path("agents/<str:agent>/correct/<anything:audit_id>/", correcting_views.correct_save, name="correct_save"),
]
