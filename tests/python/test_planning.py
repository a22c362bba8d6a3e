"""Programs and plans as objects: their texts, what notebooks show, costs on clusters; weights of PyTorch."""

import os
import re
import tempfile

import numpy as np
from support import Case, Small, labelled

import partita as ms
from partita import dataset as ds
from partita import nn, planning, train


def model(ranks=1):
    ms.set_context(ranks=ranks)
    ms.set_auto_parallel_context(parallel_mode="data_parallel" if ranks > 1 else "stand_alone", gradients_mean=True)
    net = Small()
    return train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))


def rows():
    return ds.NumpySlicesDataset(labelled(64), ["data", "label"], shuffle=False).batch(16)


class Programs(Case):
    def test_print_as_their_texts(self):
        program = model(4).program(rows())
        self.assertIn("memory:", str(program))
        self.assertIn("mesh data=4", str(program.plan))
        self.assertIn("matmul", str(program.graph))
        self.assertEqual(repr(program.plan), str(program.plan))
        self.assertTrue(program.plan._repr_html_().startswith("<pre>"))
        self.assertNotIn("->", program.graph._repr_html_())
        self.assertIn("all_reduce", str(program.rank(3)))
        self.assertEqual(str(ms.explain(program, rank=3)), str(program.rank(3)))
        self.assertEqual(str(ms.plan(model(4), rows())), str(program.plan))
        self.assertEqual({one["name"] for one in program.layouts if one["is_weight"]}, set(Small().parameters_dict()))
        with self.refuses(AttributeError, "has no costs"):
            program.plan.seconds
        with self.refuses(TypeError, "not a model, got int"):
            ms.plan(1, rows())

    def test_are_graphs_of_networkx(self):
        graph = model().program(rows()).graph
        try:
            import networkx
        except ImportError:
            with self.refuses(ImportError, "networkx is not installed"):
                graph.to_networkx()
            return
        made = graph.to_networkx()
        self.assertTrue(networkx.is_directed_acyclic_graph(made))
        self.assertGreaterEqual(len(made), len(graph))

    def test_are_planned_for_chips(self):
        own, usual = (ms.plan(model(), rows(), **where) for where in ({"target": "h100"}, {"cluster": "h100"}))
        self.assertIn("software       partita", str(own))
        self.assertIn("software       megatron-core of 2024", str(usual))
        with self.refuses(ValueError, "cluster and target both name the devices, got h100 and v5e"):
            ms.plan(model(), rows(), cluster="h100", target="v5e")
        with self.refuses(ValueError, "[--check] no programs are compiled for these devices, got v100, expected one"):
            ms.plan(model(), rows(), cluster="v100", check=True)
        self.assertRegex(str(ms.plan(model(), rows(), cluster="cpu", check=True)), r"compiled +.* by the schedule, ")
        with self.refuses(ValueError, "[attention] has no effect, got fused without check, expected both"):
            ms.plan(model(), rows(), target="h100", attention="fused")
        with self.refuses(ValueError, "[--collectives] has no effect, got whole on a cluster of processors"):
            ms.plan(model(), rows(), cluster="cpu", check=True, collectives="whole")
        with self.refuses(KeyError, "[collectives] unknown name, got 'both', expected one of auto cut whole"):
            ms.plan(model(), rows(), target="h100", check=True, collectives="both")

    def test_take_types_and_name_what_is_wrong(self):
        half = [ms.plan(model(), rows(), target="h100", dtype=one).seconds for one in ("bf16", ms.bfloat16)]
        self.assertEqual(half[0], half[1])
        with self.refuses(KeyError, "[dtype] unknown name, got 'int8', expected one of f32"):
            ms.plan(model(), rows(), target="h100", dtype="int8")
        with self.refuses(KeyError, "[search] unknown name, got 'greedy', expected one of"):
            ms.plan(model(), rows(), target="h100", search="greedy")

    def test_are_planned_for_clusters(self):
        plan = ms.plan(model(), rows(), cluster="h100", ranks=4)
        self.assertGreater(plan.seconds, 0)
        self.assertTrue(plan.fits and 0 < plan.memory < 80e9)
        self.assertIn("data=", plan.configuration.replace(" ", ""))
        self.assertIn("fc1", str(ms.explain(plan)))
        self.assertIn("&lt;svg", plan._repr_html_())
        pinned = ms.plan(model(), rows(), "h100", 4, pins="data=2,tensor=2")
        self.assertNotEqual(pinned.configuration, plan.configuration)
        self.assertIn("priced in TF32", str(plan))
        self.assertNotIn("TF32", str(ms.plan(model(), rows(), "h100", 4, tf32=False)))
        net, loss = Small(), nn.SoftmaxCrossEntropyWithLogits(True, "mean")  # of few kernels, so that cuts count
        other = train.Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
        cut = ms.plan(other, rows(), "h100", 4, pins="data=1,tensor=4,cuts=searched")
        self.assertIn("tensor", str(ms.explain(cut)))
        with self.refuses(ValueError, "bad ranks, got -1"):
            ms.plan(model(), rows(), cluster="h100", ranks=-1)
        with self.refuses(KeyError, "h10O", "did you mean 'h100'"):
            ms.plan(model(), rows(), cluster="h10O")

    def test_are_planned_on_processors_as_they_are_compiled(self):
        plan = ms.plan(model(), rows(), cluster="cpu", ranks=2, pins="data=2")
        arena = re.search(r"memory: *([0-9.]+) KiB", str(model(2).program(rows())))
        self.assertAlmostEqual(plan.memory / 1024, float(arena[1]), delta=0.06)
        self.assertIn("data parallel", plan._repr_html_())

    def test_are_planned_by_name(self):
        name, pins = "gpt:layers=4,hidden=32,heads=4,seq=16", "tensor=4"
        plan = ms.plan(name, cluster="h100", batch=24, dtype="bf16", pins=pins, runner_up=True)
        self.assertIn("runner-up", str(plan.others))
        self.assertIn("net/h/0..3", str(ms.explain(plan)))
        self.assertIn("net/h/1/mlp/fc/matmul", str(ms.explain(plan, op="net/h/1/mlp/fc/matmul")))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.txt")
            plan.save(path)
            self.assertIn(plan.configuration, str(ms.explain(path)).replace(" ", ""))
            self.assertIn("the plans are the same", str(planning.diff(path, path)))
        fixed = ms.plan("mlp", cluster="h100", fixed="data=4")
        self.assertTrue(fixed.fits)
        self.assertEqual((fixed.shortage, fixed.remedies), ("", []))
        none = ms.plan("mlp", cluster="h100", memory_gib=0.0001)
        self.assertFalse(none.fits)
        self.assertIn("missing on group 0", none.shortage)
        self.assertTrue(any("--memory" in one for one in none.remedies))
        with self.refuses(ValueError, "pins have no effect"):
            ms.plan("mlp", cluster="h100", fixed="data=4", pins="zero=1")
        with self.refuses(ValueError, "memory_gib out of range, got -1"):
            ms.plan("mlp", memory_gib=-1)

    def test_cost_as_much_with_idle_ranks(self):
        plan = ms.plan(model(), rows(), cluster="h100:8")
        self.assertIn("idle", str(plan))
        given = dict(item.split("=") for item in plan.configuration.split(","))
        own = 1
        for axis in ("data", "context", "tensor", "pipeline"):
            own *= int(given.get(axis, 1))
        for ranks in (0, own):
            self.assertEqual(ms.plan(model(), rows(), "h100:8", ranks, pins=plan.configuration).seconds, plan.seconds)
        for pins in ("data=2,tensor=3,cuts=searched,pipeline=1", "tensor=2,cuts=searched,pipeline=1,data=4"):
            many = ms.plan(model(), rows(), "h100:8", pins=pins)
            self.assertEqual(ms.plan(model(), rows(), "h100:8", 8, pins=pins).seconds, many.seconds)


