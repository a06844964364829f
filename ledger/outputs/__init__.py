"""Big outputs of tools."""
