"""Threads of data sets: rows, their order and errors are the same for any number of them."""

import threading
import time
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import dataset as ds
from partita import nn
from partita.dataset import transforms, vision

ROWS = 24


class Source:
    """Rows by number."""

    def __len__(self):
        return ROWS

    def __getitem__(self, number):
        return np.full(3, number, "f4"), np.int32(number % 4)


def rows(workers=1, source=None):
    return ds.GeneratorDataset(source or Source(), ["x", "y"], num_parallel_workers=workers)


def values(data, epochs=2):
    """The values of rows or batches of some epochs, as lists."""
    read = (data.create_tuple_iterator(num_epochs=1, output_numpy=True) for _ in range(epochs))
    return [[one.tolist() for one in row] for iterator in read for row in iterator]


def late(x):
    """A map whose first rows take longest."""
    time.sleep(0.004 if int(x.reshape(-1)[0]) % 5 == 0 else 0.0)
    return x + 0.5


def unlike(x):
    return np.zeros(int(x[0]) % 3 + 1) + late(x)[0]


def batch_map(x, info):
    return ([late(one) + info.get_batch_num() for one in x],)


PIPELINES = {
    "map": lambda n: rows().map(late, ["x"], num_parallel_workers=n),
    "map in batches": lambda n: rows().map(late, ["x"], num_parallel_workers=n, python_multiprocessing=True).batch(5),
    "maps": lambda n: rows().map(late, ["x"], num_parallel_workers=n).shuffle(8).map(late, ["x"]).repeat(2).batch(3),
    "map of batches": lambda n: rows().batch(4).map(late, ["x"], num_parallel_workers=n),
    "function of batch": lambda n: rows().batch(4, False, n, per_batch_map=batch_map, input_columns=["x"]),
    "map of unlike rows": lambda n: rows().map(unlike, ["x"], num_parallel_workers=n),
    "padded batches": lambda n: rows().map(unlike, ["x"], num_parallel_workers=n).padded_batch(4, pad_info={"x": None}),
    "source": lambda n: rows(n),
    "source in batches": lambda n: rows(n).batch(5),
    "drawn maps": lambda n: rows().map(
        [lambda x: np.broadcast_to(x.astype("u1"), (4, 4, 3)), vision.RandomCrop(2), vision.RandomHorizontalFlip(0.5)],
        ["x"],
        num_parallel_workers=n,
    ),
    "chosen maps": lambda n: rows().map(
        transforms.RandomChoice([late, lambda x: -x, lambda x: x * 2]), ["x"], num_parallel_workers=n
    ),
}


class Workers(Case):
    def test_rows_are_those_of_one_thread(self):
        for name, made in PIPELINES.items():
            with self.subTest(pipeline=name):
                found = [values(made(count)) for count in (1, 2, 4)]
                self.assertEqual(found[0], found[1])
                self.assertEqual(found[0], found[2])
                self.assertNotEqual(found[0][: len(found[0]) // 2], [])

    def test_resumed_in_the_middle(self):
        for name, made in PIPELINES.items():
            with self.subTest(pipeline=name):
                whole, data = values(made(1)), made(4)
                data.set_init_step(3)
                self.assertEqual(values(data, 1), whole[3 : len(whole) // 2])

    def test_several_threads_call_maps_and_sources(self):
        for made in (
            lambda meet: rows().map(meet, ["x"], num_parallel_workers=4),
            lambda meet: rows().map(meet, ["x"], num_parallel_workers=4).batch(6),
            lambda meet: rows().batch(2).map(lambda x: meet(x), ["x"], num_parallel_workers=4),
            lambda meet: rows().map(lambda x: np.zeros(int(meet(x)[0]) % 2), ["x"], num_parallel_workers=4),
        ):
            met, together = threading.Barrier(4), []
            is_begun = threading.Event()

            def meet(x, met=met, together=together, is_begun=is_begun):
                if is_begun.is_set() and not together:
                    met.wait(20)  # fails unless four threads call at the same time
                    together.append(True)
                return x

            data = made(meet)
            data.get_dataset_size(), data.output_shapes()
            is_begun.set()
            next(iter(data.create_tuple_iterator(num_epochs=1, output_numpy=True)))
            self.assertTrue(together)

    def test_errors_come_after_the_rows_before_them(self):
        def fails(x):
            if int(x[0]) == 7:
                raise KeyError("seven")
            return late(x)

        plain = ds.NumpySlicesDataset((np.arange(ROWS, dtype="f4").reshape(ROWS, 1),), ["x"], shuffle=False)
        for count in (1, 4):
            read = []
            with self.assertRaises(KeyError) as caught:
                for row in plain.map(fails, ["x"], num_parallel_workers=count).create_tuple_iterator(num_epochs=1):
                    read.append(float(row[0]))
            self.assertEqual(read, [i + 0.5 for i in range(7)])
            self.assertIn("at row or batch 7 of epoch 1", "\n".join(caught.exception.__notes__))

    def test_a_map_that_stops_an_iterator_ends_no_epoch_early(self):
        def stops(column, info):
            return (next(iter(column[:0])) if info.get_batch_num() == 1 else column,)

        for column in (np.arange(6), list("abcdef")):
            for count in (1, 4):
                data = ds.NumpySlicesDataset(column, ["x"], shuffle=False)
                data = data.batch(2, num_parallel_workers=count, per_batch_map=stops)
                with self.assertRaisesRegex(RuntimeError, "StopIteration"):
                    values(data)

    def test_trainings_are_those_of_one_thread(self):
        for ranks in (1, 2):
            ms.set_context(ranks=ranks)
            ms.set_auto_parallel_context(parallel_mode="data_parallel" if ranks > 1 else "stand_alone")
            found = []
            for count in (1, 4):
                ms.set_seed(3)
                net = nn.Dense(3, 4)
                model = ms.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9))
                model.train(3, rows().map(late, ["x"], num_parallel_workers=count).batch(6, drop_remainder=True))
                found.append(net.weight.asnumpy())
            np.testing.assert_array_equal(*found)

    def test_maps_after_sync_wait_read_nothing_ahead(self):
        factor = [1.0]
        data = rows().sync_wait("here", callback=lambda value: factor.__setitem__(0, value))
        data = data.map(lambda x: x * 0 + factor[0], ["x"], num_parallel_workers=4)
        seen = []
        for i, row in enumerate(data.create_tuple_iterator(num_epochs=1, output_numpy=True)):
            seen.append(float(row[0][0]))
            data.sync_update("here", data=float(i + 2))
        self.assertEqual(seen, [float(i + 1) for i in range(ROWS)])

    def test_refuse_bad_numbers(self):
        calls = {
            "map": lambda n: rows().map(late, ["x"], num_parallel_workers=n),
            "batch": lambda n: rows().batch(2, num_parallel_workers=n),
            "GeneratorDataset": lambda n: rows(n),
        }
        for name, call in calls.items():
            for count in (0, -1, 65):
                with self.refuses(ValueError, f"[{name}] num_parallel_workers is out of range, got {count}, expected"):
                    call(count)
            for count in (1.5, "4", True):
                with self.refuses(TypeError, f"[{name}] num_parallel_workers is not an integer, got {count!r}"):
                    call(count)


if __name__ == "__main__":
    unittest.main()
