"""Renders conversations by a chat template, which is a program in Jinja, as the library transformers does.

Reads lines of JSON and answers each with one. The first line has the template, each other one a conversation:
    {"template": "..", "tool_template": "..", "tokens": {"bos_token": "<s>"}, "seconds": 5}  ->  {}
    {"conversation": "[..]"}                                                                 ->  {"text": ".."}
    {"conversation": "[..]", "targets": true}                                                ->  {"parts": ["..", ".."]}
"parts" are texts that make the whole conversation, and every second one is what the assistant says. An answer is
{"missing": ".."} if Jinja is not installed, {"refused": ".."} if the template refuses the conversation, and
{"failed": ".."} for all that goes wrong while it is read or run.

The template comes with a model of other people. It runs in Jinja's sandbox, within limits of time and of memory, and
no file can grow.
"""
import sys

sys.path = [folder for folder in sys.path if folder]  # no modules of the working folder

import datetime
import json
import resource
import signal
import traceback

MAX_MEMORY = 1 << 31  # address space in bytes
MAX_MESSAGE = 500  # characters of a message
TEMPLATE = "<template>"  # name of the template in a traceback


class Refused(Exception):
    """The template called raise_exception."""


def raise_exception(message):
    raise Refused(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    """The filter tojson without the escapes that pages of the web need."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(form):
    return datetime.datetime.now().strftime(form)


def environment():
    """An environment with what templates of chats use. Raises ImportError if Jinja is not there, or too old."""
    import jinja2
    import jinja2.ext
    import jinja2.sandbox

    if not hasattr(jinja2, "pass_context"):  # since 3.0
        raise ImportError(f"Jinja {getattr(jinja2, '__version__', '')} is too old")

    class Generation(jinja2.ext.Extension):
        """{% generation %} .. {% endgeneration %}: what the assistant says, rendered as it stands."""

        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            return jinja2.nodes.Scope(parser.parse_statements(["name:endgeneration"], drop_needle=True), lineno=line)

    found = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation]
    )
    found.filters["tojson"] = to_json
    found.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return found


def set_limits():
    for kind, limit in ((resource.RLIMIT_AS, MAX_MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        highest = resource.getrlimit(kind)[1]
        limit = limit if highest == resource.RLIM_INFINITY else min(limit, highest)
        resource.setrlimit(kind, (limit, limit))


def conversation_of(text):
    """The messages and the tools of a list of messages, or of an object that has one."""
    found = json.loads(text)
    return (found, None) if isinstance(found, list) else (found["messages"], found.get("tools"))


def parts_of(render, messages):
    """The whole text in parts, and every second one is what the assistant says. Raises Refused if the text of the
    messages up to one is not the begin of the whole."""
    whole = render(messages, False)
    parts, done = [], 0
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        for prefix in (render(messages[:i], True), render(messages[: i + 1], False)):
            if not whole.startswith(prefix) or len(prefix) < done:
                raise Refused(f"the text up to message {i + 1} is another one if more messages follow")
            parts.append(whole[done : len(prefix)])
            done = len(prefix)
    return [*parts, whole[done:]]


def message_of(error):
    """One line that says what went wrong, and in which line of the template."""
    line = getattr(error, "lineno", None)
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == TEMPLATE:
            line = frame.lineno
    text = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_MESSAGE]
    return text if line is None else f"{text} (line {line})"


class Renderer:
    """Answers lines. The first one gives the template."""

    def __init__(self):
        self.template, self.tool_template, self.tokens, self.seconds = None, None, {}, 1

    def answer(self, request):
        if self.template is None:
            jinja = environment()
            set_limits()
            # Ends the process by a signal whatever it does, after this time of the processor.
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            self.tokens, self.seconds = request["tokens"], request["seconds"]
            signal.setitimer(signal.ITIMER_PROF, self.seconds)
            self.template = jinja.from_string(request["template"])
            self.tool_template = jinja.from_string(request.get("tool_template", request["template"]))
            return {}
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        messages, tools = conversation_of(request["conversation"])

        def render(shown, begins_answer):
            return (self.template if tools is None else self.tool_template).render(
                messages=shown, tools=tools, documents=None, add_generation_prompt=begins_answer, **self.tokens
            )

        if request.get("targets"):
            return {"parts": parts_of(render, messages)}
        return {"text": render(messages, True)}


def main():
    renderer = Renderer()
    while line := sys.stdin.buffer.readline():
        try:
            answer = renderer.answer(json.loads(line))
        except ImportError as error:
            answer = {"missing": " ".join(str(error).split())[:MAX_MESSAGE]}
        except Refused as error:
            answer = {"refused": " ".join(str(error).split())[:MAX_MESSAGE]}
        except Exception as error:  # whatever a template does
            answer = {"failed": message_of(error)}
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
