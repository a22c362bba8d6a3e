"""Trainings that go on from files: the learning rate, the scale of the loss, and states under other optimizers."""

import contextlib
import io
import os
import tempfile

import numpy as np
from support import Case, Small, labelled

import partita as ms
from partita import Parameter, Tensor, _core, _warnings, amp, nn, train
from partita import dataset as ds


def rows(count=48):
    return ds.NumpySlicesDataset(labelled(count), ["data", "label"], shuffle=False).batch(12)


class Seen(train.Callback):
    """The scale and the learning rate of each step, and whether it was left out."""

    def __init__(self):
        self.steps = []

    def on_train_step_end(self, run_context):
        args = run_context.original_args()
        self.steps.append((args.loss_scale, args.learning_rate, args.skipped))


class Files(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    @contextlib.contextmanager
    def warned(self):
        """Captures warnings, also those that were said before."""
        _warnings._said.clear()
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            yield errors


class Scales(Files):
    def train(self, manager, load=None, epochs=1, level="O2", save=None, scaler=True):
        """(steps seen, net, optimizer) of a training that begins with the states of a file."""
        ms.set_seed(3)
        net, seen = Small(), Seen()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        if load is not None:
            states = ms.load_checkpoint(load)
            ms.load_param_into_net(net, states)
            ms.load_param_into_net(optimizer, ms.load_checkpoint(scaler) if isinstance(scaler, str) else states)
        options = {} if manager is None else {"loss_scale_manager": manager}
        callbacks = [seen]
        if save:
            config = train.CheckpointConfig(save_checkpoint_steps=4, keep_checkpoint_max=0)
            callbacks.append(train.ModelCheckpoint(save, self.folder, config))
        train.Model(net, nn.CrossEntropyLoss(), optimizer, amp_level=level, **options).train(
            epochs, rows(), callbacks=callbacks
        )
        return seen.steps, net, optimizer

    def test_go_on(self):
        # From 2^24 some steps are left out, and the scale grows after 3 good ones in a row.
        for managed in (True, False):
            made = lambda: amp.DynamicLossScaleManager(2**24, 4, 3) if managed else None  # noqa: E731, B023
            with self.warned():
                whole, net, _ = self.train(made(), epochs=3, save=f"whole{managed}")
            for epoch in (1, 2):
                file = self.path(f"whole{managed}-{epoch}_4.ckpt")
                manager = made()
                with self.warned() as errors:
                    rest, again, _ = self.train(manager, file, 3 - epoch)
                self.assertNotIn("[resume]", errors.getvalue())
                self.assertEqual(rest, whole[4 * epoch :])
                self.close(again.fc1.weight, net.fc1.weight, 0)
                if managed:
                    good = 0
                    for scale, _, skipped in whole:
                        good = 0 if skipped or good + 1 == 3 else good + 1
                    self.assertEqual(manager.good_steps, good)

    def test_go_on_from_files_of_optimizers(self):
        with self.warned():
            whole, _, _ = self.train(amp.DynamicLossScaleManager(2**24, 4, 3), epochs=2, save="whole")
            _, net, optimizer = self.train(amp.DynamicLossScaleManager(2**24, 4, 3))
            ms.save_checkpoint(net, self.path("net.ckpt"))
            ms.save_checkpoint(optimizer, self.path("optimizer.ckpt"))
            rest, _, other = self.train(
                amp.DynamicLossScaleManager(2**24, 4, 3), self.path("net.ckpt"), scaler=self.path("optimizer.ckpt")
            )
        self.assertEqual(rest, whole[4:])
        ms.save_checkpoint(other, self.path("again.ckpt"))
        self.assertIn("checkpoint.loss_scale", ms.load_checkpoint(self.path("again.ckpt")))

    def test_begin_anew_with_a_word_under_another_kind(self):
        with self.warned():
            self.train(amp.DynamicLossScaleManager(2**24, 4, 3), save="dynamic")
            self.train(amp.FixedLossScaleManager(8), save="static")
        dynamic, static = self.path("dynamic-1_4.ckpt"), self.path("static-1_4.ckpt")
        for file, manager, level, first, said in (
            (dynamic, amp.FixedLossScaleManager(8), "O2", 8, "of dynamic f16 in the checkpoint, expected one of stat"),
            (static, amp.DynamicLossScaleManager(2**10), "O2", 2**10, "got 8 of static 8 in the checkpoint, expected"),
            (static, amp.FixedLossScaleManager(8), "O2", 8, None),
            (static, None, "O0", 1, "expected one of off"),
            (dynamic, amp.DynamicLossScaleManager(2**10), "O0", 2**10, "expected one of dynamic f32"),
        ):
            with self.warned() as errors:
                steps, _, _ = self.train(manager, file, level=level)
            self.assertEqual(steps[0][0], first)
            word = "the scale of the loss begins anew"
            self.assertEqual(word in errors.getvalue(), said is not None, errors.getvalue())
            self.assertIn(said or "", errors.getvalue())
            self.assertEqual(errors.getvalue().count(file), 0 if said is None else 1)

    def test_are_refused_where_they_are_none(self):
        net = Small()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        bad = Parameter(Tensor(np.array([0.5, 0, 0])), name="checkpoint.loss_scale")
        ms.load_param_into_net(optimizer, {"checkpoint.loss_scale": bad})
        model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
        with self.refuses(ValueError, "[resume] a bad loss scale, got 0.5, 0, 0, expected a number from 1 and two"):
            model.train(1, rows())

    def test_of_another_length_are_refused(self):
        optimizer = nn.Momentum(Small().trainable_params(), 0.1, 0.9)
        lengths = {0: "0 numbers", 1: "8", 2: "8, 0", 3: None, 4: "8, 0, 0, 0", 9: "9 numbers"}
        wanted = {
            "checkpoint.loss_scale": (3, "loss scale", "a number from 1 and two counts"),
            "checkpoint.learning_rate": (1, "learning rate", "a finite number"),
            "checkpoint.position": (4, "position", "a step, a batch, a number of rows and a seed"),
            "global_step": (1, "number of steps", "one"),
        }
        for name, (right, what, expected) in wanted.items():
            for length in lengths:
                path = self.path("bad.ckpt")
                numbers = Tensor(np.array([8.0, *[0.0] * 8])[:length])
                ms.save_checkpoint([{"name": "w", "data": Tensor(1.0)}, {"name": name, "data": numbers}], path)
                for given, where in (({name: Parameter(numbers)}, ""), (ms.load_checkpoint(path), f"{path}: ")):
                    if length == right:
                        with self.warned():
                            ms.load_param_into_net(optimizer, given)
                        continue
                    got = lengths[length] or "8, 0, 0"
                    with self.refuses(ValueError, f"[resume] {where}a bad {what}, got {got}, expected {expected}"):
                        ms.load_param_into_net(optimizer, given)
        for bad in (np.nan, np.inf):
            with self.refuses(ValueError, f"[resume] a bad learning rate, got {bad}, expected a finite number"):
                ms.load_param_into_net(optimizer, {"checkpoint.learning_rate": Parameter(Tensor(bad))})

    def test_are_of_one_training(self):
        with self.warned():
            self.train(amp.DynamicLossScaleManager(2**24, 4, 3), save="x")
            ms.set_seed(3)
            net, seen = Small(), Seen()
            optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            ms.load_param_into_net(optimizer, ms.load_checkpoint(self.path("x-1_4.ckpt")))
            loaded = optimizer.loaded_scale[0]
            model = train.Model(net, nn.CrossEntropyLoss(), optimizer, amp_level="O2")
            model.train(1, rows(), callbacks=[seen])
            model.train(1, rows(), callbacks=[seen])
        self.assertEqual((seen.steps[0][0], seen.steps[4][0]), (loaded, 65536), "the second begins with its own")


class Rates(Files):
    def made(self, rate):
        ms.set_seed(3)
        net = Small()
        optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
        return net, optimizer, train.Model(net, nn.CrossEntropyLoss(), optimizer)

    def test_go_on(self):
        many = [0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03]
        halves = lambda: train.LearningRateScheduler(lambda rate, step: rate * 0.5)  # noqa: E731
        for rate, sets in ((0.1, True), (0.1, False), (many, True), (many, False)):
            saver = train.ModelCheckpoint("x", self.folder, train.CheckpointConfig(save_checkpoint_steps=4))
            net, optimizer, model = self.made(rate)
            seen = Seen()
            model.train(2, rows(), callbacks=[*[halves()] * sets, seen, saver])
            expected = [one[1] for one in seen.steps]
            self.assertEqual(len(set(expected)) > 1, sets or rate is many)
            files = [saver._files[0]]
            if not (rate is many and sets):  # rates of one training alone are not the optimizer's
                _, other, half = self.made(rate)
                half.train(1, rows(), callbacks=[halves()] * sets)
                files.append(self.path("optimizer.ckpt"))
                ms.save_checkpoint(other, files[1])
            for file in files:
                again, optimizer, model = self.made(0.7 if rate is not many else rate)
                ms.load_param_into_net(again, ms.load_checkpoint(saver._files[0]))
                ms.load_param_into_net(optimizer, ms.load_checkpoint(file))
                seen = Seen()
                model.train(1, rows(), callbacks=[*[halves()] * sets, seen])
                self.assertEqual([one[1] for one in seen.steps], expected[4:], file)
                self.close(again.fc1.weight, net.fc1.weight, 0)

    def test_keep_their_names_in_files_of_loaded_parameters(self):
        for make in (lambda p: nn.Momentum(p, 0.5, 0.9), lambda p: nn.RMSProp(p, 0.5)):
            first, again, listed = self.path("first.ckpt"), self.path("again.ckpt"), self.path("list.ckpt")
            ms.save_checkpoint(make(Small().trainable_params()), first)
            loaded = ms.load_checkpoint(first)
            ms.save_checkpoint(loaded, again)
            ms.save_checkpoint([{"name": name, "data": one} for name, one in loaded.items()], listed)
            for file in (again, listed):
                optimizer = make(Small().trainable_params())
                optimizer.learning_rate = 0.25
                with self.warned() as errors:
                    ms.load_param_into_net(optimizer, ms.load_checkpoint(file))
                self.assertEqual(float(optimizer.get_lr()), 0.5, file)
                self.assertNotIn("learning rate", errors.getvalue())

    def test_of_older_files_of_composed_optimizers_go_on(self):
        path = self.path("old.ckpt")
        config = '[optimizer]\nkind = "adam"\n'
        _core.save_arrays(path, [("checkpoint.learning_rate", Tensor(0.5).array)], {"partita.config": config})
        for now, rate in ((nn.RMSProp, 0.5), (nn.Adam, 0.5), (nn.SGD, 0.25)):
            optimizer = now(Small().trainable_params(), 0.25)
            with self.warned():
                ms.load_param_into_net(optimizer, ms.load_checkpoint(path))
            self.assertEqual(float(optimizer.get_lr()), rate, now)

    def test_of_another_optimizer_are_left_with_a_word(self):
        kinds = {
            "sgd": lambda p: nn.SGD(p, 0.5),
            "momentum": lambda p: nn.Momentum(p, 0.5, 0.9),
            "adam": lambda p: nn.Adam(p, 0.5),
            "RMSProp": lambda p: nn.RMSProp(p, 0.5),
            "update of Mine": lambda p: Mine(0.5, p),
        }
        sets = train.LearningRateScheduler(lambda rate, step: 0.5)
        for then, make in kinds.items():
            net = Small()
            ms.save_checkpoint(make(net.trainable_params()), self.path("apart.ckpt"))
            saver = train.ModelCheckpoint(then, self.folder, train.CheckpointConfig(save_checkpoint_steps=4))
            with self.warned():
                model = train.Model(net, nn.CrossEntropyLoss(), make(net.trainable_params()))
                model.train(1, rows(), callbacks=[sets, saver])
            for file in (self.path("apart.ckpt"), saver._files[0]):
                for now, other in kinds.items():
                    optimizer = other(Small().trainable_params())
                    optimizer.learning_rate = 0.25
                    with self.warned() as errors:
                        ms.load_param_into_net(optimizer, ms.load_checkpoint(file))
                    same = then == now
                    self.assertEqual(float(optimizer.get_lr()), 0.5 if same else 0.25, (file, now))
                    self.assertEqual(optimizer.loaded_rate, 0.5 if same else None)
                    word = (
                        f"[resume] {file}: the learning rate is that of the optimizer, got 0.5 of {then} in the file, "
                        f"expected one of {now}"
                    )
                    self.assertEqual(errors.getvalue().count(word), 0 if same else 1, errors.getvalue())
                    self.assertEqual(errors.getvalue().count("learning rate"), 0 if same else 1)
        optimizer = kinds["adam"](Small().trainable_params())
        with self.warned() as errors:
            ms.load_param_into_net(optimizer, {"checkpoint.learning_rate": Parameter(Tensor(0.25))})
        self.assertIn("[resume] the learning rate is that of the optimizer, got 0.25 of what it", errors.getvalue())
        self.assertEqual(float(optimizer.get_lr()), 0.5)

    def test_that_are_set_later_count(self):
        saver = train.ModelCheckpoint("x", self.folder, train.CheckpointConfig(save_checkpoint_steps=4))
        _, _, model = self.made(0.1)
        model.train(1, rows(), callbacks=[saver])
        for rate in (0.1, [0.1] * 8):
            for later in (0.3, [0.3] * 8):
                _, optimizer, model = self.made(rate)
                ms.load_param_into_net(optimizer, ms.load_checkpoint(saver._files[0]))
                self.assertEqual(float(optimizer.get_lr()), np.float32(0.1))
                optimizer.learning_rate = later
                seen = Seen()
                model.train(1, rows(), callbacks=[seen])
                self.assertEqual({one[1] for one in seen.steps}, {0.3})


class Mine(nn.Optimizer):
    """An update that names its states itself."""

    def update(self, parameter, gradient, learning_rate, states):
        total = states("momentum") + gradient * gradient
        states.keep("momentum", total)
        return parameter - learning_rate * gradient


class States(Files):
    kinds = {
        "SGD": lambda p: nn.SGD(p, 0.1),
        "SGD with momentum": lambda p: nn.SGD(p, 0.1, momentum=0.9),
        "SGD dampened": lambda p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.5),
        "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
        "Adam": lambda p: nn.Adam(p, 0.01),
        "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 0.01),
        "Adagrad": lambda p: nn.Adagrad(p, learning_rate=0.01),
        "RMSProp": lambda p: nn.RMSProp(p, 0.01),
        "RMSProp with momentum": lambda p: nn.RMSProp(p, 0.01, momentum=0.9),
        "RMSProp centered": lambda p: nn.RMSProp(p, 0.01, momentum=0.9, centered=True),
        "AdaMax": lambda p: nn.AdaMax(p, 0.01),
        "Adadelta": lambda p: nn.Adadelta(p, 0.01),
        "Muon": lambda p: nn.Muon(p, 0.01),
        "Lars": lambda p: nn.Lars(p, 0.1),
        "Lamb": lambda p: nn.Lamb(p, 0.01),
        "Adafactor": lambda p: nn.Adafactor(p, 0.01),
        "Lion": lambda p: nn.Lion(p, 0.001),
        "mine": lambda p: Mine(0.1, p),
    }
    # Names that parameters may have, where the network decides which of them each has.
    of_some = {"Muon": {"momentum", "exp_avg", "exp_avg_sq"}}
    # What the states of one name measure: the same wherever a name is.
    measured = {"momentum", "exp_avg", "exp_avg_sq", "sum", "square_avg", "grad_avg", "step_momentum", "exp_inf"}

    def made(self, kind):
        ms.set_seed(3)
        net = nn.Dense(6, 3)
        optimizer = self.kinds[kind](net.trainable_params())
        return net, optimizer, train.Model(net, nn.CrossEntropyLoss(), optimizer)

    def names(self, optimizer):
        return {name.rpartition(".")[2] for name in optimizer.states if "." in name}

    def test_under_every_other_optimizer(self):
        files, own = {}, {}
        for kind in self.kinds:
            _, optimizer, model = self.made(kind)
            saver = train.ModelCheckpoint(kind, self.folder, train.CheckpointConfig(save_checkpoint_steps=4))
            model.train(1, rows(), callbacks=[saver])
            apart = self.path(f"apart {kind}.ckpt")
            ms.save_checkpoint(optimizer, apart)
            files[kind], own[kind] = (saver._files[0], apart), self.names(optimizer)
        for then, paths in files.items():
            for now in self.kinds:
                for path in paths:
                    _, optimizer, model = self.made(now)
                    with self.warned() as errors:
                        _, unused = ms.load_param_into_net(optimizer, ms.load_checkpoint(path))
                    where = f"{then} -> {now}: {sorted(optimizer.states)} {errors.getvalue()}"
                    taken = self.names(optimizer)
                    fits = self.of_some.get(now, own[now])
                    comparable = own[then] & fits if ("mine" in (then, now)) == (then == now == "mine") else set()
                    self.assertEqual(taken, comparable, where)
                    left = {name.rpartition(".")[2] for name in unused if name.startswith(("weight.", "bias."))}
                    self.assertEqual(left, own[then] - comparable, where)
                    said = [line for line in errors.getvalue().splitlines() if "the learning rate is" not in line]
                    is_whole = then == now if now in self.of_some else own[now] == comparable
                    self.assertEqual(said == [], is_whole, where)
                    model.train(1, rows())

    def test_of_older_files_have_their_present_names(self):
        _, optimizer, model = self.made("RMSProp with momentum")
        model.train(1, rows())
        old = {name.replace("step_momentum", "momentum"): one for name, one in optimizer.states.items()}
        old["global_step"] = Parameter(Tensor(4, ms.int32), name="global_step")
        _, again, model = self.made("RMSProp with momentum")
        with self.warned() as errors:
            self.assertEqual(ms.load_param_into_net(again, old), ([], []))
        self.assertEqual(errors.getvalue(), "")
        for name, one in optimizer.states.items():
            self.close(again.states[name], one.asnumpy(), 0)
        _, other, _ = self.made("Momentum")
        plain = {"weight.momentum": old["weight.momentum"], "bias.momentum": old["bias.momentum"]}
        ms.load_param_into_net(other, plain)
        self.assertEqual(self.names(other), {"momentum"})


