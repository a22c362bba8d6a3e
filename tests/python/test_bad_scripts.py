"""Scripts that are wrong: each ends with the documented class of exception, and the line of the script that is wrong is
in its message or its traceback."""

import io
import os
import subprocess
import sys
import tempfile
import textwrap
import traceback
from unittest import mock

import numpy as np
from support import Case

import partita as ms

HEAD = """
import numpy as np
import partita as ms
from partita import Parameter, Tensor, nn, ops, train
from partita import dataset as ds

def rows(x=np.ones((16, 4), "f4"), y=np.zeros(16, "i4")):
    return ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(8)

def trained(net, data=None, callbacks=None):
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    train.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, data or rows(), callbacks)

class Weight(nn.Cell):
    def __init__(self, name="w"):
        super().__init__()
        self.weight = Parameter(Tensor(np.ones((4, 3), "f4")), name=name)

"""
# (exception, text of it, script): the line with "# here" is the wrong one.
CASES = {
    "control flow on data": (
        TypeError,
        "control flow depends on data",
        """
        class Net(Weight):
            def construct(self, x):
                if x.sum() > 0:  # here
                    x = x * 2
                return ops.matmul(x, self.weight)
        trained(Net())
        """,
    ),
    "a loop over data": (
        TypeError,
        "",
        """
        class Net(Weight):
            def construct(self, x):
                for _ in range(x.sum()):  # here
                    x = x * 2
                return ops.matmul(x, self.weight)
        trained(Net())
        """,
    ),
    "mixed element types": (
        TypeError,
        "operands differ in element type, got Int32 and Float32",
        """
        class Net(Weight):
            def construct(self, x):
                return ops.MatMul()(ops.cast(x, ms.int32), self.weight)  # here
        trained(Net())
        """,
    ),
    "rows of float64": (
        TypeError,
        "column 'data' of the data set is float64, expected float32 like the parameters: numbers.astype(np.float32)",
        """
        trained(nn.Dense(4, 3), rows(np.ones((16, 4))))  # here
        """,
    ),
    "images of two sizes": (
        RuntimeError,
        "the rows of a batch differ in column 'image', got (8, 8, 3), (9, 8, 3), expected one shape and type: "
        "padded_batch, per_batch_map, or a map such as vision.Resize before",
        """
        class Images:
            def __len__(self):
                return 2
            def __getitem__(self, i):
                return (np.zeros((8 + i, 8, 3), "u1"),)
        images = ds.GeneratorDataset(Images(), ["image"], shuffle=False).batch(2)
        list(images.create_tuple_iterator())  # here
        """,
    ),
    "shapes that do not fit": (
        ValueError,
        "matmul",
        """
        class Net(Weight):
            def construct(self, x):
                return ops.MatMul()(self.weight, x)  # here
        trained(Net())
        """,
    ),
    "no construct": (
        AttributeError,
        "Weight has no construct",
        """
        trained(Weight())  # here
        """,
    ),
    "two parameters of one name": (
        RuntimeError,
        "two parameters have the same name, got 'w'",
        """
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.a, self.b = Weight(), Weight()
                self.a.weight.name = self.b.weight.name = "w"
            def construct(self, x):
                x = ops.matmul(x, self.a.weight)
                return ops.matmul(ops.transpose(x, (1, 0)), self.b.weight)
        trained(Net())  # here
        """,
    ),
    "a call before init": (
        RuntimeError,
        "before init()",
        """
        from partita import _ranks
        from partita.communication import get_rank
        _ranks.set_begun(False)
        get_rank()  # here
        """,
    ),
    "a strategy for other operands": (
        ValueError,
        "[MatMul.shard] wrong number of inputs",
        """
        ms.set_context(ranks=4)
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
        class Net(Weight):
            def __init__(self):
                super().__init__()
                self.product = ops.MatMul().shard(((2, 2),))
            def construct(self, x):
                return self.product(x, self.weight)  # here
        trained(Net())
        """,
    ),
    "a strategy of other dimensions": (
        ValueError,
        "[MatMul.shard] wrong number of dimensions of input 0",
        """
        ms.set_context(ranks=4)
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
        class Net(Weight):
            def __init__(self):
                super().__init__()
                self.product = ops.MatMul().shard(((2, 2, 1), (2, 1)))
            def construct(self, x):
                return self.product(x, self.weight)  # here
        trained(Net())
        """,
    ),
    "a strategy that is no tuple": (
        TypeError,
        "[MatMul.shard]",
        """
        ops.MatMul().shard([(2, 2), (2, 1)])  # here
        """,
    ),
    "a strategy of texts": (
        TypeError,
        "is not an integer",
        """
        ops.MatMul().shard((("2", 2), (2, 1)))  # here
        """,
    ),
    "a callback that fails": (
        ZeroDivisionError,
        "mine",
        """
        class Fail(train.Callback):
            def on_train_step_end(self, run_context):
                raise ZeroDivisionError("mine")  # here
        class Net(Weight):
            def construct(self, x):
                return ops.matmul(x, self.weight)
        trained(Net(), callbacks=[Fail()])
        """,
    ),
    "a transform that fails": (
        ZeroDivisionError,
        "mine",
        """
        def fail(row):
            raise ZeroDivisionError("mine")  # here
        list(ds.NumpySlicesDataset(np.ones((4, 2), "f4"), ["x"]).map(fail, "x").create_tuple_iterator())
        """,
    ),
    "a source that fails": (
        ZeroDivisionError,
        "mine",
        """
        def rows_of():
            yield np.ones(3, "f4")
            raise ZeroDivisionError("mine")  # here
        list(ds.GeneratorDataset(rows_of, ["x"]).create_tuple_iterator())
        """,
    ),
    "columns that are not there": (
        ValueError,
        "expected two: data and label",
        """
        class Net(Weight):
            def construct(self, x):
                return ops.matmul(x, self.weight)
        one = ds.NumpySlicesDataset(np.ones((16, 4), "f4"), ["x"]).batch(4)
        trained(Net(), one)  # here
        """,
    ),
}


