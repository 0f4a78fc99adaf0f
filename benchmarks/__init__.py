"""What is measured, each figure beside its yardstick. See README.md in this folder."""
