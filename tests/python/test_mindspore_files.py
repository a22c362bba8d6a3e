"""Files that MindSpore has written (tests/mindspore/write_files.py), and files for it."""

import json
import os
import sys
import tempfile

import numpy as np
from support import Case, warned

import partita as ms
from partita import Parameter, Tensor, nn
from partita.train import strategy

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FILES = os.path.join(_HERE, "mindspore", "files")
sys.path.insert(0, os.path.join(_HERE, "mindspore"))
from networks import training  # noqa: E402


def _file(name):
    return os.path.join(_FILES, name)


class Files(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)


class Checkpoints(Files):
    def test_parameters_of_all_types(self):
        found = ms.load_checkpoint(_file("types.ckpt"), crc_check=True)
        self.assertEqual((found["who"], found["nothing"]), ("Zoë, 東京", ""))
        for name, shape, dtype in (
            ("float64", (2, 3), ms.float64),
            ("bfloat16", (5,), ms.bfloat16),
            ("float16", (2, 2), ms.float16),
            ("int32", (1, 2), ms.int32),
            ("bool", (3,), ms.bool_),
        ):
            self.assertEqual((found[name].shape, found[name].dtype), (shape, dtype))
            expected = np.arange(np.prod(shape)).reshape(shape) % 2
            self.close(found[name].astype(ms.float32), expected.astype("f4"))
        self.close(found["float32"], np.linspace(-1, 1, 6).reshape(3, 2))
        np.testing.assert_array_equal(found["int64"].asnumpy(), [-(2**40), 2**40])
        np.testing.assert_array_equal(found["uint32"].asnumpy(), [2**32 - 1])
        np.testing.assert_array_equal(found["uint8"].asnumpy(), [0, 255])
        self.assertEqual((int(found["epoch"]), float(found["rate"]), bool(found["is_best"])), (7, 0.5, True))
        self.assertEqual(found["scalar"].shape, ())

    def test_choices(self):
        chosen = ms.load_checkpoint(_file("types.ckpt"), choice_func=lambda name: name in ("who", "int32"))
        self.assertEqual(set(chosen), {"who", "int32"})
        self.assertEqual(
            set(ms.load_checkpoint(_file("types.ckpt"), specify_prefix="float")), {"float64", "float32", "float16"}
        )

    def test_a_training_goes_on(self):
        for network, optimizer in (("norms", "adam"), ("dense", "momentum")):
            with self.subTest(optimizer):
                cell, train = training(ms, network, optimizer)
                given = ms.load_checkpoint(_file(f"{optimizer}.ckpt"))
                expected = given.pop("next_losses").asnumpy()
                self.assertEqual(ms.load_param_into_net(cell, given), ([], []))
                self.assertEqual(cell.optimizer.global_step, 3)
                self.close(train(3, 3), expected, 1e-5)

    def test_a_training_of_ones_own_goes_on(self):
        for optimizer in (
            "momentum",
            "sgd",
            "plain",
            "adam",
            "decay",
            "rmsprop",
            "centered",
            "adagrad",
            "adamax",
            "adadelta",
            "scheduled",
        ):
            for ending in ("ckpt", "safetensors"):
                with self.subTest(optimizer, ending=ending):
                    cell, train = training(ms, "norms", optimizer)
                    train(0, 3)
                    ms.save_checkpoint(cell, self.path(f"cell.{ending}"), format=ending)
                    expected = train(3, 3)
                    other, go_on = training(ms, "norms", optimizer)
                    found = ms.load_checkpoint(self.path(f"cell.{ending}"), format=ending)
                    self.assertEqual(found["global_step"].shape, (1,))
                    self.assertEqual(ms.load_param_into_net(other, found)[0], [])
                    self.assertEqual(go_on(3, 3), expected)

    def test_documented_names(self):
        cell, train = training(ms, "dense", "adam")
        train(0, 2)
        ms.save_checkpoint(cell, self.path("cell.ckpt"))
        found = ms.load_checkpoint(self.path("cell.ckpt"))
        names = ["0.weight", "0.bias"]
        states = [f"{one}.{name}" for one in ("moment1", "moment2") for name in names]
        numbers = ["global_step", "learning_rate", "beta1_power", "beta2_power"]
        self.assertEqual(sorted(found), sorted(names + states + numbers))
        self.close(found["beta1_power"], 0.81)

    def test_an_optimizer_alone(self):
        cell, train = training(ms, "norms", "adam")
        given = ms.load_checkpoint(_file("adam.ckpt"))
        ms.load_param_into_net(cell.network, given)
        self.assertEqual(ms.load_param_into_net(cell.optimizer, given)[0], [])
        self.close(train(3, 3), given["next_losses"].asnumpy(), 1e-5)

    def test_states_without_a_place(self):
        cell, _ = training(ms, "dense", "adam")
        with warned() as lines:
            missing, unused = ms.load_param_into_net(cell, ms.load_checkpoint(_file("momentum.ckpt")))
        self.assertIn("states of Adam begin anew, got moments.0.bias, expected 0.weight.exp_avg", "\n".join(lines))
        self.assertIn("moment1.0.weight", missing)
        self.assertEqual(
            [name for name in unused if name.startswith("moments.")], ["moments.0.bias", "moments.0.weight"]
        )
        given = ms.load_checkpoint(_file("momentum.ckpt"))
        given["moments.0.weight"] = Parameter(Tensor(np.zeros((7, 7), "f4")), name="moments.0.weight")
        cell, _ = training(ms, "dense", "momentum")
        with self.refuses(
            RuntimeError, "[Momentum] 'moments.0.weight' is of another shape, got (7, 7), expected (2, 3)"
        ):
            ms.load_param_into_net(cell, given)

    def test_weights_alone(self):
        cell, train = training(ms, "dense", "momentum")
        ms.save_checkpoint(cell.network, self.path("net.ckpt"), append_dict={"epoch": 3, "who": "me"})
        missing, unused = ms.load_param_into_net(cell, ms.load_checkpoint(self.path("net.ckpt")))
        self.assertEqual(missing, ["global_step", "learning_rate", "moments.0.weight", "moments.0.bias"])
        self.assertEqual(unused, ["epoch", "who"])

    def test_texts_and_numbers(self):
        more = {"epoch": 3, "rate": 0.25, "is_best": False, "who": "Zoë", "a": Tensor(np.arange(3, dtype="i4"))}
        for ending in ("ckpt", "safetensors"):
            path = self.path(f"net.{ending}")
            ms.save_checkpoint(nn.Dense(2, 3), path, append_dict=more, format=ending, crc_check=True)
            found = ms.load_checkpoint(path)
            self.assertEqual((int(found["epoch"]), float(found["rate"]), found["who"]), (3, 0.25, "Zoë"))
            ms.save_checkpoint(found, path)  # texts stay
            self.assertEqual(ms.load_checkpoint(path)["who"], "Zoë")
        with self.refuses(TypeError, "[save_checkpoint] bad append_dict, got 'x': list, expected a str and a number"):
            ms.save_checkpoint(nn.Dense(2, 3), self.path("net"), append_dict={"x": [1]})
        with self.refuses(TypeError, "[save_checkpoint] append_dict is not a dict, got list, expected one"):
            ms.save_checkpoint(nn.Dense(2, 3), self.path("net"), append_dict=["x"])

    def test_small_integers(self):
        found = {name: one.asnumpy() for name, one in ms.load_checkpoint(_file("small_integers.ckpt")).items()}
        expected = {
            "int8": np.array([-128, -1, 127], "i1"),
            "int16": np.array([[-(2**15)], [2**15 - 1]], "i2"),
            "uint16": np.array([2**16 - 1, 0], "u2"),
        }
        self.assertEqual({name: one.dtype for name, one in found.items()}, {n: e.dtype for n, e in expected.items()})
        named = [{"name": name, "data": Parameter(Tensor(one), name=name)} for name, one in expected.items()]
        ms.save_checkpoint(named, self.path("own.ckpt"), format="ckpt")
        with open(_file("small_integers.ckpt"), "rb") as theirs, open(self.path("own.ckpt"), "rb") as own:
            self.assertTrue(own.read().startswith(theirs.read()))  # and our checksums
        ms.save_checkpoint(named, self.path("own.safetensors"), format="safetensors")
        again = ms.load_checkpoint(self.path("own.safetensors"), format="safetensors")
        for name, one in expected.items():
            np.testing.assert_array_equal(found[name], one)
            np.testing.assert_array_equal(again[name].asnumpy(), one)

    def test_content_and_not_the_name(self):
        ms.save_checkpoint(nn.Dense(2, 3), self.path("net.ckpt"), crc_check=True)
        with open(self.path("net.ckpt"), "rb") as file:
            content = file.read()
        self.assertEqual(content[:1], b"\n")
        self.assertEqual(content[-17:-10], b"crc_num")
        os.rename(self.path("net.ckpt"), self.path("net.safetensors"))
        self.assertEqual(set(ms.load_checkpoint(self.path("net.safetensors"))), {"weight", "bias"})
        ms.save_checkpoint(nn.Dense(2, 3), self.path("other.safetensors"))
        os.rename(self.path("other.safetensors"), self.path("other.ckpt"))  # as older versions wrote .ckpt files
        self.assertEqual(set(ms.load_checkpoint(self.path("other.ckpt"))), {"weight", "bias"})

    def test_refusals(self):
        for name, text in (
            ("uint64.ckpt", "parameter 'q' at offset 0: elements of the type UInt64, which is not supported"),
            (
                "encrypted.ckpt",
                "an encrypted checkpoint of MindSpore, expected a plain one: in MindSpore, save_checkpoint(",
            ),
        ):
            with self.refuses(ValueError, _file(name), text):
                ms.load_checkpoint(_file(name))
        os.symlink(_file("net.mindir"), self.path("net.ckpt"))
        with self.refuses(ValueError, "a MINDIR file", "save_checkpoint(nn.GraphCell(load(FILE)), "):
            ms.load_checkpoint(self.path("net.ckpt"))

    def test_dimensions_of_one_at_the_end(self):
        net = nn.Dense(2, 3)
        given = {
            "weight": Parameter(Tensor(np.full((3, 2, 1, 1), 5, "f4"))),
            "bias": Parameter(Tensor(np.zeros(3, "f4"))),
        }
        ms.load_param_into_net(net, given)
        self.close(net.weight, np.full((3, 2), 5))


