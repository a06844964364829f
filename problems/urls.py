from django.urls import path

from . import views

app_name = "problems"
urlpatterns = [
    path("operations/problems/<str:problem_id>/mute/", views.problem_mute, name="problem_mute"),
    path("operations/problems/<str:problem_id>/unmute/", views.problem_unmute, name="problem_unmute"),
    path("operations/problems/<str:problem_id>/close/", views.problem_close, name="problem_close"),
    path("operations/problems/<str:problem_id>/seen/", views.problem_seen, name="problem_seen"),
]
