"""Planted examples for tools/check_prose.py: what it must find, and what it must leave alone."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_prose


def found(text, path="src/a.h"):
    """(line, rule, words) of the findings of a file."""
    return [(one.line, one.rule, one.words) for one in check_prose.findings_of(path, text)]


def doc(words, code="int call();", marker="///"):
    return "".join(f"{marker} {line}\n" for line in words.split("\n")) + code + "\n"


class Openings(unittest.TestCase):
    def test_wrong_first_words(self):
        for words, first in (
            ("Of whatever was lowered.", "Of"),
            ("The same, by rows.", "The same"),
            ("The same for bytes.", "The same"),
            ("As users know it.", "As"),
            ("What a rank sends.", "What"),
            ("That of the first rank.", "That"),
            ("Those of its device.", "Those"),
            ("For the training on these rows.", "For"),
            ("Throws InvalidArgument for other types.", "Throws"),
            ("Throws for other types. Returns the type.", "Throws"),
        ):
            for marker in ("///", "//"):
                self.assertEqual(found(doc(words, marker=marker)), [(1, 1, first)], words)
            python = f'"""Module."""\n\n\ndef call():\n    """{words}"""\n'
            self.assertEqual(found(python, "python/a.py"), [(5, 1, first)], words)

    def test_right_first_words(self):
        for words in (
            "Returns the rows of a batch. Throws InvalidArgument for other types.",
            "Number of rank groups; each runs the same number of stages.",
            "Whether a rank sends.",
            "The same seed gives the same numbers.",
            "What is a stage? A part of the layers.",
            "As soon as a message is there, it is read.",
            "For each rank, returns its rows.",
            "Of course nobody calls it.",
            '"a=1,b=2" for a map.',
            "`of` joins two axes.",
            "Offsets of rows.",
        ):
            self.assertEqual(found(doc(words)), [], words)

    def test_functions_that_throw(self):
        self.assertEqual(found(doc("Throws InvalidArgument.", "[[noreturn]] void bad(int a);")), [])
        self.assertEqual(found(doc("Throws InvalidArgument.", "void refuse(int a);")), [])

    def test_only_doc_comments(self):
        inside = "void call() {\n  // Of two ranks the first one.\n  work();\n}\n"
        self.assertEqual(found(inside), [])
        self.assertEqual(found("// Of a file.\n\nint a;\n"), [])
        self.assertEqual(found("struct A {\n  // Of a file.\n  int a;\n};\n"), [(2, 1, "Of")])
        self.assertEqual(found("/// Rows.\n///\n/// Of each two the first one is read.\nint a;\n"), [])

    def test_trailing_comments(self):
        self.assertEqual(found("struct A {\n  int rows;  // of a batch\n};\n"), [(2, 1, "of")])
        self.assertEqual(found("constexpr int kRows = 4;  // as in the file\n"), [(1, 1, "as")])
        self.assertEqual(found("struct A {\n  int rows;  // that ranks share\n};\n"), [(2, 1, "that")])
        self.assertEqual(found("struct A {\n  int rows;  // the same of columns\n};\n"), [(2, 1, "the same")])
        self.assertEqual(found("void f() {\n  const int rows = 4;  // of a batch\n}\n"), [(2, 1, "of")])
        for right in (
            "struct A {\n  int rows;  // rows of a batch\n};\n",
            "struct A {\n  A(const A&) = delete;  // what is bound refers to it\n};\n",
            "struct A {\n  int rows;  // as above\n};\n",
            "struct A {\n  bool done;  // the same for all ranks\n  std::string remedy;  // what to do\n};\n",
            "void f() {\n  call();  // of two the second one\n}\n",
            'const char* kUrl = "http://of";\n',
            'const char* kText = R"(\n// Of a text.\n)";\n',
        ):
            self.assertEqual(found(right), [], right)

    def test_trailing_comments_of_several_lines(self):
        text = "int a;  // rows of a batch,\n        // of which some are empty, behind the header\nint b;  // of it\n"
        self.assertEqual(found(text), [(2, 3, "behind"), (3, 1, "of")])


class Words(unittest.TestCase):
    def test_rule_3(self):
        for words, wrong in (
            ("Rows behind the header.", "behind"),
            ("Axes in front\nof the last.", "in front of"),
            ("Sent beside the message.", "beside"),
            ("A batch of so many rows.", "so many"),
            ("Two ranks at the most.", "at the most"),
            ("The most bytes of a file.", "The most"),
            ("The least that a stage takes.", "The least"),
            ("Finds the least number of ranks.", "the least number"),
            ("Finds the most that a rank holds.", "the most that"),
            ("The rate of a product, as that of a head.", "as that of"),
            ("Nodes that nothing cuts, as constants and broadcasts.", "as constants and broadcasts"),
            ("A numbered scope (as `net/h/3`).", "as `net/h/3`"),
            ("A plan that takes the least memory.", "takes the least memory"),
            ("Its program took up to 84 GiB.", "took up to 84 GiB"),
            ("The worst set has 13.7 % on H100.", "has 13.7 %"),
            ("Another thread may run meanwhile.", "meanwhile"),
            ("Ranks connect. Who connects there proves it.", "Who"),
        ):
            self.assertEqual([one[1:] for one in found(doc(words))], [(3, wrong)], words)
            if not wrong.startswith("The "):  # a limit is decidable only where a comment begins with it
                self.assertEqual([one[1:] for one in found(words, "docs/a.md")], [(3, wrong)], words)

    def test_right_words(self):
        for words in (
            "Fields behind a mutex.",
            "Which rank is behind, and where.",
            "Bytes besides those of the file.",
            "There are so many ranks that none is idle.",
            "At most two ranks, at least one.",
            "The most recent checkpoint, at the most common size.",
            "The least expensive plan, with the least significant bit.",
            "Time is spent on messages.",
            "Deals with weighted means, and reads the file again.",
            "Options `behind` and \"in front of\".",
            "Sums rows, as that is faster.",
            "Programs are made ahead of time.",
            "Ranks that fall behind, and the idea behind the formula.",
            "A step takes 3 s, and the result takes the memory of an operand.",
            "Meanwhile another thread runs, and meanwhile it waits.",
            "Prints. Who is late? Says who was late, and who waited.",
            "The bytes of a forward graph, of the forward and the backward pass, and of a backward node.",
        ):
            self.assertEqual(found(doc(words)), [], words)
            self.assertEqual(found(words + "\n", "docs/a.md"), [], words)

    def test_rule_4(self):
        for words, wrong in (
            ("Ranks talk by sockets.", "talk"),
            ("A model whose states are spent.", "are spent"),
            ("Sums weigh more.", "weigh"),
            ("Layers are dealt out evenly.", "dealt"),
            ("The time at the soonest.", "soonest"),
            ("Results that are made again in the backward.", "made again"),
            ("The backward makes them again.", "backward makes them again"),
            ("Parameters are gathered ahead.", "gathered ahead"),
            ("Throws away what came.", "what came"),
            ("Keeps what the backward reads.", "the backward"),
            ("Its\nforward is recomputed.", "Its forward"),
            ("The forward pass and the backward of a stage.", "the backward"),
        ):
            self.assertIn((1, 4, wrong), found(doc(words)), words)
            self.assertIn((1, 4, wrong), found(words + "\n", "docs/a.md"), words)

    def test_rule_9(self):
        words = "Returns the sum. Throws RuntimeFailure if a rank fails, is lost or late."
        self.assertEqual(found(doc(words)), [(1, 9, "is lost or late")])
        self.assertEqual(found(doc("Returns the sum. Throws RankFailures.")), [])

    def test_other_comments_are_searched_for_words(self):
        self.assertEqual(found("void f() {\n  // Read behind the header.\n  work();\n}\n"), [(2, 3, "behind")])
        python = '"""Module.\n\nRows lie behind the header.\n"""\n'
        self.assertEqual(found(python, "tests/a.py"), [(3, 3, "behind")])

    def test_identifiers(self):
        text = "int f() { return kMostRows + most_rows + least_; }\nint g() { return kMostRows; }\n"
        self.assertEqual(found(text), [(1, 4, "kMostRows"), (1, 4, "most_rows"), (1, 4, "least_")])
        self.assertEqual(found("int at_least_one, almost_all, most_recent_id, max_rows, kMaxRows;\n"), [])
        self.assertEqual(found('call("most_rows");  // not `most_rows`\n'), [])
        python = "most_rows = 1  # most_bytes\nkeys = 'least_rows'\n"
        self.assertEqual(found(python, "tools/a.py"), [(1, 4, "most_rows")])

    def test_words_in_identifiers(self):
        for name in ("deal_layers", "deal", "dealt_stages", "DealtLayer", "kDeal", "KeepsDeals", "search_beside_batch",
                     "beside_", "kBeside", "RunsBesideOthers", "soonest", "talks", "spend", "spends", "weigh_states",
                     "came", "came_with", "check_came", "put_in_front", "IsInFrontOf"):
            self.assertEqual(found(f"int {name} = 1;\n"), [(1, 4, name)], name)
        for name in ("ideal", "ideal_size", "dealer", "besides", "stalks", "spent", "suspend", "weight", "weighted",
                     "became", "camera", "front", "Ideal", "Dealer", "WeighsAndAddsUp", "CameFrom", "behind"):
            self.assertEqual(found(f"int {name} = 1;\n"), [], name)


class Pages(unittest.TestCase):
    LONG = "word " * 40 + "end."
    FORTY = "word " * 39 + "end."

    def counted(self, text):
        return [(line, rule) for line, rule, _ in found(text, "docs/a.md")]

    def test_long_sentences(self):
        self.assertEqual(self.counted(self.FORTY + "\n"), [])
        self.assertEqual(self.counted("# Title\n\nShort. " + self.LONG + "\n"), [(3, 7)])
        self.assertEqual(self.counted("- " + self.FORTY + "\n- " + self.FORTY + "\n"), [])
        self.assertEqual(self.counted("- first\n- " + self.LONG.replace(" ", "\n  ", 1) + "\n"), [(2, 7)])
        self.assertEqual(self.counted(self.FORTY + " `Code` begins the next one.\n"), [])

    def test_what_is_no_prose(self):
        for text in (
            f"```\n{self.LONG} behind\n```\n",
            f"    {self.LONG} behind\n",
            f"| {self.LONG} |\n|---|\n| {self.LONG} |\n",
            "`" + self.LONG + " behind`\n",
            f"<!-- {self.LONG} behind -->\n",
            "[link](behind/in_front.md)\n",
        ):
            self.assertEqual(self.counted(text), [], text)

    def test_words_in_tables_and_headings(self):
        self.assertEqual(self.counted("| a | b |\n|---|---|\n| x | behind it |\n"), [(3, 3)])
        self.assertEqual(self.counted("## Rows beside rows\n"), [(1, 3)])

    def test_paragraphs_in_lists_are_no_code(self):
        self.assertEqual(self.counted("1. first\n\n    behind the header\n"), [(3, 3)])


class Subjects(unittest.TestCase):
    def test_long_subjects(self):
        log = {"merge-base": "1234\n", "log": f"aaa src: {'x' * 67}\nbbb src: {'x' * 68}\n"}
        faults = check_prose.long_subjects(lambda root, name, *rest: log[name])
        self.assertEqual([fault[:28] for fault in faults], ['commit bbb: rule 8: "src: xx'])

    def test_nothing_without_git(self):
        self.assertEqual(check_prose.long_subjects(lambda root, *words: None), [])
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(check_prose.long_subjects(root=root), [])
            if subprocess.run(["git", "init", "-q", folder], capture_output=True).returncode == 0:
                self.assertEqual(check_prose.long_subjects(root=root), [])


class Program(unittest.TestCase):
    def run_with(self, findings):
        with mock.patch.object(check_prose, "findings_of", lambda path, text: findings), \
                mock.patch.object(check_prose, "long_subjects", lambda root: []), \
                mock.patch.object(sys, "argv", ["check_prose"]), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            return check_prose.main(), out.getvalue()

    def test_fails_when_there_are_findings(self):
        self.assertEqual(self.run_with([]), (0, "prose: ok\n"))
        code, text = self.run_with([check_prose.Finding("a.h", 3, 3, "behind", "after")])
        self.assertEqual(code, 1)
        self.assertIn('a.h:3: rule 3: "behind": after\n', text)


class Allowed(unittest.TestCase):
    def test_the_table(self):
        self.assertLessEqual(len(check_prose.ALLOWED), 30)
        for one in check_prose.ALLOWED:
            self.assertTrue(one.reason and one.words, one)


if __name__ == "__main__":
    unittest.main()
