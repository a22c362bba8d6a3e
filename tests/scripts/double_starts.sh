#!/usr/bin/env bash
# Three double starts of one job with one folder for its checkpoints; tests/soak has more.
exec bash "$(dirname "$0")/../soak/double_starts.sh" 3 2
