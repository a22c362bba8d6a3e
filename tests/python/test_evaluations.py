"""Evaluations of models: the events of callbacks, and what these see."""

import contextlib
import io

import numpy as np
from support import Case, labelled, warned
from test_events import Net, rows

import partita as ms
from partita import Tensor, nn, train


def model(net=None, metrics=("acc", "loss")):
    net = net or Net()
    optimizer = nn.SGD(net.trainable_params(), [0.1] * 2 + [0.2] * 50)
    return train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics=set(metrics))


class Log(train.Callback):
    """Keeps the names of all events, with the number of the step."""

    def __init__(self, seen=None):
        self.seen, self.args = [] if seen is None else seen, []

    def _event(self, name, run_context):
        args = run_context.original_args()
        self.seen.append((name, args.cur_step_num, args.mode))
        self.args.append((name, dict(args)))

    def __enter__(self):
        self.seen.append("enter")
        return self

    def __exit__(self, *error):
        self.seen.append(("exit", error[0]))


for _mode in ("train", "eval"):
    for _event in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"):
        _name = f"on_{_mode}_{_event}"
        setattr(Log, _name, lambda self, context, name=_name: self._event(name, context))

EVALUATION = [
    ("on_eval_begin", 0, "eval"),
    ("on_eval_epoch_begin", 0, "eval"),
    ("on_eval_step_begin", 1, "eval"),
    ("on_eval_step_end", 1, "eval"),
    ("on_eval_step_begin", 2, "eval"),
    ("on_eval_step_end", 2, "eval"),
    ("on_eval_epoch_end", 2, "eval"),
    ("on_eval_end", 2, "eval"),
]


