"""Streams and events: there is one stream, and results are there when calls return."""

import time

from partita import context


class Stream:
    """The stream of the process. Calls return when their results are there, so nothing has to be waited for."""

    def __init__(self, priority=0, **kwargs):
        if not isinstance(priority, int) or isinstance(priority, bool):
            raise TypeError(f"[Stream] priority is not an integer, got {priority!r}, expected one")
        self.id, self.device_id = 0, context.get_context("device_id")
        self.device_name = context.get_context("device_target")

    def record_event(self, event=None):
        """Notes that the calls so far are done, in an event, and returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Returns at once: the calls before the event are done."""
        _require("wait_event", event, Event)

    def wait_stream(self, stream):
        """Returns at once: the calls of the stream are done."""
        _require("wait_stream", stream, Stream)

    def synchronize(self):
        """Returns at once: all calls are done."""

    def query(self):
        """Whether all calls are done: they are."""
        return True

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.id, self.device_id) == (other.id, other.device_id)

    def __hash__(self):
        return hash((self.id, self.device_id))

    def __repr__(self):
        return f"Stream(device_name={self.device_name}, device_id:{self.device_id}, stream id:{self.id})"


def _require(where, value, kind):
    if not isinstance(value, kind):
        raise TypeError(f"[{where}] bad argument, got {type(value).__name__}, expected {kind.__name__}")


class Event:
    """A point in the calls of the process. With `enable_timing` two of them have a time between them."""

    def __init__(self, enable_timing=False, blocking=False):
        for name, value in (("enable_timing", enable_timing), ("blocking", blocking)):
            if not isinstance(value, bool):
                raise TypeError(f"[Event] {name} is not a bool, got {value!r}, expected True or False")
        self._timed, self._blocking, self._at = enable_timing, blocking, None

    def record(self, stream=None):
        """Notes that the calls so far are done."""
        self._at = time.perf_counter()

    def wait(self, stream=None):
        """Returns at once: the calls before the event are done."""

    def synchronize(self):
        """Returns at once: the calls before the event are done."""

    def query(self):
        """Whether the calls before the event are done: they are."""
        return True

    def elapsed_time(self, end_event):
        """The milliseconds from this event to another one. Raises RuntimeError unless both were recorded, with
        `enable_timing`."""
        if not (self._timed and end_event._timed) or None in (self._at, end_event._at):
            raise RuntimeError(
                "[Event] there is no time, got an event without record or enable_timing, expected Event("
                "enable_timing=True) that record was called of"
            )
        return (end_event._at - self._at) * 1000

    def __repr__(self):
        flags = int(self._timed), int(self._blocking), int(self._at is not None)
        return "Event(enable_timing={}, blocking:{}, is_created:{})".format(*flags)


class StreamCtx:
    """A context whose calls are of a stream: there is one."""

    def __init__(self, ctx_stream):
        if ctx_stream is not None:
            _require("StreamCtx", ctx_stream, Stream)
        self.stream = ctx_stream

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def synchronize():
    """Returns at once: results are there when calls return."""


def current_stream():
    """The stream of the process."""
    return Stream()


default_stream = communication_stream = current_stream


def set_cur_stream(stream):
    """Kept, without effect: there is one stream. Raises TypeError for what is none."""
    if stream is not None:
        _require("set_cur_stream", stream, Stream)


NAMES = (
    "Event Stream StreamCtx communication_stream current_stream default_stream set_cur_stream synchronize".split()
)
