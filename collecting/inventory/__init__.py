"""Every file of an agent: found, told apart, and read or named with the reason why not."""