class Prefixes(Files):
    def test_names_that_begin_with_others(self):
        net, given = nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3)), {}
        for number, one in enumerate(net.get_parameters()):
            name = f"backbone.net.{one.name}"
            given[name] = Parameter(Tensor(np.full(one.shape, number, "f4")), name=name)
            given[f"moments.{one.name}"] = Parameter(Tensor(np.full(one.shape, 99, "f4")), name=f"moments.{one.name}")
        with warned() as lines:
            missing, unused = ms.load_param_into_net(net, given)
        self.assertIn("names are taken without 'backbone.net.', got 6 that begin with it", "\n".join(lines))
        self.assertEqual((missing, len(unused)), ([], 6))
        for number, one in enumerate(net.get_parameters()):
            self.close(one, np.full(one.shape, number))
        other = nn.SequentialCell(nn.Dense(2, 3))
        self.assertEqual(ms.load_param_into_net(other, given, strict_load=True)[0], ["0.weight", "0.bias"])
        del given["backbone.net.0.bias"]
        self.assertEqual(ms.load_param_into_net(other, given)[0], ["0.weight", "0.bias"])


class Strategies(Files):
    """Strategy files have no shapes: parts tell them."""

    def ranks_of(self, folder, numbers, cut):
        """Files rank_N of parts of `numbers`, {name: whole}, that `cut(name, rank)` gives."""
        for rank in range(8):
            os.makedirs(self.path(folder, f"rank_{rank}"))
            parts = {name: Tensor(one[cut(name, rank)]) for name, one in numbers.items()}
            ms.save_checkpoint(
                {**parts, "global_step": Tensor(np.array([5], "i4"))}, self.path(folder, f"rank_{rank}", "net.ckpt")
            )

    @staticmethod
    def cut(name, rank):
        """The part of a rank, as strategy.ckpt says for (2, 4) ranks: w in 2 rows by 4 columns, v in 4 by 2 parts of
        rows."""
        row, column = divmod(rank, 4)
        if name == "w":
            return slice(8 * row, 8 * row + 8), slice(8 * column, 8 * column + 8)
        begin = 2 * (2 * column + row)
        return slice(begin, begin + 2), slice(None)

    def setUp(self):
        super().setUp()
        chance = np.random.default_rng(1)
        self.numbers = {"w": chance.random((16, 32), "f4"), "v": chance.random((16, 3), "f4")}

    def test_files_of_ranks_are_joined(self):
        self.ranks_of("there", self.numbers, self.cut)
        ms.transform_checkpoints(self.path("there"), self.path("whole"), "net", _file("strategy.ckpt"), None)
        found = ms.load_checkpoint(self.path("whole", "rank_0", "net0.ckpt"))
        for name, one in self.numbers.items():
            np.testing.assert_array_equal(found[name].asnumpy(), one)
        self.assertEqual(found["global_step"].asnumpy().tolist(), [5])
        net = nn.Cell()
        net.w, net.v = (Parameter(Tensor(np.zeros_like(self.numbers[name])), name=name) for name in "wv")
        files = [self.path("there", f"rank_{rank}", "net.ckpt") for rank in range(8)]
        self.assertEqual(ms.load_distributed_checkpoint(net, files, None, _file("strategy.ckpt")), [])
        np.testing.assert_array_equal(net.w.asnumpy(), self.numbers["w"])
        entries = ms.build_searched_strategy(_file("strategy.ckpt"))
        parts = [Parameter(Tensor(self.numbers["w"][self.cut("w", rank)]), name="w") for rank in range(8)]
        np.testing.assert_array_equal(ms.merge_sliced_parameter(parts, entries).asnumpy(), self.numbers["w"])

    def test_files_are_cut(self):
        os.makedirs(self.path("whole", "rank_0"))
        halves = {name: Tensor(one).astype(ms.bfloat16) for name, one in self.numbers.items()}
        ms.save_checkpoint(halves, self.path("whole", "rank_0", "net.ckpt"))
        ms.transform_checkpoints(self.path("whole"), self.path("parts"), "net", None, _file("strategy.ckpt"))
        for rank in range(8):
            found = ms.load_checkpoint(self.path("parts", f"rank_{rank}", f"net{rank}.ckpt"))
            for name, one in halves.items():
                self.assertEqual(found[name].dtype, ms.bfloat16)
                expected = one.astype(ms.float32).asnumpy()[self.cut(name, rank)]
                np.testing.assert_array_equal(found[name].astype(ms.float32).asnumpy(), expected)

    def test_ranks_that_are_needed(self):
        needed = ms.rank_list_for_transform(5, None, _file("strategy.ckpt"))
        self.assertEqual(needed, [0])
        files = {rank: self.path("there", f"rank_{rank}", "net.ckpt") for rank in range(8)}
        self.ranks_of("there", {"w": self.numbers["w"]}, self.cut)
        with open(self.path("rows.json"), "w") as file:
            layout = {"dev_matrix": [2, 2], "tensor_map": [1, -1], "field": 0}
            json.dump({"parallel_layout_item": {"w": layout}}, file)
        needed = ms.rank_list_for_transform(3, _file("strategy.ckpt"), self.path("rows.json"))
        self.assertLessEqual({4, 5, 6, 7}, set(needed))  # the second half of the rows of w
        files = {rank: files[rank] for rank in (4, 5, 6, 7)}
        paths = self.path("one.ckpt"), _file("strategy.ckpt"), self.path("rows.json")
        ms.transform_checkpoint_by_rank(3, files, *paths)
        np.testing.assert_array_equal(ms.load_checkpoint(paths[0])["w"].asnumpy(), self.numbers["w"][8:])
        with self.refuses(ValueError, "parts of 'w' are missing, got 64 of 256 elements"):
            ms.transform_checkpoint_by_rank(3, {4: files[4]}, *paths)

    def test_json_and_stages(self):
        layout = {
            "dev_matrix": [4],
            "tensor_map": [0],
            "param_split_shape": [],
            "indices_offset": [],
            "field": 0,
            "opt_weight_shard_step": 0,
            "opt_weight_shard_size": 0,
        }
        for stage, name in enumerate(("near", "far")):
            item = {"MatMul-op0": {"stage": stage, "parallel_strategy": [[4, 1]]}}
            with open(self.path(f"{stage}.json"), "w") as file:
                json.dump(
                    {"current_stage": stage, "parallel_strategy_item": item, "parallel_layout_item": {name: layout}},
                    file,
                )
        os.makedirs(self.path("strategies"))
        for stage in range(2):
            os.rename(self.path(f"{stage}.json"), self.path("strategies", f"{stage}.json"))
        ms.merge_pipeline_strategys(self.path("strategies"), self.path("all.json"))
        entries = ms.build_searched_strategy(self.path("all.json"))
        self.assertEqual([rank for rank, _ in entries["near"]["slices"]], [0, 1, 2, 3])
        self.assertEqual([rank for rank, _ in entries["far"]["slices"]], [4, 5, 6, 7])
        far = ms.build_searched_strategy(_file("strategy.ckpt"))["far"]
        self.assertEqual([rank for rank, _ in far["slices"]], [4, 5, 6, 7])

    def test_refusals(self):
        good = {"dev_matrix": [2, 4], "tensor_map": [1, 0], "field": 0}
        for change, kind, text in (
            ({"param_split_shape": [3, 5]}, NotImplementedError, "'w' has uneven parts, got param_split_shape=[3, 5]"),
            ({"field": 2}, NotImplementedError, "'w' has uneven parts, got field=2"),
            ({"tensor_map": [1, 1]}, ValueError, "an axis is used twice, or is not in dev_matrix"),
            ({"tensor_map": [2, 0]}, ValueError, "an axis is used twice, or is not in dev_matrix"),
            ({"tensor_map": "x"}, ValueError, "a bad tensor_map of 'w', got 'x'"),
            ({"dev_matrix": [0]}, ValueError, "a bad dev_matrix, got [0]"),
            ({"dev_matrix": [10**7], "tensor_map": [0]}, ValueError, "'w' has too many ranks, got 10000000"),
            (
                {"tensor_map": [0, -1], "opt_weight_shard_step": 1, "opt_weight_shard_size": 3},
                ValueError,
                "'w' cannot be cut for the optimizer, got 3 parts of 2 copies",
            ),
        ):
            with open(self.path("s.json"), "w") as file:
                json.dump({"parallel_layout_item": {"w": {**good, **change}}}, file)
            with self.subTest(text), self.refuses(kind, text):
                ms.build_searched_strategy(self.path("s.json"))
        with open(self.path("s.ckpt"), "wb") as file:
            file.write(b"no strategy")
        with self.refuses(
            ValueError, f"{self.path('s.ckpt')} is not a strategy file (it is truncated or damaged), expected"
        ):
            ms.build_searched_strategy(self.path("s.ckpt"))
        os.makedirs(self.path("whole", "rank_0"))
        ms.save_checkpoint({"w": Tensor(np.zeros((6, 8), "f4"))}, self.path("whole", "rank_0", "net.ckpt"))
        with open(self.path("s.json"), "w") as file:
            json.dump({"parallel_layout_item": {"w": good}}, file)
        with self.refuses(
            NotImplementedError, "the file has the cuts of MindSpore's own nodes", "set shard in the script"
        ):
            strategy.cuts_of("strategy_ckpt_load_file", self.path("s.json"))
        with open(self.path("s.json"), "w") as file:
            json.dump({"parallel_layout_item": {"w": {**good, "tensor_map": [0, 1]}}}, file)
        with self.refuses(ValueError, "'w' cannot be cut, got the shape (6, 8), expected multiples of [4, 2]"):
            ms.transform_checkpoints(self.path("whole"), self.path("parts"), "net", None, self.path("s.json"))
