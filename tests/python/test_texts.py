"""Maps of texts and vocabularies, and choices among maps of rows."""

import importlib.util
import os
import tempfile

import numpy as np
from support import Case

import partita as ms
from partita import dataset as ds
from partita.dataset import text, transforms


class Texts(Case):
    def check(self, operation, given, *expected):
        made = operation(*given) if isinstance(given, tuple) else operation(given)
        made = made if isinstance(made, tuple) else (made,)
        self.assertEqual([one.tolist() for one in made], list(expected), type(operation).__name__)

    def test_tokenizers(self):
        self.check(text.WhitespaceTokenizer(True), " a  bé c", ["a", "bé", "c"], [1, 4, 8], [2, 7, 9])
        self.check(text.UnicodeCharTokenizer(True), "aé 中", ["a", "é", " ", "中"], [0, 1, 3, 4], [1, 3, 4, 7])
        words = ["Welcome", " ", "to", "  ", "北京", "!", " ", "a", "1"]
        self.check(text.UnicodeScriptTokenizer(True), "Welcome to  北京! a1", words)
        self.check(text.UnicodeScriptTokenizer(), "to 北京! 12 Привет", ["to", "北京", "!", "12", "Привет"])
        self.check(text.RegexTokenizer(r"\s+", r"\s+"), "To  Bei jing", ["To", "  ", "Bei", " ", "jing"])
        self.check(
            text.RegexTokenizer("[,;]", "[,]", True), "a,b;;é c", ["a", ",", "b", "é c"], [0, 1, 2, 5], [1, 2, 3, 9]
        )
        basic = ["To", "北", "京", "!", "don", "'", "t", "[UNK]", "café"]
        self.check(text.BasicTokenizer(), "To 北京! don't [UNK] café", basic)
        self.check(text.BasicTokenizer(True), "CAFÉ [UNK]", ["cafe", "[UNK]"])
        self.check(text.BasicTokenizer(False, True), "Hi  To\t北", ["Hi", "  ", "To", " ", "北"])
        self.check(text.BasicTokenizer(preserve_unused_token=False), "a [UNK]", ["a", "[", "UNK", "]"])
        self.check(text.BasicTokenizer(normalization_form=text.NormalizeForm.NFKC), "ﬁ①Ａ", ["fi1A"])
        vocab = text.Vocab.from_list(["un", "##aff", "##able", "[UNK]", "a", "want", "##ed", "!"])
        pieces = ["un", "##aff", "##able", "[UNK]"]
        self.check(
            text.WordpieceTokenizer(vocab, with_offsets=True),
            np.array(["unaffable", "xyz"]),
            pieces,
            [0, 2, 5, 0],
            [2, 5, 9, 3],
        )
        self.check(text.WordpieceTokenizer(vocab, unknown_token=""), np.array(["xyz", "unq"]), ["xyz", "unq"])
        self.check(text.WordpieceTokenizer(vocab, max_bytes_per_token=5), np.array(["unaffable", "a"]), ["[UNK]", "a"])
        self.check(
            text.BertTokenizer(vocab, with_offsets=True),
            "unaffable a! q",
            ["un", "##aff", "##able", "a", "!", "[UNK]"],
            [0, 2, 5, 10, 11, 13],
            [2, 5, 9, 11, 12, 14],
        )
        for empty in (text.WhitespaceTokenizer(), text.BasicTokenizer(), text.UnicodeCharTokenizer()):
            self.check(empty, "", [""])
        self.check(text.PythonTokenizer(str.split), "a b cc", ["a", "b", "cc"])

    def test_maps_of_texts(self):
        self.check(text.CaseFold(), np.array(["AB", "Straße"]), ["ab", "strasse"])
        self.check(text.NormalizeUTF8(), np.array(["ﬁ①"]), ["fi1"])
        self.check(text.RegexReplace(r"(\w)(\d)", "$2$1"), np.array(["a1 b2"]), ["1a 2b"])
        self.check(text.RegexReplace(r"\s+", "_", False), "a b  c", "a_b  c")
        self.check(text.ToNumber(ms.float32), np.array(["1.5", "2e3"]), [1.5, 2000.0])
        self.check(text.ToNumber(ms.int64), "77", 77)
        self.check(
            text.Ngram([2, 3], ("_", 1), ("$", 2), "-"),
            np.array(["a", "b", "c"]),
            ["_-a", "a-b", "b-c", "c-$", "_-a-b", "a-b-c", "b-c-$", "c-$-$"],
        )
        self.check(text.SlidingWindow(2), np.arange(4), [[0, 1], [1, 2], [2, 3]])
        self.check(text.TruncateSequencePair(5), (np.array([1, 2, 3]), np.array([4, 5, 6, 7])), [1, 2, 3], [4, 5])
        self.check(text.to_str, np.array([b"a", b"\xc3\xa9"]), ["a", "é"])
        self.check(text.to_bytes, np.array(["é"]), [b"\xc3\xa9"])

    def test_vectors(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, kind, lines in (
                ("v.txt", text.Vectors, "a 1 2\nb 4 5\n"),
                ("v.vec", text.FastText, "2 2\na 1 2\nb 4 5\n"),
                ("glove.6B.txt", text.GloVe, "a 1 2\nb 4 5\n"),
            ):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(lines)
                vectors = kind.from_file(path)
                self.check(text.ToVectors(vectors, [9, 9], True), np.array(["A", "b", "z"]), [[1, 2], [4, 5], [9, 9]])
            with self.refuses(ValueError, "[GloVe] wrong file"):
                text.GloVe.from_file(os.path.join(folder, "v.txt"))
            path = os.path.join(folder, "chars")
            with open(path, "w", encoding="utf-8") as file:
                file.write("2gram-#BEGIN#a 1 1\n2gram-ab 3 5\n")
            self.check(text.ToVectors(text.CharNGram.from_file(path)), np.array(["ab", "b"]), [[2, 3], [0, 0]])

    def test_vocabularies_of_data_sets(self):
        rows = ds.GeneratorDataset(
            [(np.array(["b", "a"]), "z"), (np.array(["a", "c"]), "z")], ["a", "b"], shuffle=False
        )
        made = text.Vocab.from_dataset(rows, ["a", "b"], (1, None), 3, ["<pad>"], False)
        self.assertEqual(made.vocab(), {"a": 0, "z": 1, "b": 2, "<pad>": 3})
        self.assertEqual(text.Vocab.from_dataset(rows, freq_range=(2, 10)).vocab(), {"a": 0, "z": 1})
        ids = rows.map(text.Lookup(made, "<pad>"), "a").project("a").batch(2)
        self.assertEqual(next(iter(ids.create_tuple_iterator(output_numpy=True)))[0].tolist(), [[2, 0], [0, 3]])

    def test_refused(self):
        for make, kind, message in (
            (lambda: text.ToNumber(ms.int8)(np.array(["300"])), RuntimeError, "out of range, got 300"),
            (lambda: text.ToNumber(ms.int32)(np.array(["x"])), RuntimeError, "not a number, got 'x'"),
            (lambda: text.WhitespaceTokenizer()(np.array(["a"])), RuntimeError, "not one text"),
            (lambda: text.WhitespaceTokenizer()(3), TypeError, "not a text, got int64"),
            (lambda: text.RegexTokenizer("("), ValueError, "bad pattern"),
            (lambda: text.Ngram(0), ValueError, "bad n, got 0"),
            (lambda: text.SentencePieceTokenizer("m", 1), NotImplementedError, "sentencepiece"),
            (lambda: text.NormalizeUTF8("NFC"), TypeError, "no form of Unicode"),
            (lambda: transforms.Mask(3, 1), TypeError, "no comparison, got 3"),
            (lambda: transforms.PadEnd([3])(np.zeros((2, 2))), RuntimeError, "wrong number of dimensions"),
            (lambda: transforms.OneHot(2)(np.array(2)), ValueError, "no such class, got 2, expected 0 to 1"),
            (lambda: transforms.Plugin("a", "b"), NotImplementedError, "a function of Python in map"),
        ):
            with self.subTest(message), self.refuses(kind, message):
                make()
        if importlib.util.find_spec("jieba") is None:
            with self.refuses(ImportError, "[JiebaTokenizer] no module jieba"):
                text.JiebaTokenizer()

    def test_choices_among_maps_follow_the_seed(self):
        def drawn(seed):
            ms.set_seed(seed)
            data = ds.NumpySlicesDataset(np.arange(40), ["a"], shuffle=False)
            choice = transforms.RandomChoice([transforms.Fill(0), transforms.Fill(1), lambda a: a * 0 + 2])
            data = data.map([choice, transforms.RandomApply([lambda a: a + 10], 0.5)], "a")
            return [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]

        self.assertEqual(drawn(3), drawn(3))
        self.assertNotEqual(drawn(3), drawn(4))
        self.assertEqual(set(drawn(3)), {0, 1, 2, 10, 11, 12})

    def test_maps_in_others_draw_by_the_row(self):
        crop, image = ds.vision.RandomCrop, np.arange(30 * 31 * 3).reshape(30, 31, 3).astype("u1")
        for inner in (
            transforms.RandomChoice([crop(8), transforms.Compose([crop(20), crop(8)])]),
            transforms.RandomApply([transforms.RandomOrder([crop(9), ds.vision.RandomVerticalFlip()])], 1.0),
            ds.vision.UniformAugment([transforms.RandomApply([crop(9)], 1.0)], 1),
        ):
            data = ds.GeneratorDataset([(image,)] * 9, ["image"], shuffle=False).map(inner, "image")

            def rows(data=data, begin=0):
                data.reset()
                data.set_init_step(begin)
                every = [row for _ in range(2) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
                return [row[0].tobytes() for row in every]

            whole = rows()
            self.assertEqual(len(whole), 18)
            self.assertGreater(len(set(whole)), 9)
            self.assertEqual(rows(), whole)
            self.assertEqual(rows(begin=4), whole[4:])

    def test_calls_of_choices_follow_the_seed(self):
        def drawn():
            ms.set_seed(5)
            choice = transforms.RandomOrder([lambda a: a + 1, lambda a: a * 2])
            return [int(choice(np.array(3))) for _ in range(20)]

        self.assertEqual(drawn(), drawn())
        self.assertEqual(set(drawn()), {7, 8})
