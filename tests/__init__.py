"""The tests. A package, so that one test module can use what another directory holds."""
