"""Signatures of public names say the types of parameters and results, and these are there."""

import inspect
import subprocess
import sys
import unittest

from partita import Tensor, mint, nn

# What a call passes on, or refuses whatever it is, has no types.
UNTYPED = {"SyncBatchNorm", "RNN", "GRU", "LSTM", "ForwardValueAndGrad"}


def own(owner, kind):
    """(name, value) of the classes or functions that a module of nn or mint has of its own."""
    for name in sorted(dir(owner)):
        value = getattr(owner, name)
        module = getattr(value, "__module__", None) or ""
        if not name.startswith("_") and kind(value) and module.startswith(("partita.nn", "partita.mint")):
            yield name, value


def untyped(function, evaluated=True):
    """Parameters of a function without a type."""
    named = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function, eval_str=evaluated).parameters.values()
    bare = [one for one in parameters if one.annotation is one.empty and one.kind not in named]
    return [one.name for one in bare if one.name != "self"]


class Annotations(unittest.TestCase):
    def test_layers_say_the_types_of_their_options(self):
        count = 0
        for owner in (nn, mint.nn):
            for name, value in own(owner, inspect.isclass):
                if not issubclass(value, nn.Cell) or name in UNTYPED:
                    continue
                with self.subTest(name=f"{owner.__name__}.{name}"):
                    self.assertEqual(untyped(value.__init__), [])
                    count += 1
        self.assertGreater(count, 200)

    def test_functions_say_the_types_of_parameters_and_results(self):
        count = 0
        for owner in (mint, mint.nn.functional):
            for name, value in own(owner, inspect.isfunction):
                with self.subTest(name=f"{owner.__name__}.{name}"):
                    self.assertEqual(untyped(value), [])
                    self.assertIsNot(inspect.signature(value).return_annotation, inspect.Signature.empty)
                    count += 1
        self.assertGreater(count, 120)

    def test_methods_of_tensors_say_them(self):
        count = 0
        for name, method in inspect.getmembers(Tensor, inspect.isfunction):
            if name.startswith("_"):
                continue
            with self.subTest(name=name):
                self.assertEqual(untyped(method), [])
                self.assertIsNot(inspect.signature(method).return_annotation, inspect.Signature.empty)
                count += 1
        self.assertGreater(count, 350)

    def test_methods_of_cells_say_them(self):
        for name in "set_train cells get_parameters trainable_params to_float state_dict recompute".split():
            with self.subTest(name=name):
                method = getattr(nn.Cell, name)  # whose "Self" is known to those who check types
                self.assertEqual(untyped(method, evaluated=False), [])
                self.assertIsNot(inspect.signature(method).return_annotation, inspect.Signature.empty)

    def test_types_import_nothing(self):
        script = "import sys, numpy; before = set(sys.modules); import partita; print(*set(sys.modules) - before)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        imported = set(done.stdout.split())
        self.assertIn("partita.nn.layer", imported, done.stderr)
        self.assertEqual(imported & {"typing", "partita.dataset", "partita.mint", "partita.nn.probability"}, set())
