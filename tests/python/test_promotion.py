"""Element types of results of two operands: those of MindSpore 2.10, which are in promoted_types.txt."""

import os

import promotion_cases
from support import Case

import partita as ms


def table():
    """{(operation, kind, type): results} of the kept table."""
    with open(os.path.join(os.path.dirname(__file__), "promoted_types.txt")) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return {tuple(words[:3]): words[3:] for words in lines}


class Promotion(Case):
    def differences(self, wrap=None, chosen=None):
        """(cases with a result there, texts of those that differ)."""
        checked, different = 0, []
        for (name, kind, dtype), expected in table().items():
            if chosen is not None and (name, kind) not in chosen:
                continue
            function = promotion_cases.function_of(ms, name)
            call = None if wrap is None else lambda *args, function=function: wrap(function)(*args)
            got = promotion_cases.results(ms, name, kind, dtype, call)
            for other, one, wanted in zip(promotion_cases.KINDS[kind], got, expected, strict=True):
                if wanted == "-":
                    continue
                checked += 1
                if one != wanted:
                    different.append(f"{name} {kind} {dtype} {other}: got {one}, expected {wanted}")
        return checked, different

    def test_gives_the_types_of_mindspore(self):
        self.assertEqual(list(table()), list(promotion_cases.rows()))
        checked, different = self.differences()
        print(f"element types of two operands: {checked} cases, {len(different)} different")
        self.assertEqual(different, [])
        self.assertGreaterEqual(checked, 2500)

    def test_gives_the_same_types_in_programs(self):
        checked, different = self.differences(ms.jit, {("+", "number"), ("maximum", "tensor"), ("*", "scalar")})
        self.assertEqual(different, [])
        self.assertGreaterEqual(checked, 100)