def script_of(name):
    return HEAD + textwrap.dedent(CASES[name][2])


class BadScripts(Case):
    def test_bad_numbers_of_ranks(self):
        for bad in ("four", "-3", "0", "1.5", " 2"):
            with self.subTest(bad), mock.patch.dict(os.environ, PARTITA_RANKS=bad):
                with self.assertRaisesRegex(ValueError, f"bad number of ranks, got '{bad}', expected 1 or more"):
                    exec(HEAD + "trained(nn.Dense(4, 3))", {"__name__": "user"})

    def test_ranks_that_the_mode_does_not_use(self):
        with mock.patch.dict(os.environ, PARTITA_RANKS="2"), mock.patch("sys.stderr", new=io.StringIO()) as said:
            exec(HEAD + "trained(nn.Dense(4, 3))", {"__name__": "user"})
        self.assertIn("the script runs on one rank, got 2 ranks and parallel_mode stand_alone", said.getvalue())

    def test_end_with_the_line_and_the_class(self):
        for name, (kind, text, _) in CASES.items():
            with self.subTest(name):
                self.setUp()
                source = script_of(name)
                line = next(i for i, one in enumerate(source.split("\n"), 1) if "# here" in one)
                error = None
                try:
                    exec(compile(source, "user_script.py", "exec"), {"__name__": "user"})
                except kind as caught:  # assertRaises would forget the traceback
                    error = caught
                self.assertIsNotNone(error, f"no {kind.__name__}")
                self.assertIn(text, str(error))
                frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                          if frame.filename == "user_script.py"]  # fmt: skip
                self.assertTrue(line in frames or f"user_script.py:{line}" in str(error), f"{frames}: {error}")

    def test_end_with_an_exit_code(self):
        cases = {
            "control flow on data": 64,
            "mixed element types": 64,
            "a strategy of other dimensions": 64,
            "a callback that fails": 1,
        }
        for name, code in cases.items():
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file, self.subTest(name):
                file.write(script_of(name))
                file.flush()
                ended = subprocess.run([sys.executable, file.name], capture_output=True, text=True, timeout=60)
                self.assertIn(CASES[name][1], ended.stderr)
                self.assertEqual(ended.returncode, code, ended.stderr[-300:])

    def test_need_no_pickling(self):
        """Sources and functions are called in this process: what no process could be given works."""
        import threading

        lock = threading.Lock()  # is not picklable

        def rows_of():
            with lock:
                for i in range(6):
                    yield np.full(2, i, "f4")

        data = ms.dataset.GeneratorDataset(rows_of, ["x"], shuffle=False, num_parallel_workers=4)
        data = data.map(lambda x: x + (0 if lock is None else 1), "x", num_parallel_workers=4)
        got = [row[0][0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        self.assertEqual(got, [1, 2, 3, 4, 5, 6])
