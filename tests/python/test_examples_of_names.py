"""Examples in docstrings print what they say, and `tools/check_docstrings.py` finds names without a text or a call."""

import doctest
import pathlib
import sys
import types
import unittest
from unittest import mock

import numpy as np

import partita
from partita import nn, ops

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import check_docstrings


def failures_of(name, text):
    """The report of the examples of a docstring that print something else; "" without one."""
    names = {"ms": partita, "nn": nn, "ops": ops, "np": np}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    lines = []
    doctest.DocTestRunner(verbose=False).run(test, out=lines.append)
    return "".join(lines)


class Examples(unittest.TestCase):
    def test_each_example_prints_what_it_says(self):
        count = 0
        for name, value in check_docstrings.public_names():
            text = check_docstrings.docstring_of(value)
            if ">>> " in text:
                count += 1
                with self.subTest(name=name):
                    self.assertEqual(failures_of(name, text), "")
        self.assertGreaterEqual(count, check_docstrings.MOST_USED)

    def test_a_wrong_example_is_found(self):
        self.assertIn("Expected", failures_of("wrong", ">>> int(ops.ones(()))\n2\n"))


class Check(unittest.TestCase):
    def test_the_package_has_no_faults(self):
        self.assertEqual(check_docstrings.faults(), [])

    def test_used_names_names_are_functions_and_classes(self):
        names = check_docstrings.used_names()
        self.assertEqual(len(names), check_docstrings.MOST_USED)
        self.assertEqual(names[:3], ["Tensor", "nn.Cell", "nn.Dense"])

    def test_an_inherited_docstring_does_not_count(self):
        class Base:
            """Says what it is."""

        class Heir(Base):
            pass

        self.assertEqual(check_docstrings.docstring_of(Heir), "")
        self.assertEqual(check_docstrings.docstring_of(Base), "Says what it is.")

    def test_a_text_needs_a_sentence_or_a_formula(self):
        for text, whole in {
            "": False,
            "The sum": False,
            "The sum.": False,
            "no end of it": False,
            "The sum of all.": True,
            "x + 1.": True,
            "Returns it.\n\n>>> 1 + 1\n2": True,
        }.items():
            with self.subTest(text=text):
                self.assertEqual(check_docstrings.is_whole(text), whole)

    def test_planted_faults_are_found(self):
        bare = types.FunctionType((lambda x: x).__code__, {}, "bare")
        bare.__module__ = "partita.ops"
        with mock.patch.object(ops, "bare", bare, create=True):
            self.assertEqual(check_docstrings.faults(), ["ops.bare: no docstring of its own with a whole sentence"])
        with mock.patch.object(ops.zeros, "__doc__", "Zeros of a shape. Raises TypeError for others."):
            self.assertEqual(check_docstrings.faults(), ["ops.zeros: no example with >>>"])

    def test_ops_need_words_on_shapes_and_errors_and_annotations(self):
        for text, faults in {
            "The tangent. Raises TypeError for texts.": ["ops.tanh: no word on shapes"],
            "The tangent of each element.": ["ops.tanh: no word on the errors that it raises"],
            "The tangent, in the shape of x. Raises\nTypeError for texts.": [],
        }.items():
            with self.subTest(text=text), mock.patch.object(ops.tanh, "__doc__", text):
                self.assertEqual(check_docstrings.faults(), faults)
        with mock.patch.object(ops.tanh, "__annotations__", {"input": "Tensor"}):
            self.assertEqual(check_docstrings.faults(), ["ops.tanh: no annotation of return"])
        with mock.patch.object(ops.Softmax, "__doc__", "exp(x) over its sum along an axis."):
            self.assertEqual(check_docstrings.faults(), ["ops.Softmax: no word on the errors that it raises"])

    def test_ops_that_refuse_nothing_need_no_word_on_errors(self):
        for function, refuses in ((ops.depend, False), (ops.tanh, True), (ops.ReLU, True), (ops.where, True)):
            self.assertEqual(check_docstrings.refuses(function), refuses)

    def test_used_ops_names_functions_and_ops_of_tensors(self):
        names = check_docstrings.used_ops()
        self.assertEqual(len(names), check_docstrings.MOST_USED_OPS)
        self.assertEqual(names[:3], ["ops.cat", "ops.ones", "ops.zeros"])
        self.assertNotIn("ops.HyperMap", names)


if __name__ == "__main__":
    unittest.main()
