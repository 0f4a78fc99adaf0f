"""What is kept of conversations, and found again. Knows no model: it takes `ask` as a plain callable."""
