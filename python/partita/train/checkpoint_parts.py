"""The parts of ModelCheckpoint that subclasses of scripts use, such as the monitors of client libraries, which write
files by a method `_save_ckpt` of their own."""

import glob
import os
import time


class Files:
    """The files of a prefix in a folder, the oldest first."""

    def __init__(self):
        self._paths = []

    @property
    def ckpoint_num(self):
        """Number of the files."""
        return len(self._paths)

    @property
    def ckpoint_filelist(self):
        """Paths of the files."""
        return list(self._paths)

    def update_ckpoint_filelist(self, directory, ckpt_prefix):
        """Looks for the files."""
        found = glob.glob(os.path.join(glob.escape(directory), f"{glob.escape(ckpt_prefix)}-*_*.ckpt"))
        self._paths = sorted(found, key=os.path.getmtime)

    def remove_oldest_ckpoint_file(self):
        """Removes the oldest file."""
        if self._paths:
            self._remove(self._paths[0])

    def keep_one_ckpoint_per_minutes(self, minutes, cur_time):
        """Removes the files of the last minutes but the oldest one of them."""
        recent = [one for one in self._paths if cur_time - os.path.getmtime(one) < 60 * minutes]
        for one in recent[1:]:
            self._remove(one)

    def _remove(self, path):
        self._paths.remove(path)
        if os.path.exists(path):
            os.remove(path)


class DocumentedParts:
    """Attributes that a `_save_ckpt` of a script's own reads. `prefix`, `directory` and `config` are those of
    ModelCheckpoint."""

    _need_flush_from_cache = False  # there are no parameter servers
    _directory = property(lambda self: self.directory)
    _prefix = property(lambda self: self.prefix)
    _config = property(lambda self: self.config)

    def _begin_parts(self):
        """Sets what changes from file to file."""
        self._manager, self._latest_ckpt_file_name = Files(), ""
        self._last_triggered_step, self._last_time = 0, time.time()
        self._last_time_for_keep = self._last_time
        infos = self.config.append_info or []
        self._append_dict = {name: one for info in infos if isinstance(info, dict) for name, one in info.items()}
        self._append_step_num = int(self._append_dict.get("step_num", 0))

    @property
    def _writes_itself(self):
        """Whether a method of a script's own writes the files."""
        return hasattr(type(self), "_save_ckpt")

    def _check_save_ckpt(self, cb_params, force_to_save):
        """Whether a file is to be written after this step."""
        steps, seconds = self.config.save_checkpoint_steps, self.config.save_checkpoint_seconds
        if steps and steps > 0:
            since = cb_params.cur_step_num - self._last_triggered_step
            return since >= steps or (force_to_save and since > 0)
        if seconds and seconds > 0 and (time.time() - self._last_time > seconds or force_to_save):
            self._last_time = time.time()
            return True
        return False
