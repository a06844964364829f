"""Which samples say the same: signatures of what they teach, what is alike, and which of it an export keeps."""
