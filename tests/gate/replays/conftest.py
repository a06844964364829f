from tests.gate.runner.conftest import endpoint, gate_on  # noqa: F401 - the same endpoint
