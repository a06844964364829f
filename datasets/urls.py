from django.urls import path

from . import views

app_name = "datasets"
urlpatterns = [
    path("samples/", views.sample_list, name="sample_list"),
    path("samples/<str:sample_id>/", views.sample_detail, name="sample_detail"),
    path("samples/<str:sample_id>/label/", views.sample_label, name="sample_label"),
    path("agents/<str:agent>/sessions/<str:session_id>/samples/", views.samples_make, name="samples_make"),
]
