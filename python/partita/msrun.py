"""Runs a script that imports the documented system: `python -m partita.msrun SCRIPT [ARGUMENTS]`.

In the script, `mindspore` and its modules are those of this package, and its `__version__` is that of the interface.
With --worker_num N above 1, and if no launcher has started this process, mpirun starts the script as N processes."""

import argparse
import importlib
import importlib.abc
import importlib.util
import os
import runpy
import shutil
import sys

from partita import _core
from partita._places import PLACES
from partita._warnings import warn
from partita.version import INTERFACE

ALIAS = "mindspore"


class _Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the package under the other name: each is one module, whatever it is called."""

    def find_spec(self, name, path=None, target=None):
        if name != ALIAS and not name.startswith(ALIAS + "."):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        name = spec.name[len(ALIAS) + 1 :]
        own = f"partita.{PLACES.get(name, name)}" if name else "partita"
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name != own:
                raise
            raise ModuleNotFoundError(
                f"[msrun] no such module, got '{spec.name}', expected one that partita has", name=spec.name
            ) from None
        self._kept = module.__spec__, module.__name__, getattr(module, "__loader__", None)
        return module

    def exec_module(self, module):
        """The import system has written the other name into the module: writes its own back."""
        module.__spec__, module.__name__, module.__loader__ = self._kept
        if module.__name__ in ("partita", "partita.version"):
            module.__version__ = INTERFACE  # which scripts ask for what there is
        sys.modules[ALIAS + module.__name__[len("partita") :]] = module


def install():
    """From here on `import mindspore` imports this package."""
    if not any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())


def _parser():
    parser = argparse.ArgumentParser(prog="python -m partita.msrun", description=__doc__.splitlines()[0])
    parser.add_argument("--worker_num", type=int, default=1, help="processes of the job")
    parser.add_argument("--local_worker_num", type=int, default=None, help="of these, on this host")
    parser.add_argument("--master_addr", default="127.0.0.1")
    parser.add_argument("--master_port", type=int, default=8118)
    parser.add_argument("--node_rank", type=int, default=-1)
    parser.add_argument("--log_dir", default="", help="a folder for what each process prints")
    parser.add_argument("--join", default="False")
    parser.add_argument("--cluster_time_out", type=int, default=600)
    parser.add_argument("--bind_core", default="False")
    parser.add_argument("--rank_table_file", default="")
    parser.add_argument("--tail_worker_log", default="-1")
    parser.add_argument("--worker_log_name", default="")
    parser.add_argument("--sim_level", type=int, default=-1)
    parser.add_argument("--sim_rank_id", type=int, default=-1)
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _tell_place(place):
    """Sets the variables in which the documented launcher tells the processes of a job who they are, unless they are
    set."""
    if place.ranks > 1:
        told = {"RANK_ID": place.rank, "RANK_SIZE": place.ranks, "DEVICE_ID": place.local_rank}
        for name, value in {**told, "MS_NODE_ID": place.rank, "MS_WORKER_NUM": place.ranks}.items():
            os.environ.setdefault(name, str(value))


def main():
    flags = _parser().parse_args()
    local = flags.local_worker_num or flags.worker_num
    if flags.worker_num < 1:
        sys.exit(f"[msrun] bad worker_num, got {flags.worker_num}, expected an integer from 1")
    if local != flags.worker_num or flags.sim_level >= 0 or flags.rank_table_file:
        sys.exit(
            "[msrun] other hosts, simulations and rank tables are not supported, got --local_worker_num, --sim_level "
            "or --rank_table_file, expected mpirun with a hostfile"
        )
    if flags.node_rank > 0:
        sys.exit(
            f"[msrun] a job on several hosts is not supported, got --node_rank {flags.node_rank}, expected mpirun with "
            "a hostfile"
        )
    for name in ("join", "cluster_time_out", "bind_core", "tail_worker_log", "worker_log_name"):
        if str(getattr(flags, name)) != str(_parser().get_default(name)):
            warn(f"[msrun] --{name} has no effect here, got {getattr(flags, name)}")
    if flags.worker_num > 1 and _core.this_place().ranks == 1:
        if shutil.which("mpirun") is None:
            sys.exit("[msrun] no launcher, got no mpirun in PATH, expected Open MPI")
        output = ["--output-filename", flags.log_dir] if flags.log_dir else []
        os.execvp(
            "mpirun",
            [
                "mpirun",
                "-n",
                str(flags.worker_num),
                *output,
                sys.executable,
                "-m",
                "partita.msrun",
                flags.script,
                *flags.arguments,
            ],
        )
    _tell_place(_core.this_place())
    install()
    sys.argv = [flags.script, *flags.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(flags.script)))
    runpy.run_path(flags.script, run_name="__main__")


if __name__ == "__main__":
    main()
