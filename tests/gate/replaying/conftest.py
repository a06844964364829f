from tests.gate.deciding.conftest import endpoint, gate_on  # noqa: F401 - the same endpoint
