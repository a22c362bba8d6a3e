"""Trainings of Model whose steps a script wrote, with optimizers of its own, against NumPy."""

import numpy as np
from model_steps import BETAS, EPSILON, OwnAdamW, OwnStep, network, rows, trained
from support import Case

import partita as ms
from partita import Tensor, nn, ops
from partita import dataset as ds
from partita import train


class Expected:
    """The same trainings in NumPy."""

    def __init__(self, rates, decay=0.1, clip=0.0, steps=1, epochs=2, batch=6):
        weights = [one.asnumpy().astype("f8") for one in network().get_parameters()]
        self.m, self.v = ([np.zeros_like(one) for one in weights] for _ in range(2))
        means, added, self.count = [one.copy() for one in weights], [0.0] * 4, 0
        self.losses = []
        x, y = rows()
        for step in range(epochs * len(x) // batch):
            first = step * batch % len(x)
            loss, gradients = self._gradients(weights, x[first : first + batch], y[first : first + batch])
            self.losses.append(loss)
            norm = np.sqrt(sum((one**2).sum() for one in gradients))
            gradients = [one * clip / max(clip, norm) if clip else one for one in gradients]
            added = [a + one / steps for a, one in zip(added, gradients)]
            if (step + 1) % steps == 0:
                rate = rates[min(step, len(rates) - 1)] if isinstance(rates, list) else rates
                weights, added = self._updated(weights, added, rate, decay), [0.0] * 4
            share = 0.9 * (1 - np.exp(-(step + 1) / 4))
            means = [mean * share + one * (1 - share) for mean, one in zip(means, weights)]
        self.weights, self.means = weights, means

    @staticmethod
    def _gradients(weights, x, y):
        a, b, c, d = weights
        hidden = np.tanh(x @ a.T + b)
        logits = hidden @ c.T + d
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        loss = -np.log(shares[np.arange(len(y)), y]).mean()
        d_logits = (shares - np.eye(3)[y]) / len(y)
        d_hidden = (d_logits @ c) * (1 - hidden**2)
        return loss, [d_hidden.T @ x, d_hidden.sum(0), d_logits.T @ hidden, d_logits.sum(0)]

    def _updated(self, weights, gradients, rate, decay):
        self.count += 1
        made = []
        for i, (weight, gradient) in enumerate(zip(weights, gradients)):
            self.m[i] = BETAS[0] * self.m[i] + (1 - BETAS[0]) * gradient
            self.v[i] = BETAS[1] * self.v[i] + (1 - BETAS[1]) * gradient**2
            square = self.v[i] / (1 - BETAS[1] ** self.count)
            update = self.m[i] / (1 - BETAS[0] ** self.count) / (EPSILON + np.sqrt(square))
            made.append(weight - rate * (update + decay * weight))
        return made


RATES = [0.05, 0.04, 0.03, 0.02, 0.01, 0.02, 0.03, 0.04]


class Steps(Case):
    def _same(self, found, expected, sink=False):
        own, losses, _ = found
        names = [one.name for one in network().get_parameters()]
        for prefix, values in (("", expected.weights), ("ema.", expected.means)):
            for name, value in zip(names, values):
                self.close(own[prefix + name], value, 2e-5)
        self.close(losses, expected.losses[3::4] if sink else expected.losses, 2e-5)

    def test_averages_clipped_and_added_up(self):
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            for options in ({}, {"clip": 0.1}, {"steps": 2}, {"clip": 0.1, "steps": 2}):
                with self.subTest(mode=mode, **options):
                    found = trained(mode, False, RATES, 0.1, Tensor(64.0), **options)
                    self._same(found, Expected(RATES, **options))
                    self.assertEqual(int(found[2].global_step), 8)

    def test_sunk(self):
        found = trained(ms.GRAPH_MODE, True, RATES, 0.1, Tensor(64.0))
        self._same(found, Expected(RATES), sink=True)

    def test_a_fixed_rate_is_not_counted(self):
        found = trained(ms.GRAPH_MODE, False, 0.03, 0.1, Tensor(1.0))
        self._same(found, Expected(0.03))
        self.assertEqual(int(found[2].global_step), 0)  # as the documented base class counts

    def test_scales_that_follow_the_gradients(self):
        for scale in (
            nn.DynamicLossScaleUpdateCell(2.0**30, 2, 3),  # no gradient overflows in float32
            nn.FixedLossScaleUpdateCell(128.0),
        ):
            self._same(trained(ms.GRAPH_MODE, False, RATES, 0.1, scale), Expected(RATES))

    def test_steps_that_are_left_out(self):
        class Large(nn.Cell):
            def __init__(self):
                super().__init__()
                self.net, self.loss = network(), nn.CrossEntropyLoss()

            def construct(self, x, y):
                return self.loss(self.net(x), y) * 1000.0

        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            ms.set_context(mode=mode)
            net, scale = Large(), nn.DynamicLossScaleUpdateCell(2.0**127, 2.0**30, 100)
            step = OwnStep(net, OwnAdamW(net.trainable_params(), 0.03, 0.1), scale)
            before = [one.asnumpy().copy() for one in net.get_parameters()]
            scales = []
            for taken, count in ((0, 0), (1, 1), (2, 2)):
                train.Model(step).train(1, _data(24))
                scales.append(float(step.scale_sense))
                self.assertEqual(int(step.updates), count)
                same = all(np.array_equal(one.asnumpy(), old) for one, old in zip(net.get_parameters(), before))
                self.assertEqual(same, taken == 0)
            self.assertEqual(scales, [2.0**97] * 3)


def _data(batch=6):
    return ds.NumpySlicesDataset(rows(), ["x", "y"], shuffle=False).batch(batch)


class Statistics(Case):
    def test_move_once_in_a_step_that_calls_its_network_twice(self):
        x = rows()[0]
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            for scale in (Tensor(4.0), nn.FixedLossScaleUpdateCell(4.0)):
                ms.set_context(mode=mode)
                net = nn.SequentialCell(nn.BatchNorm1d(4, momentum=0.5), nn.Dense(4, 3))
                loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
                step = OwnStep(loss, OwnAdamW(net.trainable_params(), 0.1), scale)
                train.Model(step).train(1, _data(12))
                expected, average = np.zeros(4), np.zeros(4)
                for i, part in enumerate((x[:12], x[12:])):
                    expected = expected * 0.5 + part.mean(0) * 0.5
                    decay = 0.9 * (1 - np.exp(-(i + 1) / 4))
                    average = average * decay + expected * (1 - decay)  # of the statistics after the step
                self.close(net[0].moving_mean, expected, 1e-5)
                self.close([one for one in step.means if "moving_mean" in one.name][0], average, 1e-5)

    def test_evaluations_between_epochs_leave_the_training_as_it_is(self):
        x = rows()[0]
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            for own in (False, True):
                ms.set_context(mode=mode)
                net = nn.SequentialCell(nn.BatchNorm1d(4, momentum=0.5), nn.Dense(4, 3))
                kind = OwnAdamW if own else nn.SGD
                model = train.Model(net, nn.CrossEntropyLoss(), kind(net.trainable_params(), 0.1), {"acc"})

                class Evaluates(train.Callback):
                    def on_train_epoch_end(self, run_context):
                        model.eval(_data(24))

                model.train(2, _data(24), callbacks=Evaluates())
                self.close(net[0].moving_mean, x.mean(0) * 0.75, 1e-5)
                self.assertTrue(net[0].training)
                model.eval(_data(24))
                self.assertFalse(net[0].training)


    def test_move_in_a_loss_of_the_network_and_in_a_loss_function(self):
        x = rows()[0]
        for ranks in (1, 2):
            for place in ("network", "auto_prefix", "loss"):
                ms.set_context(mode=ms.PYNATIVE_MODE, ranks=ranks, batch_norm="global")
                ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
                norm, dense = nn.BatchNorm1d(4, momentum=0.5), nn.Dense(4, 3)
                net = nn.SequentialCell(norm, dense)
                optimizer = nn.SGD(dense.trainable_params(), 0.1)
                if place == "loss":
                    model = train.Model(nn.Identity(), nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
                else:
                    model = train.Model(_Criterion(net, place == "auto_prefix"), optimizer=optimizer)
                model.train(1, _data(12))
                expected = x[:12].mean(0) * 0.25 + x[12:].mean(0) * 0.5
                self.close(norm.moving_mean, expected, 1e-5)


class _Measured(nn.Cell):
    """A network for evaluations: gives loss, output and label, from other columns than trainings have."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x):
        return 0, self.net(x), x


class _Mean(nn.Metric):
    """The mean of the outputs."""

    def clear(self):
        self.found = []

    def update(self, *inputs):
        self.found.append(self._convert_data(inputs[0]))

    def eval(self):
        return float(np.concatenate(self.found).mean())


class Fits(Case):
    def test_evaluate_by_a_network_of_their_own(self):
        x = rows()[0]
        valid = ds.NumpySlicesDataset({"x": x}, shuffle=False).batch(5)
        for frequency in (1, 2):
            for own in (False, True):
                net, seen = network(), []
                loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
                optimizer = (OwnAdamW if own else nn.SGD)(net.trainable_params(), 0.1)
                model = train.Model(loss, None, optimizer, {"mean": _Mean()}, _Measured(net), [0, 1, 2])

                class Keeps(train.Callback):
                    def on_train_epoch_end(self, run_context):
                        args = run_context.original_args()
                        if args.cur_epoch_num % frequency == 0:
                            seen.append((args.eval_results["mean"], float(net(Tensor(x)).mean())))

                stop = train.EarlyStopping("mean", patience=9)
                model.fit(4, _data(12), valid, valid_frequency=frequency, callbacks=[Keeps(), stop])
                self.assertEqual(len(seen), 4 // frequency)
                for got, expected in seen:
                    self.assertAlmostEqual(got, expected, 5)
                self.assertAlmostEqual(model.eval(valid)["mean"], seen[-1][1], 5)


class _Criterion(nn.Cell):
    """A network with its loss, as scripts write it for a Model without a loss function."""

    def __init__(self, net, auto_prefix):
        super().__init__(auto_prefix=auto_prefix)
        self.net, self.loss = net, nn.CrossEntropyLoss()

    def construct(self, x, y):
        return self.loss(self.net(x), y)


class Models(Case):
    def test_an_optimizer_of_its_own_with_a_loss(self):
        managers = train.FixedLossScaleManager(256.0), train.DynamicLossScaleManager(2.0**10, 2, 1000)
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            for manager in (None, *managers):
                ms.set_context(mode=mode)
                net = network()
                given = {} if manager is None else {"loss_scale_manager": manager}
                optimizer = OwnAdamW(net.trainable_params(), RATES, 0.1)
                model = train.Model(net, nn.CrossEntropyLoss(), optimizer, {"acc"}, **given)
                model.train(2, _data(), dataset_sink_mode=False)
                for one, expected in zip(net.get_parameters(), Expected(RATES).weights):
                    self.close(one, expected, 2e-5)
                self.assertIn("acc", model.eval(_data()))

    def test_groups_with_rates_and_decays(self):
        net = network()
        first, last = net.trainable_params()[:2], net.trainable_params()[2:]
        halves = [rate / 2 for rate in RATES]
        groups = [{"params": first, "lr": halves, "weight_decay": 0.0}, {"params": last, "weight_decay": 0.1}]
        optimizer = OwnAdamW([*groups, {"order_params": net.trainable_params()}], RATES)
        self.assertTrue(optimizer.is_group and optimizer.is_group_lr and optimizer.dynamic_lr)
        self.assertEqual(optimizer.decay_flags, (False, False, True, True))
        train.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, _data(24))
        plain = Expected(RATES[:1], 0.0, epochs=1, batch=24).weights
        decayed = Expected(RATES[:1], 0.1, epochs=1, batch=24).weights
        before = [one.asnumpy() for one in network().get_parameters()]
        expected = [b + (p - b) / 2 for b, p in zip(before[:2], plain[:2])] + decayed[2:]
        for one, value in zip(net.get_parameters(), expected):
            self.close(one, value, 2e-5)

    def test_states_of_its_own_are_saved(self):
        net = network()
        optimizer = OwnAdamW(net.trainable_params(), RATES, 0.1)
        train.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, _data())
        kept = {one.name: one.asnumpy().copy() for one in optimizer.get_parameters()}
        self.assertEqual(kept["global_step"].tolist(), [4])
        self.assertIn("m.0.weight", kept)
        other = OwnAdamW(network().trainable_params(), RATES, 0.1)
        ms.load_param_into_net(other, {name: ms.Parameter(Tensor(one), name) for name, one in kept.items()})
        for one in other.get_parameters():
            self.close(one, kept[one.name])

    def test_callbacks_see_the_step(self):
        seen = {}

        class Sees(train.Callback):
            def on_train_epoch_end(self, run_context):
                args = run_context.original_args()
                seen[args.dataset_sink_mode] = args.train_network, args.cur_step_num, args.optimizer

        net = network()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params(), 0.1))
        model = train.Model(step)
        for sink in (False, True):
            model.train(1, _data(), callbacks=[Sees(), train.LossMonitor(100)], dataset_sink_mode=sink)
        self.assertIs(seen[False][0], step)
        self.assertIs(seen[True][0].network, step)
        self.assertEqual([one[1:] for one in seen.values()], [(4, None), (4, None)])
        self.assertIs(model.train_network, step)

    def test_a_data_set_without_batches_is_refused(self):
        net = network()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params(), 0.1))
        empty = ds.NumpySlicesDataset({"x": np.zeros((3, 4), "f4")}).batch(4, drop_remainder=True)
        for sink in ({}, {"dataset_sink_mode": True, "sink_size": 2}):
            with self.refuses(ValueError, "[train] too few rows, got a data set without batches"):
                train.Model(step).train(1, empty, **sink)

    def test_a_stop_and_sizes_of_epochs(self):
        net = network()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params(), 0.1))
        heard = []

        class Stops(train.Callback):
            def on_train_step_end(self, run_context):
                heard.append(run_context.original_args().cur_step_num)
                if len(heard) == 2:
                    run_context.request_stop()

        train.Model(step).train(3, _data(), callbacks=Stops())
        self.assertEqual(heard, [1, 2])
        heard[:] = [0] * 5
        train.Model(step).train(3, _data(), callbacks=Stops(), dataset_sink_mode=True, sink_size=3)
        self.assertEqual(heard[5:], [3, 6, 9])

    def test_evaluations_by_a_network_of_their_own(self):
        net, loss = network(), nn.CrossEntropyLoss()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.SGD(net.trainable_params(), 0.1))
        metrics = {"acc": nn.Accuracy(), "loss": nn.Loss()}
        model = train.Model(step, eval_network=nn.WithEvalCell(net, loss), eval_indexes=[0, 1, 2], metrics=metrics)
        known = train.Model(net, loss, metrics={"acc", "loss"}).eval(_data())
        found = model.eval(_data())
        for name in ("acc", "loss"):
            self.close(found[name], known[name], 1e-6)
        self.assertIs(model.eval_network.__class__, nn.WithEvalCell)
        with self.refuses(ValueError, "eval_indexes"):
            train.Model(step, eval_network=net, eval_indexes=[0, 1])
        with self.refuses(TypeError, "eval_network"):
            train.Model(step, eval_network=1)

    def test_a_construct_that_changes_gradients(self):
        class Clipped(nn.Momentum):
            def construct(self, gradients):
                return super().construct(tuple(ops.clip_by_value(one, -0.01, 0.01) for one in gradients))

        net = network()
        before = [one.asnumpy().copy() for one in net.get_parameters()]
        optimizer = Clipped(net.trainable_params(), 0.5, 0.9)
        train.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, _data(24))
        for one, old in zip(net.get_parameters(), before):
            self.assertLessEqual(np.abs(one.asnumpy() - old).max(), 0.5 * 0.01 + 1e-6)
