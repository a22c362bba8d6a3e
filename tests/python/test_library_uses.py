"""Uses of inner names of the documented system by client libraries: bases that they extend, maps that they make
themselves, lists that they add to, and facts about the ranks of a script."""

import os
import shutil
import tempfile

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, amp, nn, ops
from partita import _c_dataengine as cde
from partita import dataset as ds
from partita._extends import cell_attr_register
from partita.common._stub_tensor import StubTensor
from partita.communication import _comm_helper
from partita.dataset.text.transforms import TextTensorOperation
from partita.nn.probability.bijector import Bijector
from partita.nn.wrap.cell_wrapper import GradAccumulationCell, _VirtualDatasetCell
from partita.train import serialization


class Bases(Case):
    def test_cells_keep_their_arguments(self):
        class Plain(nn.Cell):
            @cell_attr_register
            def __init__(self, width, scale=2.0):
                super().__init__()
                self.dense, self.scale = nn.Dense(3, width, "ones", "zeros"), scale

            def construct(self, x):
                return self.dense(x) * self.scale

        class Named(Plain):
            @cell_attr_register(attrs="scale")
            def __init__(self, scale):
                super().__init__(2, scale)

        x = Tensor(np.ones((1, 3), "f4"))
        self.close(Plain(2)(x), [[6.0, 6.0]])
        self.close(Named(0.5)(x), [[1.5, 1.5]])

    def test_optimizers_have_a_target(self):
        class Mine(nn.Optimizer):
            def __init__(self, params):
                super().__init__(0.5, params)

            @nn.optim.optimizer.Optimizer.target.setter
            def target(self, value):
                self.asked = value
                self._set_base_target(value)

            def construct(self, gradients):
                for one, gradient in zip(self.parameters, gradients):
                    ops.assign_sub(one, self.get_lr() * gradient)
                return True

        weight = ms.Parameter(Tensor([1.0, 2.0]), name="w")
        optimizer = Mine([weight])
        optimizer.target = "CPU"
        self.assertEqual((optimizer.asked, optimizer.target), ("CPU", "CPU"))
        optimizer((Tensor([1.0, -1.0]),))
        self.close(weight, [0.5, 2.5])

    def test_bijectors_of_a_script(self):
        class Scaled(Bijector):
            def __init__(self, scale, name="Scaled"):
                super().__init__(is_constant_jacobian=True, name=name, dtype=ms.float32, param={"scale": scale})
                self.scale = Tensor(scale)

            def _forward(self, x):
                return x * self.scale

            def _inverse(self, y):
                return y / self.scale

            def _forward_log_jacobian(self, x):
                return ops.log(self.scale) + ops.zeros_like(x)

        mine, x = Scaled(4.0), Tensor([1.0, -2.0])
        self.close(mine.forward(x), [4.0, -8.0])
        self.close(mine("inverse", x), [0.25, -0.5])
        self.close(mine.forward_log_jacobian(x), [np.log(4.0)] * 2)
        self.close(mine.inverse_log_jacobian(x), [-np.log(4.0)] * 2)
        self.assertEqual((mine.name, mine.dtype, mine.is_constant_jacobian), ("Scaled", ms.float32, True))

    def test_gradients_that_are_added_up(self):
        x, y = Tensor(rng(3).standard_normal((4, 3)).astype("f4")), Tensor(np.ones((4, 2), "f4"))
        net = nn.WithLossCell(nn.Dense(3, 2, weight_init="ones"), nn.MSELoss())
        plain, parts = net(x, y), GradAccumulationCell(net, 2)
        self.close(parts(x, y), 2 * plain.asnumpy(), 1e-5)
        self.close(_VirtualDatasetCell(net)(x, y), plain.asnumpy(), 1e-6)

    def test_stand_ins_are_no_tensors(self):
        StubTensor.__or__ = lambda self, other: "either"
        self.assertEqual(StubTensor() | 1, "either")
        self.close(Tensor([True, False]) | Tensor([False, False]), [True, False])


