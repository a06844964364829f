from django.urls import path

import openclaw_web.pages.converters  # noqa: F401 - <anything:>

from . import views

app_name = "guardian"
urlpatterns = [
    path("agents/<str:agent>/files/", views.file_list, name="file_list"),
    path("agents/<str:agent>/files/<anything:name>/", views.file_detail, name="file_detail"),
]
