"""Batches in parts: the sums of their losses, gradients that are added to clones, inputs of a part."""

import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Parameter, ParameterTuple, Tensor, nn, ops
from partita.nn.wrap.cell_wrapper import _MicroBatch, _VirtualDatasetCell

ROWS = np.random.default_rng(3)
X = ROWS.standard_normal((6, 3)).astype("f4")
KEPT = np.array([1, 1, 1, 0, 1, 0], "f4")  # rows that count: parts have different numbers of them


class Masked(nn.Cell):
    """The mean of squares over rows that count, so that the mean over parts is another one than over all."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")

    def construct(self, x, kept):
        return (ops.square(self.fc(x))[:, 0] * kept).sum() / kept.sum()


def by_numpy(parts, weight=np.ones(3), bias=0.0):
    """(sum of the losses of the parts, its gradients by the weight and the bias)."""
    loss, of_weight, of_bias = 0.0, 0.0, 0.0
    for x, kept in zip(np.split(X.astype("f8"), parts), np.split(KEPT, parts)):
        y = x @ weight + bias
        loss += (y**2 * kept).sum() / kept.sum()
        of_weight = of_weight + (2 * y * kept) @ x / kept.sum()
        of_bias += (2 * y * kept).sum() / kept.sum()
    return loss, of_weight, of_bias


class Step(nn.TrainOneStepWithLossScaleCell):
    """A step whose updates are by what was added to clones."""

    def __init__(self, network, optimizer, scale, parts):
        super().__init__(network, optimizer, Tensor(scale))
        self.weights = optimizer.parameters
        self.accu_grads = self.weights.clone(prefix="accu_grads", init="zeros")
        self.parts = parts

    def construct(self, *inputs):
        loss = self.network(*inputs)
        sens = ops.ones_like(loss) * self.scale_sense / self.parts
        self.grad(self.network, self.weights)(*inputs, sens)
        found = []
        for one in self.accu_grads:
            found.append(one * (1 / self.scale_sense))
            ops.assign(one, ops.zeros_like(one))
        self.optimizer(tuple(found))
        return loss


class Parts(Case):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_give_the_sum_of_their_losses(self):
        for kind in (nn.PipelineCell, nn.GradAccumulationCell, nn.MicroBatchInterleaved):
            for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
                ms.set_context(mode=mode)
                for parts in (1, 3):
                    found = kind(Masked(), parts)(Tensor(X), Tensor(KEPT))
                    np.testing.assert_allclose(float(found), by_numpy(parts)[0], rtol=1e-5)

    def test_have_gradients_of_the_sum(self):
        net = Masked()
        grad = ops.GradOperation(get_by_list=True)(nn.PipelineCell(net, 3), net.trainable_params())
        of_weight, of_bias = grad(Tensor(X), Tensor(KEPT))
        np.testing.assert_allclose(of_weight.asnumpy()[0], by_numpy(3)[1], rtol=1e-5)
        np.testing.assert_allclose(of_bias.asnumpy()[0], by_numpy(3)[2], rtol=1e-5)

    def test_train_by_clones_of_the_parameters(self):
        for kind in (nn.PipelineCell, nn.GradAccumulationCell):
            for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
                ms.set_context(mode=mode)
                net = Masked()
                network = _VirtualDatasetCell(kind(net, 3))
                step = Step(network, nn.SGD(net.trainable_params(), 0.1), 8.0, 3)
                weight, bias = np.ones(3), 0.0
                for _ in range(3):
                    loss, of_weight, of_bias = by_numpy(3, weight, bias)
                    np.testing.assert_allclose(float(step(Tensor(X), Tensor(KEPT))), loss, rtol=1e-5)
                    weight, bias = weight - 0.1 * of_weight / 3, bias - 0.1 * of_bias / 3
                    np.testing.assert_allclose(net.fc.weight.asnumpy()[0], weight, rtol=1e-5)
                    np.testing.assert_allclose(net.fc.bias.asnumpy()[0], bias, rtol=1e-5)

    def test_of_no_divided_network_add_nothing_to_clones(self):
        net = Masked()
        weights = ParameterTuple(net.trainable_params())
        added = weights.clone(prefix="accu_grads", init="zeros")
        ops.GradOperation(get_by_list=True)(net, weights)(Tensor(X), Tensor(KEPT))
        self.assertEqual(float(ops.abs(added[0]).sum()), 0)

    def test_have_equal_numbers_of_rows(self):
        part = _MicroBatch(3)
        x, kept, nothing = part(1, Tensor(X), Tensor(KEPT), None)
        np.testing.assert_array_equal(x.asnumpy(), X[2:4])
        np.testing.assert_array_equal(kept.asnumpy(), KEPT[2:4])
        self.assertIsNone(nothing)
        with self.refuses(ValueError, r"rows cannot be divided into 4 parts, got 6 rows"):
            _MicroBatch(4)(0, Tensor(X))
        with self.refuses(ValueError, r"bad micro_size, got 0"):
            _MicroBatch(0)


class Infos(Case):
    def test_carry_names_and_settings_to_other_parameters(self):
        one = Parameter(Tensor([1.0]), "fc.weight", requires_grad=False)
        other = Parameter(Tensor([2.0]))
        other.param_info = one.param_info.clone()
        self.assertEqual((other.name, other.requires_grad), ("fc.weight", False))
        other.name = "state." + other.name
        self.assertEqual((one.name, one.param_info.name), ("fc.weight", "fc.weight"))
        self.assertEqual(other.param_info.name, "state.fc.weight")
        one.param_info.comm_fusion = 3
        self.assertEqual((one.comm_fusion, other.comm_fusion), (3, 1))
        self.assertFalse(hasattr(one.param_info, "cloned_obj"))
        one.param_info.cloned_obj = [other]
        self.assertIs(one.param_info.cloned_obj[0], other)

    def test_settings_without_effect_stay(self):
        one = Parameter(Tensor([1.0]), "weight")
        self.assertEqual((one.is_param_ps, one.cache_shape, one.requires_aggr), (False, (), True))
        one.requires_aggr = True
        with self.refuses(ValueError, "bad pipeline stage, got -1"):
            one.add_pipeline_stage(-1)
        one.add_pipeline_stage(1)

    def test_keys_within_the_configuration_of_pipelines(self):
        self.assertEqual(ms.get_auto_parallel_context("pipeline_scheduler"), "1f1b")
        ms.set_auto_parallel_context(pipeline_config={"pipeline_interleave": True})
        self.assertTrue(ms.get_auto_parallel_context("pipeline_interleave"))
        ms.reset_auto_parallel_context()


if __name__ == "__main__":
    unittest.main()
