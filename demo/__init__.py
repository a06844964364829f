"""A made-up OpenClaw home in the real on-disk format: a bakery's web shop and a lab. See home.write_home."""
