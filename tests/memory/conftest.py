import pytest

from tests.conftest import empty


@pytest.fixture
def file(tmp_path):
    database = empty(tmp_path / "memory.db")
    yield database
    database.close()
