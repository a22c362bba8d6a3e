"""Planted examples for tools/check_calls.py: what it must find, and what it must leave alone."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_calls

REFUSED = """
std::thread::hardware_concurrency()
::sysconf(_SC_NPROCESSORS_ONLN)
::sched_getaffinity(0, sizeof mask, &mask)
omp_get_num_procs()
std::strtod(text.c_str(), nullptr)
strtoll(text, &end, 10)
std::stoi(text)
std::stod(text)
std::atof(text)
std::sscanf(line, "%lf", &x)
std::printf("%f", x)
std::snprintf(text, sizeof text, "%d", x)
std::to_string(x)
std::strftime(text, sizeof text, "%x", &parts)
fmt::format("{:L}", 1234)
fmt::format("{:>9.2L}", x)
std::istringstream words(text)
std::ostringstream out
#include <sstream>
out << std::setprecision(3)
std::isalnum(c)
isdigit(c)
std::toupper(c)
std::regex pattern("a+")
std::setlocale(LC_ALL, "")
std::locale::global(mine)
file >> number
Json::sax_parse(text, &reader)
nlohmann::json::parse(text)
toml::parse(text, path)
""".strip().splitlines()

ALLOWED = """
std::from_chars(begin, end, x)
fmt::to_string(x)
fmt::format("{:.3f} {:<9}", x, name)
bits >> count_of_bits
header.resize(bytes >> 20)
x << count
print(plan)
// std::strtod reads by the locale
/* std::atof */
history(stop, action)
is_digit(c)
this->print(x)
std::getline(file, line)
""".strip().splitlines()


class Calls(unittest.TestCase):
    def test_what_is_refused(self):
        for line in REFUSED:
            self.assertTrue(check_calls.faults_of_cpp("src/a.cpp", f"void f() {{\n  {line};\n}}\n"), line)

    def test_what_is_allowed(self):
        for line in ALLOWED:
            self.assertEqual(check_calls.faults_of_cpp("src/a.cpp", f"void f() {{\n  {line};\n}}\n"), [], line)

    def test_parsers_in_a_scope(self):
        scoped = "Json f() {\n  const PlainNumbers plain;\n  return Json::parse(text);\n}\n"
        self.assertEqual(check_calls.faults_of_cpp("src/a.cpp", scoped), [])
        another = scoped + "Json g() {\n  return Json::parse(b);\n}\n"
        self.assertEqual(len(check_calls.faults_of_cpp("src/a.cpp", another)), 1)

    def test_owners(self):
        call = "int f() {\n  return ::sched_getaffinity(0, 0, nullptr);\n}\n"
        self.assertEqual(check_calls.faults_of_cpp("src/base/usable_cores.cpp", call), [])
        self.assertEqual(len(check_calls.faults_of_cpp("src/base/other.cpp", call)), 1)

    def test_python(self):
        for line in ("os.cpu_count()", "os.sched_getaffinity(0)", "import locale", 'f"{x:n}"'):
            self.assertTrue(check_calls.faults_of_python(line + "\n"), line)
        for line in ("locals()", "relocale(x)", 'f"{x:3}"', "# os.cpu_count()"):
            self.assertEqual(check_calls.faults_of_python(line + "\n"), [], line)


if __name__ == "__main__":
    unittest.main()
