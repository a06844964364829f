from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>

from . import views
from .lists import views as list_views

app_name = "guardian"
urlpatterns = [
    path("agents/<str:agent>/files/", views.file_list, name="file_list"),
    path("agents/<str:agent>/files/<anything:name>/", views.file_detail, name="file_detail"),
    path("agents/<str:agent>/writes/", list_views.audit_list, name="audit_list"),
]
