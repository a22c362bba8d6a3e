"""Planted examples for tools/check_size.py: what it must find, and what it must leave alone."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_size


def lines(count):
    return "  call();\n" * count


def member(of, count, name="member"):
    """The definition of a member outside of the class, of `count` lines."""
    return f"void {of}::{name}() {{\n{lines(count - 2)}}}\n"


def members(of, total):
    """Definitions of at most 50 lines each, `total` together."""
    sizes = [50] * (total // 50) + ([total % 50] if total % 50 else [])
    return "\n".join(member(of, size, f"member{i}") for i, size in enumerate(sizes))


def in_namespace(text, name="partita"):
    return f"namespace {name} {{\n{text}}}\n"


SMALL = in_namespace("class Model {\n  void member();\n};\n")  # a body of 3 lines


class Classes(unittest.TestCase):
    def counted(self, **files):
        """The classes that are found, with their lines; paths have `__` for a slash and `_h` or `_cpp` at their end."""
        texts = {}
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            texts["src/" + stem.replace("__", "/") + "." + ending] = text
        faults = [fault for fault in check_size.faults_of(texts) if ": class" in fault]
        parts = [fault.split(": class ") for fault in faults]
        return [(at.split(":")[0].removeprefix("src/"), what.split(" lines")[0]) for at, what in parts]

    def test_members_outside_the_body_count(self):
        self.assertEqual(self.counted(a__model_h=SMALL, a__model_cpp=in_namespace(members("Model", 297))), [])
        self.assertEqual(
            self.counted(a__model_h=SMALL, a__model_cpp=in_namespace(members("Model", 298))),
            [("a/model.h", "Model of 301")],
        )

    def test_files_whose_stem_begins_so_count(self):
        files = dict(a__model_h=SMALL, a__model_rows_cpp=in_namespace(members("Model", 200)))
        self.assertEqual(self.counted(**files), [])
        files["a__model_cpp"] = in_namespace(members("Model", 200))
        self.assertEqual(self.counted(**files), [("a/model.h", "Model of 403")])

    def test_other_namespaces_folders_and_stems_do_not_count(self):
        many = members("Model", 400)
        self.assertEqual(self.counted(a__model_h=SMALL, a__model_cpp=in_namespace(many, "other")), [])
        self.assertEqual(self.counted(a__model_h=SMALL, b__model_cpp=in_namespace(many)), [])
        self.assertEqual(self.counted(a__model_h=SMALL, a__rows_cpp=in_namespace(many)), [])

    def test_a_class_of_the_same_file_comes_first(self):
        inside = "namespace partita {\nnamespace {\nclass Model {\n};\n" + members("Model", 400) + "}\n}\n"
        self.assertEqual(self.counted(a__model_h=SMALL, a__model_cpp=inside), [("a/model.cpp", "Model of 402")])

    def test_nested_classes_count_to_both(self):
        header = in_namespace("class Model {\n  struct Impl;\n};\n")
        text = in_namespace("struct Model::Impl {\n};\n" + members("Model::Impl", 299))
        self.assertEqual(
            self.counted(a__model_h=header, a__model_cpp=text),
            [("a/model.h", "Model of 302"), ("a/model.cpp", "Model::Impl of 301")],
        )

    def test_templates_constructors_and_operators_are_members(self):
        text = "template <class T>\nvoid Model<T>::push(std::vector<T> all, int from = 0) {\n" + lines(50) + "}\n"
        text += "Model::Model(int a)\n    : a_{a}, b_(std::vector<int>{a}) {\n" + lines(50) + "}\n"
        text += "Model::~Model() {\n" + lines(50) + "}\n"
        text += "bool Model::operator()(int a) const {\n" + lines(50) + "}\n"
        text += "auto Model::all() const -> std::map<int, int> {\n" + lines(50) + "}\n"
        text += "std::vector<std::pair<int, int>> Model::pairs() noexcept {\n" + lines(50) + "}\n"
        self.assertEqual(
            self.counted(a__model_h=SMALL, a__model_cpp=in_namespace(text)), [("a/model.h", "Model of 317")]
        )

    def test_a_long_body_is_found_at_any_depth(self):
        fields = "    int field;\n" * 300
        inner = f"  struct alignas(64) Inner final : public Base {{\n{fields}  }};\n"
        text = in_namespace(f"class Outer {{\n{inner}}};\n")
        found = [("a/outer.h", "Outer::Inner of 302"), ("a/outer.h", "Outer of 304")]
        self.assertEqual(self.counted(a__outer_h=text), found)


class Functions(unittest.TestCase):
    def found(self, text, path="src/a.cpp"):
        return [fault for fault in check_size.faults_of({path: text}) if "function" in fault]

    def test_functions_of_every_form(self):
        for head in (
            "void work() {",
            "static int work(int a = {}, std::string b = \")\") {",
            "template <class T, class = std::enable_if_t<(sizeof(T) > 4)>>\nauto work(T a) -> decltype(a.b()) {",
            "TEST(Suite, Name) {",
            "PYBIND11_MODULE(core, module) {",
            "std::ostream& operator<<(std::ostream& out, int a) {",
        ):
            first = head.count("\n") + 1
            self.assertEqual(self.found(head + "\n" + lines(59 - first) + "}\n"), [], head)
            self.assertEqual(len(self.found(head + "\n" + lines(60 - first) + "}\n")), 1, head)

    def test_members_within_a_body(self):
        text = "namespace {\nclass A {\n public:\n  A(int b) : b_{b} {\n" + lines(59) + "  }\n  int b_{0};\n};\n}\n"
        self.assertEqual(self.found(text), ["src/a.cpp:4: function A of 61 lines, at most 60"])

    def test_what_is_no_function(self):
        table = "const std::map<int, int> kTable{\n" + "    {1, 2},\n" * 100 + "};\n"
        enumeration = "enum class Kind {\n" + "  one,\n" * 100 + "};\n"
        named = "namespace partita {\n" + "int call();\n" * 100 + "}\n"
        list_of_calls = "const std::vector<int> kList = made(\n    {\n" + "        1,\n" * 100 + "    });\n"
        for text in (table, enumeration, named, list_of_calls):
            self.assertEqual(self.found(text), [], text[:40])

    def test_braces_in_texts_are_none(self):
        text = 'const char* kText = R"({ { {)";  // {\nconst char kBrace = \'{\';\n#define OPEN {\n/* { */\n'
        text += "void work() {\n" + lines(59) + "}\n"
        self.assertEqual(self.found(text), ["src/a.cpp:5: function work of 61 lines, at most 60"])
        self.assertEqual(self.found('constexpr int kMany = 1\'000;\nvoid work() {\n  call("}");\n}\n'), [])

    def test_python(self):
        text = "def work():\n" + "    call()\n" * 60
        self.assertEqual(self.found(text, "python/a.py"), ["python/a.py:1: function work of 61 lines, at most 60"])
        self.assertEqual(self.found("def work():\n" + "    call()\n" * 59, "python/a.py"), [])


class Files(unittest.TestCase):
    def test_lines_and_columns(self):
        self.assertEqual(check_size.faults_of({"src/a.h": "int a;\n" * 600}), [])
        self.assertEqual(check_size.faults_of({"src/a.h": "int a;\n" * 601}), ["src/a.h: 601 lines, at most 600"])
        self.assertEqual(check_size.faults_of({"src/a_test.cpp": "int a;\n" * 700}), [])
        self.assertEqual(
            check_size.faults_of({"src/a.h": "// " + "a" * 118 + "\n"}), ["src/a.h:1: 121 columns, at most 120"]
        )


if __name__ == "__main__":
    unittest.main()
