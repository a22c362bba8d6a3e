"""Whether processes that run a program together have recorded the same step."""

import hashlib
import types

import numpy as np

from partita import _core
from partita._captured import Same

_RANKS_DISAGREE = 78  # the exit code (docs/reference/errors.md)


def digest_of(*parts):
    """63 bits of parts that print the same in all processes."""
    text = repr(parts).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def stable(key):
    """A key of a call without what differs between processes: identities of objects."""
    if isinstance(key, (tuple, list)):
        return tuple(stable(one) for one in key)
    if isinstance(key, Same):
        return type(key.value).__name__
    if isinstance(key, types.CodeType):
        return getattr(key, "co_qualname", key.co_name)  # the first is new in Python 3.11
    if callable(key):
        return getattr(key, "__qualname__", type(key).__name__)
    return repr(key)


def _gathered(numbers, dtype=np.int64):
    """The numbers of each process, which may be of different counts."""
    own = np.asarray(numbers, dtype).reshape(-1)
    counts = _all(np.asarray([len(own)]))
    padded = np.zeros(max(1, int(counts.max())), dtype)
    padded[: len(own)] = own
    rows = _all(padded).reshape(len(counts), -1)
    return [row[:count] for row, count in zip(rows, counts)]


def _all(numbers):
    return np.asarray(_core.collective("all_gather", "world", _core.Array(numbers), "sum", 0))


def agree(step, asked, is_beginning, digest=None):
    """Called by all processes before a program of a step runs. Returns what is asked for in any of them. Numbers that
    differ between processes, or that vary in one, vary in all from now on. Raises RuntimeError, with the lines of both,
    if processes have recorded different calls, or need values at different places; ValueError if a number that differs
    reaches a parameter."""
    externals = step.externals()
    flags = [one.varies for one in externals]
    numbers = [one.value for one in externals if one.value.__class__ is float and not one.varies]
    shared = _shared(step, externals)
    structure = digest_of(digest or step.call.digest, is_beginning, step.beginnings)
    own = [structure, digest_of(asked), digest_of(flags, numbers), digest_of(shared)]
    rows = _all(np.asarray(own)).reshape(-1, len(own))
    if (rows[:, 0] != structure).any():
        raise _different_calls(step, is_beginning)
    if (rows[:, 1] != own[1]).any():
        asked = tuple(sorted({int(slot) for slots in _gathered(asked) for slot in slots}))
    if (rows[:, 2] != own[2]).any():
        _vary_together(externals)
        return agree(step, asked, is_beginning, digest)
    if (rows[:, 3] != own[3]).any():
        raise _different_numbers(step, shared)
    return asked


def _vary_together(externals):
    values = [one.value if one.value.__class__ is float and not one.varies else 0.0 for one in externals]
    rows = zip(_gathered([one.varies for one in externals]), _gathered(values, np.float64))
    together = [(flags, numbers.view(np.int64)) for flags, numbers in rows]
    for i, one in enumerate(externals):
        seen = {(int(flags[i]), int(numbers[i])) for flags, numbers in together}
        if len(seen) > 1 and not one.is_parameter:
            one.varies = True
            one.value = one.value if one.value.__class__ is float else None


def _shared(step, externals):
    """(number of the value, its digits) of all that varies and that all processes must have alike: what reaches
    parameters other than by gradients over rows."""
    reach = _reaching(step)
    found = []
    for i in sorted(reach):
        one, value = externals[-1 - i], step.values[-1 - i]
        if one.varies and not one.is_argument:
            digits = value if value.__class__ is float else np.asarray(value.array.cast("f64")).tobytes()
            found.append((-1 - i, digits))
    return found


def _reaching(step):
    """Slots of externals that reach updates other than through a differentiation."""
    reach = step.call.reaching
    if reach is None:
        wanted = set()
        for call in reversed(step.calls):
            is_wanted = any(one.slot in wanted for one in call.results)
            if call.updates_states or (is_wanted and call.key != "differentiate"):
                wanted |= set(call.slots)
        reach = step.call.reaching = frozenset(slot for slot in wanted if slot < 0)
    return reach


def _different_calls(step, is_beginning):
    """The error of processes whose calls differ."""
    calls = [*step.calls]
    rows = _gathered([call.digest for call in calls])
    least = min(len(row) for row in rows)
    at = next((i for i in range(least) if len({int(row[i]) for row in rows}) > 1), least)
    if at < len(calls):
        text = f"'{calls[at].name}' at {calls[at].line[0]}:{calls[at].line[1]}"
    else:
        last = f" after {calls[-1].line[0]}:{calls[-1].line[1]}" if calls else ""
        text = ("a value that Python needs" if is_beginning else "the end of the step") + last
    texts = [bytes(row).decode(errors="replace") for row in _gathered(list(text.encode()), np.uint8)]
    other = next((i for i, one in enumerate(texts) if one != texts[0]), None)
    if other is None:
        error = RuntimeError(
            f"[step] processes have recorded different steps, got different operands of {texts[0]}, expected the same"
        )
    else:
        error = RuntimeError(
            f"[step] processes have recorded different steps, got {texts[other]} on rank {other}, expected {texts[0]} "
            "as on rank 0"
        )
    error.exit_code = _RANKS_DISAGREE
    return error


def _different_numbers(step, shared):
    own = np.asarray([digest_of(one) for one in shared])
    rows = _gathered(own)
    at = next((i for i in range(len(own)) if len({int(row[i]) for row in rows}) > 1), 0)
    number = shared[at][0]
    line = next((call.line for call in step.calls if -1 - number in call.slots), ("", 0))
    value = step.values[number]
    error = ValueError(
        f"[step] a value that reaches parameters differs between processes at {line[0]}:{line[1]}, got "
        f"{value if value.__class__ is float else 'another tensor'} on rank {_core.this_place().rank}, expected the "
        "same on all ranks: draw it from a generator with the same seed, or broadcast it"
    )
    error.exit_code = _RANKS_DISAGREE
    return error

