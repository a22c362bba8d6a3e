"""Callbacks that hear of a step when the next one may have begun: what they see and what is computed stays the same."""

import contextlib
import io
import os
import random
import unittest
from unittest import mock

import numpy as np
from support import Case, labelled

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.train.events import Events

PLUGIN = os.environ.get("PARTITA_PJRT_PLUGIN", "")


class Rates(train.Callback):
    """Keeps (step, rate, loss) of each step that it hears of. After some epochs it sets a rate: that of the optimizer,
    or one for the next step alone."""

    def __init__(self, may_lag, sets=()):
        self.may_lag, self.sets, self.seen = may_lag, dict(sets), []

    def on_train_step_end(self, run_context):
        args = run_context.original_args()
        self.seen.append((args.cur_step_num, args.learning_rate, args.loss_value))

    def on_train_epoch_end(self, run_context):
        args = run_context.original_args()
        kind, value = self.sets.get(args.cur_epoch_num, (None, 0))
        if kind == "optimizer":
            args.optimizer.learning_rate = value
        if kind == "run":
            args.set_learning_rate(value)


class LateEvents(Case):
    def setUp(self):
        super().setUp()
        ms.set_context(mode=ms.GRAPH_MODE)  # in PYNATIVE mode all steps without a sink are heard at once

    def train(self, callbacks, rates, sink=False, steps=-1, epochs=3):
        """Returns the weight that was trained on 5 batches an epoch, or `steps`."""
        ms.set_seed(3)
        net = nn.Dense(6, 3)
        optimizer = nn.Momentum(net.trainable_params(), rates, 0.9)
        data = ds.NumpySlicesDataset(labelled(30), ["data", "label"], shuffle=False).batch(6)
        model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
        model.train(epochs, data, callbacks=callbacks, dataset_sink_mode=sink, sink_size=steps if sink else -1)
        return net.weight.asnumpy().copy()

    def test_rates_and_losses_are_those_of_steps_that_are_heard_at_once(self):
        draw = random.Random(5)
        for _ in range(12):
            rates = [draw.choice([0.1, 0.2, draw.random()]) for _ in range(draw.choice([1, 4, 9, 30]))]
            rates = rates[0] if len(rates) == 1 else rates
            kind = draw.choice(["optimizer", "run"])
            sets = {draw.randint(1, 3): (kind, draw.random())} if draw.random() < 0.6 else {}
            now, late, sunk = Rates(False, sets), Rates(True, sets), Rates(False, sets)
            expected = self.train([now], rates)
            with self.subTest(rates=rates, sets=sets):
                self.assertTrue((self.train([late, train.LossMonitor(0)], rates) == expected).all())
                self.assertEqual(late.seen, now.seen)
                self.assertTrue((self.train([sunk], rates, sink=True) == expected).all())
                self.assertEqual(sunk.seen, now.seen[4::5])

    def test_a_rate_that_is_set_holds_until_that_of_the_optimizer_changes(self):
        rates = [0.1] * 7 + [0.3] * 8
        for may_lag in (False, True):
            seen = Rates(may_lag, {1: ("run", 0.25)})
            self.train([seen], rates)
            self.assertEqual([round(rate, 6) for _, rate, _ in seen.seen], [0.1] * 5 + [0.25] * 2 + [0.3] * 8)

    def steps_that_may_lag(self, callbacks, **options):
        """The numbers of the steps, of three epochs, of which all callbacks may hear late."""
        steps = set()

        def follow(events, info, at_once=Events.step_end):
            if events.may_lag(info.global_step):
                steps.add(info.global_step)
            return at_once(events, info)

        with mock.patch.object(Events, "step_end", follow):
            self.train(callbacks, 0.1, **options)
        return steps

    def test_which_steps_may_lag(self):
        within = {step for step in range(1, 16) if step % 5}
        self.assertEqual(self.steps_that_may_lag([Rates(False)]), set())
        self.assertEqual(self.steps_that_may_lag([Rates(True), train.TimeMonitor(), train.History()]), within)
        self.assertEqual(self.steps_that_may_lag([Rates(True), train.LambdaCallback(on_train_step_end=id)]), set())
        self.assertEqual(self.steps_that_may_lag([train.LambdaCallback(on_train_step_begin=lambda _: None)]), set())
        self.assertEqual(self.steps_that_may_lag([Rates(False)], sink=True), within)
        self.assertEqual(self.steps_that_may_lag([Rates(False)], sink=True, steps=2), {1, 3, 5})
        ms.set_context(mode=ms.PYNATIVE_MODE)
        self.assertEqual(self.steps_that_may_lag([Rates(True)]), set())

    def test_a_class_says_so_of_its_own_method(self):
        class Prints(train.LossMonitor):
            def on_train_step_end(self, run_context):
                pass

        class Lags(Prints):
            may_lag = True

        class Asks(train.Callback):
            def may_lag(self, step):
                return False

            on_train_step_end = Prints.on_train_step_end

        self.assertEqual(self.steps_that_may_lag([Prints()]), set())
        self.assertEqual(len(self.steps_that_may_lag([Lags()])), 12)
        one = train.LambdaCallback(on_train_step_end=id)
        one.may_lag = True
        self.assertEqual(len(self.steps_that_may_lag([one])), 12)
        with self.refuses(TypeError, "[train] bad may_lag of Asks, got <function", "expected True or False"):
            self.train([Asks()], 0.1)

    def test_a_rate_is_a_number(self):
        for rate in ("0.1", [0.1, 0.2], None, True):
            with self.refuses(TypeError, f"[set_learning_rate] not a learning rate, got {rate!r}, expected a number"):
                self.train([Rates(False, {1: ("run", rate)})], 0.1)
        with self.refuses(ValueError, "[learning rate] not a learning rate, got -1, expected a number >= 0"):
            self.train([Rates(False, {1: ("run", -1)})], 0.1)
        for rate in (np.float32(0.25), ms.Tensor(0.25), 0.25):
            seen = Rates(False, {1: ("run", rate)})
            self.train([seen], 0.1)
            self.assertEqual([rate for _, rate, _ in seen.seen][5:], [0.25] * 10)

    def test_no_rate_is_asked_for_after_the_last_step(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)  # the schedule is no part of a program
        asked = []

        class ToZero(nn.learning_rate_schedule.LearningRateSchedule):
            def construct(self, global_step):
                asked.append(int(global_step))
                return 0.1 * (1 - global_step / 15)

        for sink in (False, True):
            asked.clear()
            self.train([], ToZero(), sink=sink)
            self.assertLessEqual(max(asked), 15)
            self.assertLessEqual(len(asked), 60)

    @unittest.skipUnless(PLUGIN, "PARTITA_PJRT_PLUGIN names no plugin")
    def test_an_accelerator_has_the_same_steps(self):
        """A step of it begins before the one before has ended."""
        rates = list(np.linspace(0.1, 0.4, 15))
        now, late = Rates(False), Rates(True)
        ms.set_context(device_target="GPU")
        asked = []

        def may_lag(events, step, whether=Events.may_lag):
            asked.append((step, len(late.seen)))
            return whether(events, step)

        with mock.patch.dict(os.environ, PARTITA_GPU="xla:cpu"), contextlib.redirect_stderr(io.StringIO()):
            expected = self.train([now], rates)
            with mock.patch.object(Events, "may_lag", may_lag):
                self.assertTrue((self.train([late], rates) == expected).all())
        self.assertEqual(late.seen, now.seen)
        self.assertTrue(any(heard < step - 1 for step, heard in asked), asked)


if __name__ == "__main__":
    unittest.main()
