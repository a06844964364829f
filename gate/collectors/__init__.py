"""What openclaw-reflection leaves behind, read into plain dataclasses: no Django, no tables."""
