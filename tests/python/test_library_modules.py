"""Modules that libraries around the documented system import: checks of arguments, the log, the ranks of a script."""

import os
import subprocess
import sys

from support import Case

import partita as ms
from partita import _checkparam as check
from partita import nn
from partita.parallel import _utils


class Checks(Case):
    def test_give_what_fits(self):
        for call, args, expected in (
            (check.check_positive_int, (3, "n", "Net"), 3),
            (check.check_non_negative_int, (0,), 0),
            (check.check_negative_int, (-1,), -1),
            (check.check_positive_float, (0.5,), 0.5),
            (check.check_non_negative_float, (0.0,), 0.0),
            (check.check_float, (0.5, 1.0, check.LT), 0.5),
            (check.check_int, (3, 2, check.GE), 3),
            (check.check_equal_int, (3, 3), 3),
            (check.check_is_int, (3,), 3),
            (check.check_is_float, (0.5,), 0.5),
            (check.check_int_range, (1, 1, 3, check.INC_LEFT), 1),
            (check.check_float_range, (0.5, 0.0, 1.0, check.INC_NEITHER), 0.5),
            (check.check_bool, (False, "flag"), False),
            (check.check_string, ("sum", ["sum", "mean"]), "sum"),
            (check.check_value_type, ("x", 1.5, [int, float]), 1.5),
            (check.check_value_type, ("x", True, [bool, int]), True),
            (check.check_isinstance, ("x", "a", str), "a"),
            (check.check_type_name, ("x", ms.float16, [ms.float16, ms.float32], "Net"), ms.float16),
            (check.check_subclass, ("x", ms.float16, (ms.float16,), "Net"), None),
            (check.check, ("a", 3, "b", 2, check.GT, "Net"), 3),
            (check.check, ("a", 3, "b", [2, 3], check.IN), 3),
            (check.check_number, ("a", 0.5, 0, check.GT, "Net"), 0.5),
            (check.check_and_canonicalize_axes, ((-1, 0), 3), (2, 0)),
            (check.twice, (3,), (3, 3)),
            (check.twice, ((1, 2),), (1, 2)),
        ):
            self.assertEqual(call(*args), expected, (call, args))

    def test_refuse_what_does_not(self):
        for call, args, kind, text in (
            (check.check_positive_int, (0, "n", "Net"), ValueError, "[Net] bad n, got 0, expected a number above 0"),
            (
                check.check_positive_int,
                (True, "n", "Net"),
                TypeError,
                "[Net] bad n, got True, expected a number of type int",
            ),
            (check.check_positive_float, (1, "n"), TypeError, "[check] bad n, got 1, expected a number of type float"),
            (check.check_non_negative_float, (float("nan"),), ValueError, "bad the argument, got nan"),
            (check.check_int_range, (3, 1, 3, check.INC_LEFT, "n"), ValueError, "got 3, expected one in [1, 3)"),
            (check.check_float_range, (0.0, 0.0, 1.0, check.INC_RIGHT, "n"), ValueError, "expected one in (0.0, 1.0]"),
            (check.check_int_range, (1.5, 1, 3, check.INC_BOTH, "n"), TypeError, "expected a number of type int"),
            (check.check_bool, (1, "flag"), TypeError, "bad flag, got 1, expected True or False"),
            (check.check_string, ("x", ["sum"], "reduction"), ValueError, "got 'x', expected one of ['sum']"),
            (
                check.check_value_type,
                ("x", True, [int], "Net"),
                TypeError,
                "[Net] x has the wrong type, got bool, expected",
            ),
            (
                check.check_type_name,
                ("x", ms.int32, [ms.float16], "Net"),
                TypeError,
                "got Int32, expected one of [Float16]",
            ),
            (check.check_subclass, ("x", ms.int32, ms.float16, "Net"), TypeError, "got Int32, expected one of"),
            (
                check.check,
                ("a", 1, "b", 2, check.GT, "Net"),
                ValueError,
                "[Net] bad a, got 1, expected above 2, which is b",
            ),
            (check.check_is_int, (1.5,), TypeError, "expected an integer"),
            (check.check_is_float, (1,), TypeError, "expected a float"),
            (check.check_and_canonicalize_axes, ((0, 0), 3), ValueError, "expected each axis once"),
            (check.check_and_canonicalize_axes, (3, 3), ValueError, "got 3, expected -3 to 2"),
            (check.check_and_canonicalize_axes, (0.5, 3), TypeError, "expected an integer"),
            (check.twice, ("a",), TypeError, "expected an integer or two"),
        ):
            with self.subTest(text), self.refuses(kind, text):
                call(*args)

    def test_of_the_types_of_arguments(self):
        @check.args_type_check(a=int, b=(str, nn.Cell))
        def made(a, b=None, *others):
            return a, b

        self.assertEqual(made(1), (1, None))
        self.assertEqual(made(None, b="x"), (None, "x"))
        with self.refuses(TypeError, "'b' has the wrong type, got float, expected (<class 'str'>"):
            made(1, 0.5)


class Ranks(Case):
    def test_are_those_of_the_context(self):
        self.assertEqual(_utils._get_parallel_mode(), "stand_alone")
        self.assertFalse(_utils._is_parallel_mode() or _utils._is_in_auto_parallel_mode())
        ms.set_context(ranks=4)
        ms.set_auto_parallel_context(
            parallel_mode="auto_parallel", search_mode="sharding_propagation", full_batch=True, pipeline_stages=2
        )
        self.assertTrue(_utils._is_sharding_propagation() and _utils._is_in_auto_parallel_mode())
        self.assertTrue(_utils._get_full_batch() and _utils._is_parallel_mode())
        self.assertEqual(
            (_utils._get_device_num(), _utils._get_stage_device_num(), _utils._get_global_rank()), (4, 2, 0)
        )
        self.assertEqual(_utils._get_pipeline_stages(), 2)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, enable_parallel_optimizer=True)
        self.assertTrue(_utils._is_in_data_parallel_mode() and not _utils._is_in_hybrid_parallel_mode())
        self.assertTrue(_utils._get_gradients_mean() and _utils._get_enable_parallel_optimizer())


class Logs(Case):
    def test_have_levels(self):
        script = (
            "from partita import log; log.debug('one'); log.info('two %s', 2); log.warning('three'); log.error('four');"
            "log.critical('five'); print(log.get_level(), log.get_log_config()['GLOG_v'])"
        )
        for level, expected in (("1", ["two 2", "three", "four", "five"]), ("", ["three", "four", "five"])):
            environment = dict(os.environ)
            environment.pop("GLOG_v", None)
            if level:
                environment["GLOG_v"] = level
            done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stderr.splitlines()
            self.assertEqual([line.partition("] ")[2].partition("] ")[2] for line in lines], expected)
            self.assertIn("<string>:1", lines[0])
            self.assertEqual(done.stdout.split(), [level or "2"] * 2)
