"""Vision transforms, where the first scripts import them from."""