class Texts(Files):
    """Metadata of files of weights, which other programs and later versions write."""

    odd = (
        {"partita.config": "[training]\nnew_option = 3"},
        {"partita.config": "= ["},
        {"partita.losses": "many"},
        {"partita.config": "= [", "partita.losses": "many", "partita.kinds": "pet w", "partita.measures.": "x"},
    )

    def test_that_cannot_be_read_do_not_keep_weights_from_being_loaded(self):
        net = Small()
        for texts in self.odd:
            path = self.path("odd.ckpt")
            _core.save_arrays(path, [(one.name, one.array) for one in net.get_parameters()], texts)
            found = ms.load_checkpoint(path)
            self.assertEqual(set(found), {one.name for one in net.get_parameters()})
            ms.load_checkpoint(path, Small())

    def test_that_cannot_be_read_name_no_numbers(self):
        for texts in self.odd:
            path = self.path("odd.ckpt")
            numbers = {"checkpoint.loss_scale": [256.0, 0, 0], "checkpoint.learning_rate": 0.5}
            arrays = [(name, Tensor(np.array(values)).array) for name, values in numbers.items()]
            _core.save_arrays(path, arrays, texts)
            net = Small()
            optimizer = nn.Momentum(net.trainable_params(), 0.25, 0.9)
            with self.warned() as errors:
                ms.load_param_into_net(optimizer, ms.load_checkpoint(path))
                manager = amp.DynamicLossScaleManager(2**10)
                model = train.Model(net, nn.CrossEntropyLoss(), optimizer, loss_scale_manager=manager)
                model.train(1, rows())
            for got in ("got 0.5 of what it does not name in the file", "got 256 of what it does not name"):
                self.assertIn(f"[resume] {path}: the ", errors.getvalue())
                self.assertIn(got, errors.getvalue())