class Rows(Case):
    def test_words_by_a_lookup_of_a_script(self):
        vocab = ds.text.Vocab.from_list(["a", "b", "c"], special_tokens=["<unk>"], special_first=True)

        class Numbers(TextTensorOperation):
            def __init__(self, unknown, dtype):
                super().__init__()
                self.unknown, self.dtype = unknown, dtype

            def parse(self):
                return cde.LookupOperation(vocab.c_vocab, self.unknown, self.dtype)

        rows = ds.NumpySlicesDataset([["a", "c"], ["b", "x"]], ["words"], shuffle=False)
        rows = rows.map(Numbers("<unk>", "int64"), "words")
        found = [row[0] for row in rows.create_tuple_iterator(output_numpy=True)]
        self.assertEqual([one.tolist() for one in found], [[1, 3], [2, 0]])
        self.assertEqual(found[0].dtype, np.int64)

    def test_functions_of_batches_know_the_batch(self):
        seen = []

        def doubled(column, info: ds.BatchInfo):
            self.assertIsInstance(info, ds.BatchInfo)
            seen.append((info.get_epoch_num(), info.get_batch_num()))
            return ([one * 2 for one in column],)

        rows = ds.NumpySlicesDataset(np.arange(5), ["a"], shuffle=False).batch(2, per_batch_map=doubled)
        data = rows.create_tuple_iterator(num_epochs=2, output_numpy=True)
        for _ in range(2):
            self.assertEqual([one.tolist() for (one,) in data], [[0, 2], [4, 6], [8]])
        self.assertEqual(seen[-6:], [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)])

    def test_images_of_cifar100(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, count in (("train", 6), ("test", 4)):
                rows = rng(count).integers(0, 256, (count, 3074)).astype("u1")
                rows[:, 0], rows[:, 1] = np.arange(count) % 20, np.arange(count) * 7
                rows.tofile(os.path.join(folder, f"{name}.bin"))
            data = ds.Cifar100Dataset(folder, "train", shuffle=False)
            found = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
            self.assertEqual([int(row["coarse_label"]) for row in found], [0, 1, 2, 3, 4, 5])
            self.assertEqual([int(row["fine_label"]) for row in found], [0, 7, 14, 21, 28, 35])
            rows = np.fromfile(os.path.join(folder, "train.bin"), "u1").reshape(6, 3074)
            np.testing.assert_array_equal(found[2]["image"], rows[2, 2:].reshape(3, 32, 32).transpose(1, 2, 0))
            self.assertEqual(found[0]["fine_label"].dtype, np.uint32)
            for usage, count in (("test", 4), ("all", 10)):
                self.assertEqual(ds.Cifar100Dataset(folder, usage).get_dataset_size(), count)


class Precision(Case):
    def test_classes_that_are_added_stay_in_float32(self):
        class Fine(nn.Dense):
            pass

        def result():
            ms.set_seed(3)
            net = amp.auto_mixed_precision(nn.SequentialCell(Fine(16, 8), nn.Dense(8, 8)), "O2")
            return net[0](Tensor(rng(4).standard_normal((4, 16)).astype("f4"))).asnumpy()

        rough = result()
        ms.train.amp.AMP_WHITE_LIST.extend([Fine])
        ms.train.amp._INNER_AMP_BLACK_LIST.extend([])
        ms.train.amp.AMP_BLACK_LIST.extend([Fine])
        try:
            self.assertIn(Fine, amp.get_black_list())
            fine = result()
        finally:
            amp.AMP_BLACK_LIST.remove(Fine)
            amp.AMP_WHITE_LIST.remove(Fine)
        ms.set_seed(3)
        plain = nn.SequentialCell(Fine(16, 8), nn.Dense(8, 8))[0](Tensor(rng(4).standard_normal((4, 16)).astype("f4")))
        np.testing.assert_array_equal(fine, plain.asnumpy())
        self.assertGreater(np.abs(rough - fine).max(), 0)

    def test_lists_of_one_network(self):
        x, made = Tensor(rng(5).standard_normal((4, 16)).astype("f4")), []
        for change in (amp.custom_mixed_precision, amp._auto_mixed_precision_rewrite):
            ms.set_seed(3)
            net = nn.SequentialCell(nn.Dense(16, 8), nn.ReLU())
            options = {"dtype": ms.float16} if change is amp.custom_mixed_precision else {}
            args = (net,) if options else (net, ms.float16)
            made.append(change(*args, white_list=[nn.Dense], **options)(x).asnumpy())
        np.testing.assert_array_equal(*made)

    def test_scalers_and_managers_have_bases(self):
        class Halving(amp.LossScaler):
            def adjust(self, grads_finite):
                self.scale_value.set_data(self.scale_value / 2)
                return True

        scaler = Halving(8.0)
        self.close(scaler.scale(Tensor([1.0, 2.0])), [8.0, 16.0])
        self.assertTrue(scaler.adjust(Tensor(True)))
        self.close(scaler.unscale((Tensor([4.0]), Tensor([2.0])))[0], [1.0])

        class Mine(amp.LossScaleManager):
            def get_loss_scale(self):
                return 16.0

            def update_loss_scale(self, overflow):
                pass

            def get_update_cell(self):
                return None

        x, y = Tensor(np.ones((4, 3), "f4")), Tensor(np.ones((4, 2), "f4"))
        weights = []
        for options in ({}, {"loss_scale_manager": Mine()}):
            net = nn.Dense(3, 2, weight_init="ones")
            optimizer = nn.SGD(net.trainable_params(), 0.1, loss_scale=16.0 if options else 1.0)
            amp.build_train_network(net, optimizer, nn.MSELoss(), **options)(x, y)
            weights.append(net.weight.asnumpy())
        self.close(weights[1], weights[0], 1e-6)


class Facts(Case):
    def test_ranks_of_a_script_alone(self):
        self.assertEqual(_comm_helper._is_mpi_available(), shutil.which("mpirun") is not None)
        self.assertFalse(_comm_helper._is_hccl_available() or _comm_helper._is_nccl_available())
        self.assertTrue(_comm_helper._is_available())
        ms.communication.init()
        self.assertEqual(_comm_helper._get_group_ranks(ms.communication.GlobalComm.WORLD_COMM_GROUP), [0])

    def test_parameters_are_whole(self):
        net = nn.Dense(3, 2)
        value = net.weight.asnumpy()
        for whole in (True, False):
            found = serialization._get_merged_param_data(net, {}, "weight", net.weight, whole)
            np.testing.assert_array_equal(found.asnumpy(), value)

    def test_types_of_names_in_files(self):
        self.assertIs(serialization.tensor_to_np_type("Float32"), np.float32)
        self.assertIs(serialization.tensor_to_np_type.get("Bool"), np.bool_)
        self.assertIsNone(serialization.tensor_to_np_type("Unknown"))
        self.assertEqual(serialization.tensor_to_ms_type["BFloat16"], ms.bfloat16)

    def test_texts_of_types_follow_their_class(self):
        before = ms.common.dtype.Float.__str__
        ms.common.dtype.Float.__str__ = ms.common.dtype.Float.__repr__
        try:
            self.assertEqual(str(ms.float16), "mindspore.float16")
            self.assertEqual(str(ms.int8), "Int8")
        finally:
            ms.common.dtype.Float.__str__ = before
        self.assertEqual(f"{ms.float16}", "Float16")

    def test_memory_goes_back(self):
        self.assertIsNone(ms.ms_memory_recycle())


class Draws(Case):
    """Ops that have no kernel on a CPU in the documented system."""

    def test_orders_with_padding(self):
        found = ops.Randperm(6, -7, ms.int64)(Tensor([4], ms.int32)).asnumpy()
        self.assertEqual(found.dtype, np.int64)
        self.assertEqual(sorted(found[:4].tolist()), [0, 1, 2, 3])
        self.assertEqual(found[4:].tolist(), [-7, -7])

    def test_numbers_of_gamma_and_poisson(self):
        alpha, beta = Tensor([2.0, 8.0]), Tensor([1.0, 4.0])
        found = ops.gamma((4000, 2), alpha, beta).asnumpy()
        self.close(found.mean(0), [2.0, 2.0], 0.1)
        self.close(found.var(0), [2.0, 0.5], 0.2)
        self.assertEqual(ops.Gamma(seed=1)(Tensor([3, 2], ms.int32), alpha, beta).shape, (3, 2))
        self.close(ops.Poisson()((4000,), Tensor([3.0])).asnumpy().mean(), 3.0, 0.15)

    def test_a_status_of_numbers(self):
        for values, expected in (([1.0, 2.0], 0.0), ([1.0, np.inf], 1.0), ([np.nan], 1.0)):
            for dtype in (ms.float16, ms.float32):
                self.close(ops.FloatStatus()(Tensor(values, dtype)), [expected])