class WeightsOfOthers(Case):
    def test_load_by_name(self):
        """A state_dict of PyTorch in a safetensors file, as safetensors.torch writes it."""
        numbers = np.random.default_rng(1)
        state = {
            "fc1.weight": numbers.random((8, 6), "f4"),
            "fc1.bias": numbers.random(8, "f4"),
            "norm.weight": numbers.random(8, "f4"),
            "norm.bias": numbers.random(8, "f4"),
            "norm.running_mean": numbers.random(8, "f4"),
            "norm.running_var": numbers.random(8, "f4"),
            "norm.num_batches_tracked": np.array(3),
            "fc2.weight": numbers.random((3, 8), "f4"),
            "fc2.bias": numbers.random(3, "f4"),
        }
        header, at = [], 0
        for name, one in state.items():
            kind = {"f": "F32", "i": "I64"}[one.dtype.kind]
            shape = ",".join(map(str, one.shape))
            header.append(f'"{name}":{{"dtype":"{kind}","shape":[{shape}],"data_offsets":[{at},{at + one.nbytes}]}}')
            at += one.nbytes
        text = ("{" + ",".join(header) + "}").encode()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            with open(path, "wb") as file:
                file.write(len(text).to_bytes(8, "little") + text + b"".join(one.tobytes() for one in state.values()))
            net = Small(norm=True)
            missing, unused = ms.load_param_into_net(net, ms.load_checkpoint(path))
        self.assertEqual((missing, unused), ([], ["norm.num_batches_tracked"]))
        net.set_train(False)
        x = labelled(5)[0]
        hidden = x @ state["fc1.weight"].T + state["fc1.bias"]
        scale = state["norm.weight"] / np.sqrt(state["norm.running_var"] + 1e-5)
        hidden = np.maximum((hidden - state["norm.running_mean"]) * scale + state["norm.bias"], 0)
        self.close(net(ms.Tensor(x)), hidden @ state["fc2.weight"].T + state["fc2.bias"], 1e-5)
