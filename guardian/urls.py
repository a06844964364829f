from django.urls import path, register_converter

from . import views


class FileName:
    """Whatever a file of a workspace is called, slashes included."""

    regex = r"[\s\S]+"

    def to_python(self, value):
        return value

    def to_url(self, value):
        return str(value)


register_converter(FileName, "file_name")

app_name = "guardian"
urlpatterns = [
    path("agents/<str:agent>/files/", views.file_list, name="file_list"),
    path("agents/<str:agent>/files/<file_name:name>/", views.file_detail, name="file_detail"),
]
