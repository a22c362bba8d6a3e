"""Helpers of rewriting, which libraries import."""
