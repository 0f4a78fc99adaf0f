"""A keyring of the tests, a JSON file that TEST_KEYRING names; where it names none, one that cannot be used."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import NoKeyringError


class Keyring(KeyringBackend):
    priority = 1

    def _read(self):
        if not os.environ.get("TEST_KEYRING"):
            raise NoKeyringError("No keyring of the tests. More is said here.")
        file = Path(os.environ["TEST_KEYRING"])
        return json.loads(file.read_text()) if file.exists() else {}

    def get_password(self, service, username):
        return self._read().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        entries = {**self._read(), f"{service}/{username}": password}
        Path(os.environ["TEST_KEYRING"]).write_text(json.dumps(entries))
