"""Planted examples for tools/check_definitions.py: what it must find, and what it must leave alone."""

import pathlib
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_definitions

KEPT = {  # a definition, and its name for the linker
    "class Watch {\n  int a;\n};": "p::Watch",
    "struct Watch final : public Base<int>, Other {};": "p::Watch",
    "enum class Kind : int32_t { a, b };": "p::Kind",
    "struct alignas(64) Row { int a; };": "p::Row",
    "class [[nodiscard]] Result {};": "p::Result",
    "template <class T>\nstruct Box { T value; };": "p::Box",
    "/// Returns a {.\ninline int f(int a, const char* b) { return b[a] == '}'; }": "p::f(int, const char*)",
    "template <class T> T g(T x) { return x; }": "p::g(T)",
    "constexpr int h(int x) { return x; }": "p::h(int)",
    "namespace deep { struct A {}; }": "p::deep::A",
    "#define OPEN {\nstruct A {};": "p::A",
    "inline std::string text() { return R\"(}{)\"; }": "p::text()",
}
PRIVATE = {
    "struct A {};": ["p::::A"],
    "constexpr int64_t kRows = 4, kBatch = rows_of(3);": ["p::::kRows", "p::::kBatch"],
    "const std::vector<int> kSizes{1, 2};": ["p::::kSizes"],
    "constexpr double kTable[3] = {1, 2, 3};": ["p::::kTable"],
    "int f(int a, double b = 3) { const int kLocal = 4; return a; }": ["p::::f()"],
    "void g(const std::function<void(int)>& b) { b(1); }": ["p::::g()"],
    "int f(const Plan& plan = {}, int b = 4) { return b; }": ["p::::f()"],
    "void f() noexcept(true) {}": ["p::::f()"],
    "[[maybe_unused]] constexpr int kA = 1;": ["p::::kA"],
    "auto h() -> std::vector<int> { return {}; }": ["p::::h()"],
    "TEST(Name, OfATest) { EXPECT_EQ(kRows, 4); }": [],
    "int declared(int a);": [],
}
FREE = """
struct A;
class A* f(class A& a);
int f(int a) { struct Local {}; return a; }
template <> struct hash<A> {};
const auto f = [](int a) { return a; };
static const Table table{{1, 2}};
void f() { struct B { int a; }; }
struct Outer::Inner;
using A = int;
constexpr int64_t kRows = 4;
int f(int kept) { return kept; }
""".strip().splitlines()


class Definitions(unittest.TestCase):
    def test_what_is_kept(self):
        for text, name in KEPT.items():
            found = check_definitions.definitions(f"namespace p {{\n{text}\n}}  // namespace p\n")
            self.assertEqual([one for one, _ in found], [name], text)

    def test_what_is_private(self):
        for text, names in PRIVATE.items():
            found = check_definitions.definitions(f"namespace p {{\nnamespace {{\n{text}\n}}\n}}\n")
            self.assertEqual([one for one, _ in found], names, text)

    def test_private_names_reach_what_is_compiled_with_them(self):
        def reach(path, name="p::::f()"):
            return check_definitions.reach_of(name, path)

        self.assertEqual(reach("src/ir/ops/shape/slice.cpp"), reach("src/ir/ops/index/gather.cpp"))
        self.assertNotEqual(reach("src/ir/ops/shape/slice.cpp"), reach("src/ir/graph/parse.cpp"))
        self.assertNotEqual(reach("src/ir/ops/slice.cpp"), reach("src/ir/ops/slice_test.cpp"))
        self.assertNotEqual(reach("bench/steps.cpp"), reach("bench/launches.cpp"))
        self.assertEqual(reach("src/a/b.h", "p::f()"), reach("src/c/d.cpp", "p::f()"))

    def test_what_is_free(self):
        for text in FREE:
            self.assertEqual(check_definitions.definitions(f"namespace p {{\n{text}\n}}\n"), [], text)

    def run_on(self, *texts):
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()) as printed:
            paths = []
            for number, text in enumerate(texts):
                paths.append(pathlib.Path(folder) / f"{number}.h")
                paths[-1].write_text(text)
            return check_definitions.main([str(path) for path in paths]), printed.getvalue()

    def test_two_files(self):
        one = "namespace p {\n\nclass Watch { int a; };\n}\n"
        code, text = self.run_on(one, "namespace p {\nclass Watch { std::string b; };\n}\n")
        self.assertEqual(code, 1)
        self.assertIn("'p::Watch' is defined here and at 1.h:2", text)
        self.assertEqual(self.run_on(one, "namespace q {\nclass Watch {};\n}\n")[0], 0)
        self.assertEqual(self.run_on(one, "namespace p {\nnamespace {\nclass Watch {};\n}\n}\n")[0], 0)
        self.assertEqual(self.run_on("inline void f(int) {}", "inline void f(double) {}")[0], 0)
        self.assertEqual(self.run_on("inline void f(int a) {}", "inline void f(int b = 3) {}")[0], 1)
        code, text = self.run_on("#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n")
        self.assertEqual(code, 1)
        self.assertIn("0.h: brackets that do not balance", text)


if __name__ == "__main__":
    unittest.main()
