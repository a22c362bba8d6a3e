"""Checkpoints of a training, written while it goes on."""

from __future__ import annotations

import fcntl
import glob
import os
import socket
import time
from collections.abc import Callable

from partita import _core
from partita._described import Described
from partita._names import refuse_missing
from partita._warnings import warn
from partita.communication import management as ranks
from partita.nn.cell import Cell
from partita.train.callback_base import Callback, RunContext
from partita.train.checkpoint_parts import DocumentedParts
from partita.train.serialization import append_to


class CheckpointConfig(Described):
    """When checkpoints are written, and how many are kept: after every `save_checkpoint_steps` steps, or
    `save_checkpoint_seconds` seconds; the last `keep_checkpoint_max` files, or one every
    `keep_checkpoint_per_n_minutes` minutes. 0 turns a rule off; ValueError if all are off, or one is negative.
    `integrated_save`: whole parameters, else the parts that this process holds. `append_info`: names and dicts of what
    is written besides, such as "epoch_num". `format`: "ckpt" or "safetensors"."""

    def __init__(
        self,
        save_checkpoint_steps: int = 1,
        save_checkpoint_seconds: int = 0,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_per_n_minutes: int = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: list | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = "ckpt",
    ):
        for name, value in (
            ("save_checkpoint_steps", save_checkpoint_steps),
            ("save_checkpoint_seconds", save_checkpoint_seconds),
            ("keep_checkpoint_max", keep_checkpoint_max),
            ("keep_checkpoint_per_n_minutes", keep_checkpoint_per_n_minutes),
        ):
            if value is not None and (not isinstance(value, int) or value < 0):
                raise ValueError(f"[CheckpointConfig] bad {name}, got {value!r}, expected an integer from 0")
        if not any(
            (save_checkpoint_steps, save_checkpoint_seconds, keep_checkpoint_max, keep_checkpoint_per_n_minutes)
        ):
            raise ValueError("[CheckpointConfig] nothing to save, got 0 for each, expected one above 0")
        if enc_key is not None:
            raise NotImplementedError("[CheckpointConfig] files cannot be encrypted, got enc_key, expected None")
        if saved_network is not None:
            raise NotImplementedError(
                "[CheckpointConfig] another network cannot be saved along, got "
                f"saved_network={type(saved_network).__name__}, expected None"
            )
        for name, value, default in (
            ("exception_save", exception_save, False),
            ("remove_redundancy", remove_redundancy, False),
        ):
            if value != default:
                warn(f"[CheckpointConfig] {name} has no effect here, got {value!r}")
        if format not in ("ckpt", "safetensors"):
            raise ValueError(f"[CheckpointConfig] unknown format, got {format!r}, expected ckpt or safetensors")
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = 0 if save_checkpoint_steps else save_checkpoint_seconds
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_per_n_minutes = 0 if keep_checkpoint_max else keep_checkpoint_per_n_minutes
        self.integrated_save, self.async_save, self.format = bool(integrated_save), bool(async_save), format
        self.append_dict = appended_by(append_info)
        if self.append_dict and async_save:
            raise ValueError(
                "[CheckpointConfig] append_info is written after a step, got async_save=True, expected False"
            )
        self.append_info, self.saved_network, self.enc_key, self.enc_mode = append_info, None, None, enc_mode


def appended_by(infos):
    """Returns the entries that files get besides: "epoch_num" and "step_num" with the numbers that a training begins
    with, and those of a dict. Raises TypeError for other lists, ValueError for other names."""
    found = {}
    if infos is not None and not isinstance(infos, list):
        raise TypeError(f"[CheckpointConfig] append_info is not a list, got {type(infos).__name__}, expected one")
    for one in infos or []:
        if isinstance(one, dict):
            found.update(one)
        elif one in ("epoch_num", "step_num"):
            found.setdefault(one, 0)
        else:
            raise ValueError(
                f"[CheckpointConfig] unknown append_info, got {one!r}, expected 'epoch_num', 'step_num' or a dict"
            )
    return found


