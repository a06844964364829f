"""The review queue: people judge samples one by one, no two the same one."""
