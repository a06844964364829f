"""What the doctor finds in OpenClaw's files."""