def _is_started_again():
    """Whether a launcher says that it started this job before."""
    counts = [os.environ.get(name, "") for name in ("PARTITA_RUN", "SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT")]
    return any(count.isdecimal() and int(count) > 0 for count in counts)


class _OwnFolder:
    """A folder in which one process at a time writes files with a prefix: it holds the lock of a file there, which ends
    with the process and says which it is."""

    def __init__(self, directory, prefix):
        self._path, self._file = os.path.join(directory, f".{prefix}.process"), None

    def take(self):
        """A job that is started again waits, as the process of the attempt before may still be ending."""
        patience = float(os.environ.get("PARTITA_STALL_TIMEOUT", 30)) if _is_started_again() else 0
        self._end = time.monotonic() + patience
        while self._file is None:
            file = open(self._path, "a+")
            try:
                if not self._lock(file):
                    continue
            except OSError as error:
                warn(
                    f"[ModelCheckpoint] cannot lock '{os.path.dirname(self._path)}': {error.strerror}; another job "
                    "that writes there would go unnoticed"
                )
                self._file = file
                return
            if self._is_at_its_place(file):
                self._file = file
            else:  # its last holder has removed it meanwhile
                file.close()

    def _is_at_its_place(self, file):
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self._path))
        except FileNotFoundError:
            return False

    def _lock(self, file):
        """False: another process holds it, and this one is to try again."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                if time.monotonic() >= self._end:
                    self._refuse(file)
            time.sleep(0.02)
            return False
        file.truncate(0)
        file.write(f"{os.getpid()} on {socket.gethostname()} rank {_core.this_place().rank}")
        file.flush()
        return True

    def _refuse(self, file):
        file.seek(0)
        holder, _, rank = (file.read().strip() or "another").partition(" rank ")
        if _core.this_place().rank == 0 and rank == "0":
            error = RuntimeError(
                f"[ModelCheckpoint] another job writes to it, got '{os.path.dirname(self._path)}' held by process "
                f"{holder}, expected another folder or prefix, or that job to have ended"
            )
            error.exit_code = 73
            raise error
        raise ValueError(
            f"[ModelCheckpoint] parts of several ranks in one folder, got '{os.path.dirname(self._path)}' of "
            f"process {holder}, too, expected a folder for each, with get_rank() in its name"
        )

    def give_back(self):
        if self._file is not None:
            if self._is_at_its_place(self._file):  # the folder may have been removed
                os.remove(self._path)
            self._file.close()
            self._file = None


class ModelCheckpoint(DocumentedParts, Callback):
    """Writes PREFIX-EPOCH_STEP.ckpt into the folder `directory`, by default the current one, as `config` says, and
    removes the oldest beyond those to keep: whole tensors or, with `integrated_save=False`, what this process holds of
    them."""

    def __init__(
        self,
        prefix: str | Callable = "CKP",
        directory: str | Callable | None = None,
        config: CheckpointConfig | None = None,
    ):
        if not isinstance(prefix, str) or "/" in prefix:
            raise ValueError(f"[ModelCheckpoint] bad prefix, got {prefix!r}, expected a name without '/'")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(
                f"[ModelCheckpoint] not a configuration, got {type(config).__name__}, expected CheckpointConfig"
            )
        self.prefix, self.directory = prefix, os.fspath(directory or ".")
        self.config = config or CheckpointConfig()
        self._files, self._folder = [], None
        self._unfinished = []  # (a file, what is to be appended to it once it is there)
        self._replaced = []  # (a file beyond those to keep, the one to be written before it is removed)
        self._begin_parts()

    @property
    def latest_ckpt_file_name(self) -> str:
        return self._files[-1] if self._files else self._latest_ckpt_file_name or None

    def on_train_begin(self, run_context: RunContext) -> None:
        os.makedirs(self.directory, exist_ok=True)
        self._take_folder()
        self._saved_at, self._saved_step, self._kept_at = 0, None, 0
        self._first_step = run_context.original_args().cur_step_num

    def _take_folder(self):
        """Whole files are the same for all ranks: the first keeps other jobs out. Of parts each rank has a folder."""
        while True:
            if not self._files:
                self.prefix = self._free_prefix()
            if ranks.is_process() and _core.this_place().rank > 0 and self.config.integrated_save:
                return
            self._folder = _OwnFolder(self.directory, self.prefix)
            self._folder.take()
            if self._files or self._free_prefix() == self.prefix:
                return
            self.give_back()  # its last holder has written files meanwhile

    def _free_prefix(self):
        """The prefix, with "_NUMBER" appended if the folder already has files with this prefix."""
        number, prefix = 0, self.prefix
        while glob.glob(os.path.join(glob.escape(self.directory), f"{glob.escape(prefix)}-*_*.{self.config.format}")):
            number += 1
            prefix = f"{self.prefix}_{number}"
        return prefix

    def on_train_step_end(self, run_context: RunContext) -> None:
        args, config = run_context.original_args(), self.config
        if self._writes_itself:
            self._save_ckpt(args)
            return
        self._remove_replaced()
        # In sink mode the last step of each epoch is seen alone.
        begin, every = self._saved_step or self._first_step, config.save_checkpoint_steps
        by_steps = every and args.cur_step_num // every > begin // every
        by_time = config.save_checkpoint_seconds and args.elapsed - self._saved_at >= config.save_checkpoint_seconds
        if by_steps or by_time or args.cur_step_num == args.last_step:
            self._save(args)

    def save_last(self, run_context: RunContext):
        """Saves the last step of a training that ends early."""
        args = run_context.original_args()
        if args.cur_step_num and self._writes_itself:
            self._save_ckpt(args, True)
        elif args.cur_step_num:
            self._save(args)

    def on_train_end(self, run_context: RunContext) -> None:
        if self._writes_itself:
            self._save_ckpt(run_context.original_args(), True)
        self._remove_replaced()
        self.give_back()

    def give_back(self):
        """Releases the folder, so that other trainings may write into it."""
        if self._folder is not None:
            self._folder.give_back()
            self._folder = None

    def _save(self, args):
        if self._saved_step == args.cur_step_num:
            return
        step = (args.cur_step_num - 1) % args.batch_num + 1
        path = os.path.join(self.directory, f"{self.prefix}-{args.cur_epoch_num}_{step}.{self.config.format}")
        args.save_checkpoint(path, not self.config.integrated_save, self.config.async_save)
        if self.config.append_dict and (self._is_own_part or _core.this_place().rank == 0):
            taken = {"epoch_num": args.cur_epoch_num, "step_num": args.cur_step_num}
            counted = {name: one + taken.get(name, 0) if name in taken else one for name, one in self._appended()}
            self._unfinished.append((path, counted))
        self._saved_at, self._saved_step = args.elapsed, args.cur_step_num
        self._files = [one for one in self._files if one != path] + [path]
        self._replace_old(args.elapsed)

    @property
    def _is_own_part(self):
        """Whether each process writes a file of its own."""
        return not self.config.integrated_save

    def _appended(self):
        return self.config.append_dict.items()

    def _finish(self):
        """Appends what `append_info` asks for to the files that were written since."""
        waiting = []
        for path, appended in self._unfinished:
            if os.path.exists(path):
                append_to(path, appended)
            else:
                waiting.append((path, appended))
        self._unfinished = waiting

    def _replace_old(self, elapsed):
        config = self.config
        if config.keep_checkpoint_per_n_minutes:
            if len(self._files) > 1 and elapsed - self._kept_at < 60 * config.keep_checkpoint_per_n_minutes:
                self._replaced.append((self._files.pop(-2), self._files[-1]))
            else:
                self._kept_at = elapsed
        while config.keep_checkpoint_max and len(self._files) > config.keep_checkpoint_max:
            self._replaced.append((self._files.pop(0), self._files[-1]))

    def _remove_replaced(self):
        """Removes old files whose successors exist. Files are written after the callbacks of a step, or in the
        background, so old ones stay until then."""
        self._finish()
        waiting = []
        for old, new in self._replaced:
            if not os.path.exists(new):
                waiting.append((old, new))
                continue
            try:
                os.remove(old)
            except FileNotFoundError:
                pass  # by another process that shares the folder
        self._replaced = waiting


__getattr__ = refuse_missing(globals())
