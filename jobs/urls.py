from django.urls import path

from . import views

app_name = "jobs"
urlpatterns = [
    path("operations/jobs/", views.job_list, name="job_list"),
    path("operations/jobs/<str:job_id>/", views.job_detail, name="job_detail"),
    path("operations/jobs/<str:job_id>/notice/", views.job_notice, name="job_notice"),
    path("operations/jobs/<str:job_id>/cancel/", views.job_cancel, name="job_cancel"),
]
