"""Steps in PYNATIVE mode: recorded, compiled as far as they are new, and run."""