class Evaluations(Case):
    def test_tell_callbacks_how_they_go_on(self):
        log, one = Log(), model()
        expected = one.eval(rows())
        self.assertEqual(one.eval(rows(), callbacks=log).keys(), expected.keys())
        self.assertEqual(log.seen, ["enter", *EVALUATION, ("exit", None)])
        for name, value in one.eval(rows(), [Log()]).items():
            self.assertAlmostEqual(value, expected[name], 6)
        self.assertEqual(log.args[0][1]["batch_num"], 2)
        self.assertNotIn("metrics", log.args[-2][1])
        self.assertEqual(log.args[-1][1]["metrics"].keys(), expected.keys())

    def test_have_batches_and_outputs_when_they_are_asked_for(self):
        one, seen = model(), []

        class Ask(train.Callback):
            def on_eval_step_end(self, run_context):
                args = run_context.original_args()
                seen.append((args.net_outputs, args.eval_dataset_element, args.never))

        one.eval(rows(), [Ask()])
        images, labels = (Tensor(values[12:]) for values in labelled(24))
        (loss, outputs, label), element, never = seen[1]
        self.assertIsNone(never)
        self.close(outputs, one._network(images).asnumpy(), 1e-5)
        self.close(label, labels.asnumpy())
        self.close(element[0], images.asnumpy())
        self.assertAlmostEqual(float(loss), float(nn.CrossEntropyLoss()(outputs, label)), 5)
        net = nn.WithLossCell(Net(), nn.CrossEntropyLoss())
        seen.clear()
        train.Model(net, metrics={"loss"}).eval(rows(), [Ask()])
        self.assertEqual(seen[0][0].shape, ())

    def test_can_be_stopped(self):
        seen, one = [], model()

        class Stop(train.Callback):
            def on_eval_step_end(self, run_context):
                seen.append(1)
                run_context.request_stop()

        half = one.eval(rows(), [Stop()])
        self.assertEqual(len(seen), 1)
        self.assertAlmostEqual(half["loss"], one.eval(rows(24).take(1))["loss"], 6)

    def test_within_a_training_are_at_the_ends_of_epochs(self):
        for ranks in (1, 2):
            ms.set_context(ranks=ranks)
            ms.set_auto_parallel_context(
                parallel_mode="data_parallel" if ranks > 1 else "stand_alone", gradients_mean=True
            )
            log, results = Log(), []

            class Keep(train.Callback):
                def on_train_epoch_end(self, run_context):
                    results.append(run_context.original_args().eval_results)

            ms.set_seed(1)
            one = model()
            one.fit(2, rows(), rows(), callbacks=[log, Keep()])

            def training(first):
                steps = [
                    (f"on_train_step_{when}", step, "train") for step in (first, first + 1) for when in ("begin", "end")
                ]
                return [("on_train_epoch_begin", first - 1, "train"), *steps]

            ends = [("on_train_epoch_end", step, "train") for step in (2, 4)]
            self.assertEqual(
                log.seen,
                [
                    "enter",
                    ("on_train_begin", 0, "train"),
                    *(*training(1), *EVALUATION, ends[0]),
                    *(*training(3), *EVALUATION, ends[1]),
                    ("on_train_end", 4, "train"),
                    ("exit", None),
                ],
            )
            # What the library finds by itself where nobody hears of evaluations.
            ms.set_seed(1)
            found = results[:]
            results.clear()
            model().fit(2, rows(), rows(), callbacks=[Keep()])
            for one, other in zip(found, results):
                self.assertEqual(one.keys(), other.keys())
                for name in one:
                    self.assertAlmostEqual(one[name], other[name], 5)

    def test_are_as_often_as_is_said(self):
        for frequency, sinks, expected in (
            (2, {}, [None, True, None, True]),
            ([1, 4], {}, [True, None, None, True]),
            (3, {"dataset_sink_mode": True, "sink_size": 1}, [None, None, True, None]),
        ):
            seen = []

            class Keep(train.Callback):
                def on_train_epoch_end(self, run_context):
                    results = run_context.original_args().eval_results
                    seen.append(None if results is None else {"acc", "loss", "eval_loss"} == set(results))

            model().fit(4, rows(), rows(), frequency, [Keep()], **sinks)
            self.assertEqual(seen, expected)
        with self.refuses(ValueError, "[fit] bad valid_frequency, got 0, expected an integer from 1"):
            model().fit(1, rows(), rows(), 0)
        with self.refuses(TypeError, "[fit] valid_frequency is not an integer, got 1.5, expected one from 1"):
            model().fit(1, rows(), rows(), 1.5)

    def test_refuse_methods_that_do_not_say_of_what_they_are(self):
        class Old(train.Callback):
            def step_end(self, run_context):
                pass

        expected = "got ['step_end'], expected ['on_train_step_end'] or ['on_eval_step_end']"
        with self.refuses(ValueError, "[fit] methods of Old would be called in trainings and evaluations, ", expected):
            model().fit(1, rows(), rows(), callbacks=[Old()])


class Contexts(Case):
    def test_are_left_when_a_training_fails(self):
        seen = []

        class Fails(Log):
            def on_train_step_end(self, run_context):
                raise ZeroDivisionError("mine")

        with self.refuses(ZeroDivisionError, "mine"):
            model().train(1, rows(), [Log(seen), Fails(seen)])
        self.assertEqual(seen[:2], ["enter", "enter"])
        self.assertEqual(seen[-2:], [("exit", ZeroDivisionError)] * 2)

    def test_may_give_another_callback(self):
        inner = Log()

        class Outer(train.Callback):
            def __enter__(self):
                return inner

        class Wrong(train.Callback):
            def __enter__(self):
                return 3

        model().train(1, rows(), [Outer()])
        self.assertIn(("on_train_end", 2, "train"), inner.seen)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            model().eval(rows(), [Wrong()])
        self.assertIn("[Wrong] __enter__ gave no callback, got int, expected a Callback such as self", said.getvalue())


