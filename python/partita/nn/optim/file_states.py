"""The states of optimizers in files."""

import math

from partita._names import refuse_missing
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell_state import _IncompatibleKeys
from partita.nn.optim import documented_states

_RATE = "checkpoint.learning_rate"
_OF_SCRIPT = "update of "  # begins the names of optimizers that a script defines


def _origin(one):
    """(name of what a number of a file measures, the file), "" where they are not known."""
    return (getattr(one, "measures", None) or ("", ""))[:2]


def _is_named_by_its_file(one):
    """Whether the file of a number says what it measures, rather than the configuration in it."""
    return (getattr(one, "measures", None) or (False,))[-1] is True


def _where(path):
    return f"{path}: " if path else ""


def _numbers(one, count, what, expected):
    """The numbers of a tensor of a file. Raises ValueError unless there are `count`, all of them finite."""
    numbers = [float(number) for number in one.asnumpy().reshape(-1)]
    if len(numbers) == count and all(map(math.isfinite, numbers)):
        return numbers
    got = ", ".join(f"{number:g}" for number in numbers) if 0 < len(numbers) < 5 else f"{len(numbers)} numbers"
    raise ValueError(f"[resume] {_where(_origin(one)[1])}a bad {what}, got {got}, expected {expected}")


class FileStates:
    """The part of an optimizer that keeps its states, and exchanges them with files."""

    def state(self, name, array=None):
        """The state of a name as a parameter, which all programs share; with an array it gets this value."""
        if name not in self.states:
            self.states[name] = Parameter(Tensor(array if array is not None else 0.0), name, requires_grad=False)
        elif array is not None:
            self.states[name]._take(array)
        return self.states[name]

    @property
    def kept_by(self):
        """The optimizer whose states files have: another one if this only changes gradients for it."""
        return self

    def get_parameters(self, expand=True):
        """The states, and the number of steps taken, as files keep them."""
        count = int(self.global_step)
        count = [count] if self.updates_itself() else count  # as the states that its script made
        steps = Parameter(Tensor(count, mstype.int32), "global_step", requires_grad=False)
        return iter([*self.states.values(), *self.own_states().values(), steps])

    def _stated(self):
        keeps = self.kept_by
        return [(one.name, one) for one in keeps.get_parameters()] + list(keeps.saved_numbers()[0])

    def load_state_dict(self, state_dict: dict, strict: bool = True) -> tuple[list[str], list[str]]:
        """Takes states by the names of `state_dict`, or of a file, as `load_param_into_net` does, and returns
        (missing_keys, unexpected_keys). Raises RuntimeError for unexpected names if `strict`."""
        if not hasattr(state_dict, "items"):
            raise TypeError(f"[Optimizer.load_state_dict] not a dict, got {type(state_dict).__name__}, expected one")
        state = dict(state_dict)
        rate = state.get(_RATE)
        if rate is not None and not _origin(rate)[0]:  # that of this optimizer, as `state_dict` has it
            state[_RATE] = Parameter(rate if isinstance(rate, Tensor) else Tensor(rate), _RATE, requires_grad=False)
            state[_RATE].measures = self.kept_by._rate_name, "", True
        unused = self.kept_by.take_states(state)
        if strict and unused:
            raise RuntimeError(
                f"[Optimizer.load_state_dict] unexpected keys, got {unused}, expected those of state_dict"
            )
        return _IncompatibleKeys([], unused)

    def take_states(self, given):
        """States of a file, by their names, and the steps that were taken; gives the names that are none of these."""
        shapes, unused = {one.name: one.shape for one in self.parameters}, []
        given, documented = documented_states.in_own_names(self, given, shapes)
        kept, other = self.kept_states(), self._other_optimizer(given)
        given = self._take_own_states(given)
        for name, one in given.items():
            if isinstance(one, str):
                unused.append(name)
                continue
            one = one if isinstance(one, Tensor) else Tensor(one)
            head, _, last = name.rpartition(".")
            last = self._present_name(head, last, given)
            if name == _RATE:
                self._take_rate(one)
            elif name == "checkpoint.loss_scale":
                self._take_scale(one)
            elif name == "learning_rate":
                self._take_documented_rate(one)
            elif name == "global_step":
                self.__dict__["global_step"] = int(_numbers(one, 1, "number of steps", "one")[0])
            elif name == "checkpoint.position":
                _numbers(one, 4, "position", "a step, a batch, a number of rows and a seed")
                self.__dict__["global_step"] = int(one.asnumpy()[0])
            elif other or name in shapes:
                unused.append(name)
            elif name == "step" and (self.is_composed or self.counts_steps):
                self.state(name, one.array.copy())
            elif head in shapes and (kept is None or last in kept):
                if not self._fits(one.shape, shapes[head], last):
                    raise RuntimeError(
                        f"[{type(self).__name__}] '{documented.get(name, name)}' is of another shape, got "
                        f"{one.shape}, expected {shapes[head]}"
                    )
                self.state(f"{head}.{last}", one.array.copy())
            else:
                unused.append(name)
        unused = [documented.get(name, name) for name in unused]
        self._say_what_begins_anew(unused, shapes, other, self._optimizer_of(given))
        return unused

    def _take_documented_rate(self, one):
        """Takes the learning rate of a checkpoint of MindSpore, or those of all steps if the script has as many. Raises
        ValueError if one is not finite."""
        rates = _numbers(one, max(1, one.size), "learning rate", "finite numbers")
        if len(rates) == len(self.learning_rates):
            self.learning_rate = rates if len(rates) > 1 else rates[0]
            self.__dict__["loaded_rate"] = self.rate_of(self.global_step)

    def _fits(self, shape, of_parameter, last):
        """Whether a state may have this shape: that of its parameter, where states that only some parameters have may
        be means over dimensions, which then have the size 1."""
        if last not in self.partial_states():
            return shape == of_parameter
        return len(shape) == len(of_parameter) and all(own in (1, size) for own, size in zip(shape, of_parameter))

    def _take_rate(self, one):
        """Takes the learning rate of the next step from a file, which has none if it is below 0. Rates that are given
        for each step are those of the script, but for the first one, which a callback may have set. Warns of a rate of
        another optimizer, and leaves it. Raises ValueError if it is not a number."""
        rate = _numbers(one, 1, "learning rate", "a finite number")[0]
        if rate < 0:
            return
        measures, path = _origin(one)
        of_file = measures.partition(",")[0]  # "adam, constant 0.01" in checkpoints of trainings
        # The configuration in older files has "adam" for all optimizers that are composed of ops.
        may_be_own = self.is_named_by_class and of_file == "adam" and not _is_named_by_its_file(one)
        if of_file not in (self._rate_name, self.name_in_files) and not may_be_own:
            warn(
                f"[resume] {_where(path)}the learning rate is that of the optimizer, got {rate} of "
                f"{of_file or 'what it does not name'} in the file, expected one of {self._rate_name}"
            )
            return
        if not self.is_scheduled:
            self.learning_rate = rate
        self.__dict__["loaded_rate"] = rate

    def _take_scale(self, one):
        """Takes the scale of the loss of the next training from a file. Raises ValueError unless it has 3 numbers."""
        numbers = _numbers(one, 3, "loss scale", "a number from 1 and two counts")
        self.__dict__["loaded_scale"] = self.__dict__["_scale_after"] = (*numbers, *_origin(one))

    def _forget_loaded(self):
        self.__dict__["loaded_rate"] = self.__dict__["loaded_scale"] = None

    def end_training(self, loss_scale):
        """Called after a training of Model, with its scale of the loss and what that measures."""
        self._forget_loaded()
        self.__dict__["_scale_after"] = loss_scale

    def saved_numbers(self):
        """Returns the numbers that files keep next to the states, as (name, tensor), and their metadata."""
        numbers, texts = [], {"partita.measures.optimizer": self.name_in_files}
        if not self.is_scheduled:
            rate = Parameter(Tensor(self.rate_of(0), mstype.float64), _RATE, requires_grad=False)
            numbers.append((rate.name, rate))
            texts["partita.measures.learning_rate"] = self._rate_name
        if self._scale_after is not None:
            *scale, measures, _ = self._scale_after
            one = Parameter(Tensor(scale, mstype.float64), "checkpoint.loss_scale", requires_grad=False)
            numbers.append((one.name, one))
            texts["partita.measures.loss_scale"] = measures
        return numbers, texts

    @property
    def name_in_files(self):
        """The name that files have of the optimizer. One defined by a script is marked: it names its states itself."""
        is_own = type(self).__module__.partition(".")[0] == "partita"
        return ("" if is_own else _OF_SCRIPT) + type(self).__name__

    @property
    def _rate_name(self):
        """The name of the optimizer that measures of learning rates begin with."""
        if self.is_named_by_class:
            return self.name_in_files
        try:
            return self.options()["optimizer.kind"]
        except NotImplementedError:  # loops of a script's own call it
            return self.name_in_files

    def _other_optimizer(self, given):
        """The name of the optimizer that the file is of, if its states may measure something else by the same names."""
        of_file, own = self._optimizer_of(given), self.name_in_files
        are_of_script = of_file.startswith(_OF_SCRIPT) or own.startswith(_OF_SCRIPT)
        return of_file if of_file and are_of_script and of_file != own else ""

    def _optimizer_of(self, given):
        """The name of the optimizer that the file is of, "" where it is not known."""
        states = (one for name, one in given.items() if not name.startswith("checkpoint."))
        found = {one.measures[0] for one in states if getattr(one, "measures", None)} - {""}
        return next(iter(found), "")

    def _present_name(self, head, last, given):
        """The name of a state, of one that older files have under another name the present one."""
        present, other = self.renamed.get(last, (last, None))
        return present if other is None or f"{head}.{other}" in given else last

    documented = {}  # name of a state: what precedes the parameter's name in checkpoints of MindSpore
    renamed = {}  # name in older files: (present name, another state in files of this optimizer)

    def _say_what_begins_anew(self, unused, shapes, other, of_file):
        """Warns if the file has states of these parameters, but not all that the updates keep. Where the network
        decides which states a parameter has, those of another optimizer are not known to be all."""
        left = [name for name in unused if documented_states.parameter_of(name, shapes) and name not in shapes]
        taken = [name for name in self.states if name.rpartition(".")[0] in shapes]
        kept = self.kept_states()
        missing = self._missing(shapes, kept or ())
        are_unknown = other and kept is None
        may_differ = bool(self.partial_states()) and of_file not in ("", self.name_in_files, self._rate_name)
        if may_differ and taken and not missing:
            missing = [f"those of {type(self).__name__}"]
        if not (are_unknown or missing and (left or taken or not unused)):
            return  # of a file without states of these parameters the caller says so
        got = left[0] + (f" of {other}" if other else "") if left else taken[0] if taken else "none"
        expected = missing[0] if missing else f"those of {type(self).__name__}"
        warn(f"[load_param_into_net] states of {type(self).__name__} begin anew, got {got}, expected {expected}")

    def _missing(self, parameters, kept):
        """The states that parameters should have, and do not."""
        partial = self.partial_states()
        always = [f"{one}.{last}" for one in parameters for last in kept if last not in partial]
        missing = [name for name in always if name not in self.states]
        if partial:
            bare = (one for one in parameters if not any(f"{one}.{last}" in self.states for last in partial))
            missing += [f"{one}.{partial[0]}" for one in bare]
        return missing

    def partial_states(self):
        """Names of the kept states that only some parameters have; each parameter has at least one of them."""
        return ()

    def kept_states(self):
        """Names of the states that the update keeps for each parameter; None if a script's update chooses them. One
        name measures the same in all optimizers of the package."""
        return None


__getattr__ = refuse_missing(globals())
