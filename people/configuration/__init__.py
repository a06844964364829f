"""Settings an operator tunes, and views that people keep."""
