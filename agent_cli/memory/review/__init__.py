"""The review: one queue of facts and skills that wait for the person's approval. Owns no table."""
