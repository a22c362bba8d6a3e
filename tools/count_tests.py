#!/usr/bin/env python3
"""Prints how many tests of a JUnit file passed and how many failed: count_tests.py REPORT."""
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot()
total, failed = int(suite.get("tests", 0)), int(suite.get("failures", 0)) + int(suite.get("errors", 0))
skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
print(total - failed - skipped, failed)
