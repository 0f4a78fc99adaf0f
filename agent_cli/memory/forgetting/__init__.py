"""Erasing what was named together with everything made of it, and the receipt that proves it. Owns no table."""
