from django.urls import path

from .statistics.looking import views as statistics_views

app_name = "gate"
urlpatterns = [
    path("agents/<str:agent>/gate/statistics/", statistics_views.statistics, name="statistics"),
]
