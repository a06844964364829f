from django.urls import path

from . import views

urlpatterns = [
    path("agents/<str:agent>/gate/own/", views.own_gate, name="own_gate"),
    path("agents/<str:agent>/gate/own/run/", views.own_gate_run, name="own_gate_run"),
    path("agents/<str:agent>/gate/own/switch/", views.own_gate_switch, name="own_gate_switch"),
]