class Steps(Case):
    def test_of_a_sink_begin_and_end_once(self):
        for size, expected in ((-1, [2, 4]), (3, [3, 6])):
            log = Log()
            model().train(2, rows(), [log], True, size)
            steps = [one[:2] for one in log.seen if "step" in one[0]]
            self.assertEqual(
                steps, [(f"on_train_step_{when}", number) for number in expected for when in ("begin", "end")]
            )

    def test_that_were_asked_to_be_the_last_begin_no_other(self):
        log = Log()

        class Stop(train.Callback):
            def on_train_step_end(self, run_context):
                run_context.request_stop()

        model().train(1, rows(), [log, Stop()])
        self.assertEqual(
            [one[:2] for one in log.seen if "step" in one[0]], [("on_train_step_begin", 1), ("on_train_step_end", 1)]
        )
        self.assertEqual([one[:2] for one in log.seen if "epoch_end" in one[0]], [("on_train_epoch_end", 1)])

    def test_are_counted_by_the_optimizer(self):
        seen = []

        class Count(train.Callback):
            def on_train_begin(self, run_context):
                seen.append(int(run_context.original_args().optimizer.global_step))

            def on_train_step_end(self, run_context):
                optimizer = run_context.original_args().optimizer
                rate = optimizer.learning_rate(optimizer.global_step - 1) if optimizer.dynamic_lr else None
                seen.append((int(optimizer.global_step.asnumpy()[0]), round(float(rate[0]), 3)))

        one = model()
        one.train(2, rows(), [Count()])
        self.assertEqual(seen, [0, (1, 0.1), (2, 0.1), (3, 0.2), (4, 0.2)])
        one.train(1, rows(), [Count()])
        self.assertEqual(seen[5:7], [4, (5, 0.2)])
        self.assertEqual(one._optimizer.global_step, 6)

        class Fails(train.Callback):
            def on_train_step_end(self, run_context):
                raise ZeroDivisionError("mine")

        with self.refuses(ZeroDivisionError, "mine"):
            one.train(1, rows(), [Fails()])
        self.assertEqual(one._optimizer.global_step, 6)
        self.assertFalse(nn.SGD(Net().trainable_params(), 0.1).dynamic_lr)
        np.testing.assert_array_equal(one._optimizer.global_step.value().asnumpy(), [6])


class Losses(Case):
    def test_know_whether_they_are_of_a_training(self):
        class Both(nn.LossBase):
            def construct(self, logits, labels):
                return ms.ops.cross_entropy(logits, labels) + (100.0 if self.training else 1.0)

        rows = np.ones((8, 3), "f4"), np.zeros(8, "i4")
        data = ms.dataset.NumpySlicesDataset(rows, ["x", "y"], shuffle=False).batch(4)
        net, history = nn.Dense(3, 2), train.History()
        model = train.Model(net, Both(), nn.SGD(net.trainable_params(), 0.0), {"loss"})
        model.train(1, data, callbacks=[history])
        self.assertGreater(history.history["net_output"][0], 100)
        self.assertLess(model.eval(data)["loss"], 10)
        model.fit(2, data, data, callbacks=[history])
        self.assertGreater(history.history["net_output"][-1], 100)

    def test_of_results_that_are_not_finite(self):
        rows = np.ones((8, 3), "f4"), np.zeros(8, "i4")
        bad = rows[0].copy()
        bad[5] = np.nan
        data, worse = (
            ms.dataset.NumpySlicesDataset((x, rows[1]), ["x", "y"], shuffle=False).batch(4) for x in (rows[0], bad)
        )
        net, found = nn.Dense(3, 2), []
        model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), {"loss", "acc"})

        class Evaluates(train.Callback):
            def on_train_epoch_end(self, run_context):
                found.append(model.eval(worse))

        with warned() as lines:
            model.train(2, data, callbacks=Evaluates())
        self.assertTrue(all(np.isnan(one["loss"]) and 0 <= one["acc"] <= 1 for one in found))
        self.assertEqual(len(found), 2)
        self.assertIn("the training goes on", "".join(lines))
        with self.refuses(ValueError, "the results are not finite"):
            model.eval(worse)
