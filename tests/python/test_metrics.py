"""Metrics of models: of the package and of scripts, in evaluations, on several ranks."""

import numpy as np
from support import Case, rng

import partita as ms
from partita import dataset as ds
from partita import nn, train


class Net(nn.Cell):
    def __init__(self, width=3):
        super().__init__()
        self.dense = nn.Dense(4, width)

    def construct(self, x):
        return self.dense(x)


class Share(train.Metric):
    """The share of positive results, by a class of a script."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self.positive = self.count = self.batches = 0

    def update(self, *inputs):
        values = self._convert_data(inputs[0])
        self.positive, self.count = self.positive + (values > 0).sum(), self.count + values.size
        self.batches += 1

    def eval(self):
        return self.positive / self.count


class SecondLabel(nn.Accuracy):
    """An accuracy of the package whose `update` a script changed."""

    def update(self, *inputs):
        logits, labels = inputs
        super().update(logits, ms.Tensor((labels.asnumpy() + 1) % 3))


def labelled(count=22, seed=3):
    x = rng(seed).standard_normal((count, 4)).astype("f4")
    return x, rng(seed + 1).integers(0, 3, count).astype("i4")


def logits_of(net, x):
    return x @ net.dense.weight.asnumpy().T + net.dense.bias.asnumpy()


class Metrics(Case):
    def test_of_scripts_are_called_with_results_and_labels(self):
        x, y = labelled()
        net, share = Net(), Share()
        metrics = {"share": share, "acc": nn.Accuracy(), "loss": nn.Loss(), "next": SecondLabel(), "f1": nn.F1()}
        model = train.Model(net, nn.CrossEntropyLoss(), metrics=metrics)
        for count in (22, 16):  # with and without a last batch of another size
            found = model.eval(ds.NumpySlicesDataset((x[:count], y[:count]), shuffle=False).batch(8))
            logits = logits_of(net, x[:count])
            chosen = logits.argmax(1)
            self.assertAlmostEqual(found["share"], (logits > 0).mean())
            self.assertAlmostEqual(found["acc"], (chosen == y[:count]).mean(), 6)
            self.assertAlmostEqual(found["next"], (chosen == (y[:count] + 1) % 3).mean())
            hits = np.array([((chosen == c) & (y[:count] == c)).sum() for c in range(3)])
            both = np.bincount(chosen, minlength=3) + np.bincount(y[:count], minlength=3)
            self.close(found["f1"], 2 * hits / both)
            self.assertEqual(share.batches, -(-count // 8))

    def test_of_numbers_by_their_names(self):
        x = rng(5).standard_normal((12, 4)).astype("f4")
        y = rng(6).standard_normal((12, 2)).astype("f4")
        net = Net(2)
        model = train.Model(net, nn.MSELoss(), metrics={"mae", "mse", "loss"})
        found = model.eval(ds.NumpySlicesDataset((x, y), shuffle=False).batch(4))
        errors = logits_of(net, x) - y
        self.close(found["mae"], np.abs(errors).sum(1).mean(), 1e-5)
        self.close(found["mse"], (errors**2).sum(1).mean(), 1e-5)
        self.close(found["loss"], (errors**2).mean(), 1e-5)

    def test_have_the_same_numbers_on_ranks(self):
        x, y = labelled(24)
        found = []
        for ranks in (1, 2, 4):
            ms.set_context(ranks=ranks)
            ms.set_auto_parallel_context(parallel_mode="data_parallel" if ranks > 1 else "stand_alone")
            ms.set_seed(3)
            model = train.Model(Net(), nn.CrossEntropyLoss(), metrics={"share": Share(), "recall": nn.Recall()})
            data = ds.NumpySlicesDataset((x, y), shuffle=False).batch(6)
            found.append(model.eval(data))
        for one in found[1:]:
            self.assertEqual(one["share"], found[0]["share"])
            self.close(one["recall"], found[0]["recall"])

    def test_follow_a_training(self):
        x, y = labelled(24)
        net = Net()
        data = ds.NumpySlicesDataset((x, y), shuffle=False).batch(8)
        optimizer = nn.SGD(net.trainable_params(), 0.5)
        model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"share": Share()})
        history = train.History()
        seen = []
        see = train.LambdaCallback(on_train_epoch_end=lambda run: seen.append(run.original_args().metrics["share"]))
        model.fit(3, data, data, callbacks=[history, see])
        self.assertEqual(len(seen), 3)
        self.assertAlmostEqual(seen[-1], (logits_of(net, x) > 0).mean())
        self.assertEqual(history.history["share"], seen)
        self.assertEqual(len(history.history["net_output"]), 3)

    def test_take_floats_of_16_bits(self):
        draw = rng(7)
        given = draw.uniform(100, 200, (4, 400)).astype("f4")
        for kind in (ms.float16, ms.bfloat16):
            rounded = ms.Tensor(given).astype(kind)
            expected = rounded.astype(ms.float32).asnumpy().astype("f8")
            for name, of in (("mae", np.abs), ("mse", np.square)):
                metric = train.get_metric_fn(name)
                metric.update(rounded, ms.Tensor(np.zeros_like(given)).astype(kind))
                self.assertAlmostEqual(metric.eval() / (of(expected).sum() / 4), 1, 5)
            loss = train.Loss()
            loss.update(rounded[0, 0])
            self.assertAlmostEqual(float(loss.eval()), expected[0, 0], 5)

    def test_of_a_network_without_a_loss_are_refused(self):
        class Own(nn.Cell):
            def construct(self, x, y):
                return x.mean() - y.astype("f4").mean()

        x, y = labelled()
        model = train.Model(Own(), metrics={"share": Share()})
        with self.refuses(ValueError, "['share'] of a network without a loss function", "eval_network"):
            model.eval(ds.NumpySlicesDataset((x, y), shuffle=False).batch(11))

    def test_distances_are_those_of_all_pairs(self):
        for seed in range(5):
            a, b = (rng(seed).random((2, 7, 9)) < 0.6).astype("i4")
            edges = [self._edges(one) for one in (a, b)]
            apart = np.sqrt(((edges[0][:, None] - edges[1][None]) ** 2).sum(-1))
            self.close(train.MeanSurfaceDistance()(a, b, 1), apart.min(1).mean())
            both = (apart.min(1) ** 2).mean(), (apart.min(0) ** 2).mean()
            self.close(train.RootMeanSquareDistance(symmetric=True)(a, b, 1), np.sqrt(np.mean(both)))

    @staticmethod
    def _edges(region):
        """The elements of a region, by a loop, that have a neighbour outside of it."""
        found = []
        for i, j in np.argwhere(region):
            neighbours = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
            inside = [0 <= a < region.shape[0] and 0 <= b < region.shape[1] and region[a, b] for a, b in neighbours]
            if not all(inside):
                found.append((i, j))
        return np.array(found)

    def test_errors_say_what_is_wrong(self):
        with self.refuses(ValueError, "[F1] labels do not fit the predictions [3, 2], got [2], expected [3]"):
            nn.F1().update(np.ones((3, 2)), np.ones(2))
        with self.refuses(ValueError, "[Precision] a label is no class, got 2, expected 0 to 1"):
            nn.Precision().update(np.ones((3, 2)), np.array([0, 1, 2]))
        with self.refuses(RuntimeError, "[MSE] nothing to measure"):
            nn.MSE().eval()
        with self.refuses(TypeError, "[MAE] cannot be measured, got str"):
            nn.MAE().update("a", "b")
        with self.refuses(NotImplementedError, "methods clear, update and eval of its own"):
            train.Metric().update(1)
        with self.refuses(ValueError, "bad indexes"):
            nn.MAE().set_indexes((0, 1))
