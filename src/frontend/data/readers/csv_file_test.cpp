#include "frontend/data/readers/csv_file.h"

#include <random>

#include "frontend/data/open_dataset.h"
#include "frontend/data/readers/csv_rows.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

Bytes bytes_of_text(const std::string& text) { return {text.begin(), text.end()}; }

CsvNumbers read(const std::string& text) {
  const TempDir dir;
  return read_csv(dir.write("rows.csv", bytes_of_text(text)));
}

TEST(Csv, ReadsNamesAndNumbers) {
  const CsvNumbers found = read("\xef\xbb\xbf a ,\"b, or c\",label\r\n1, -2.5e1 ,\"3\"\r\n\r\n+4,0.5,6");
  EXPECT_EQ(found.names, (std::vector<std::string>{"a", "b, or c", "label"}));
  EXPECT_EQ(found.are_whole, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(found.values, (std::vector<double>{1, -25, 3, 4, 0.5, 6}));
  EXPECT_EQ(found.rows(), 2);
  const TempDir dir;
  EXPECT_EQ(read_csv(dir.write("rows.csv.gz", gzip(bytes_of_text("x\n7\n")))).values, std::vector<double>{7});
}

// Numbers printed with all digits are read back, across the pieces in which the file is read.
TEST(Csv, LosesNoDigitOfManyRows) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> draw(0, 1e3);
  std::string text = "a,b,c\n";
  std::vector<double> values;
  for (int i = 0; i < 60'000; ++i) {
    values.push_back(draw(random) * std::pow(10.0, static_cast<double>(random() % 40) - 20));
    text += fmt::format("{}{}", values.back(), i % 3 == 2 ? "\n" : ",");
  }
  EXPECT_GT(text.size(), size_t{1} << 20);
  EXPECT_EQ(read(text).values, values);
}

TEST(Csv, RefusesWhatIsNoTableOfNumbers) {
  const auto expect = [](const std::string& text, const std::string& part) {
    expect_error<InvalidFile>([&] { read(text); }, part);
  };
  const TempDir dir;
  expect_error<MissingFile>([&] { read_csv(dir.path() / "none.csv"); }, "none.csv");
  expect("", "line 1: an empty file, got no line");
  expect("\n\n", "an empty file");
  expect("1,2,3\n4,5,6\n", "line 1: no names of columns, got numbers alone, expected a first line such as");
  expect("a,,label\n1,2,3\n", "line 1: a column without a name, got '', expected a name in place 2");
  expect("a,a\n1,2\n", "line 1: two columns of one name, got 'a' twice");
  expect("a,b\n", "no rows, got names alone");
  expect("a,b\n1,2\n3\n", "line 3: wrong number of fields, got 1, expected 2 as in the first line");
  expect("a,b\n1,2,3\n", "line 2: wrong number of fields, got 3, expected 2");
  expect("a;b\n1;2\n", "line 2: not a finite number, got '1;2' in column 'a;b', expected one");
  EXPECT_EQ(read("a,b\n  \n1e-400,-0.0e-999\n").values, (std::vector<double>{0, 0}));
  for (const std::string bad : {"", "cat", "nan", "inf", "1e999", "-1e999", "0x10", "1 2", "1_000", "+-1", "\"\""}) {
    expect("a,b\n1," + bad + "\n",
           "line 2: not a finite number, got '" + (bad == "\"\"" ? "" : bad) + "' in column 'b'");
  }
  expect("a,b\n1,\"2\n", "line 2: quotes that do not end, got '\"2', expected '\"'");
  expect("a,b\n1,\"2\" 3\n", "line 2: text after quotes, got '3', expected ','");
  expect(std::string(size_t{18} << 20, 'a'), "line too long");
}

TEST(CsvRows, JoinsColumns) {
  const TempDir dir;
  const auto types = [&](const std::string& text, const Shape& image = {}) {
    std::string found;
    for (const auto& [name, array] : read_csv_rows(dir.write("a.csv", bytes_of_text(text)), "x", {.image = image})) {
      found += fmt::format("{} {} ", name, print(array.type()));
    }
    return found;
  };
  EXPECT_EQ(types("label,a,b\n0,1,2\n1,3,4\n"), "x f64[2,2] label i32[2] ");
  EXPECT_EQ(types("a,y\n0,1.5\n"), "x f64[1,1] label f64[1] ");
  EXPECT_EQ(types("ids.1,ids.0,size,label,f.0,radius.2\n1,2,3,0,1.5,9\n"),
            "x f64[1,2] f f64[1,1] ids i32[1,2] label i32[1] ");
  const std::string grey = "label,p1,p2,p3,p4\n1,0,255,7,9\n", others = "label,p1,p2,p3,p4\n1,0,256,7,9\n";
  EXPECT_EQ(types(grey), "x f64[1,4] label i32[1] ");
  EXPECT_EQ(types(grey, {1, 2, 2}), "x u8[1,2,2] label i32[1] ");
  EXPECT_EQ(types(grey, {-1, -1, -1}), "x u8[1,2,2] label i32[1] ");
  EXPECT_EQ(types(grey, {4, 1, 1}), "x f64[1,4,1,1] label i32[1] ");
  EXPECT_EQ(types(others, {1, 2, 2}), "x f64[1,1,2,2] label i32[1] ");
  EXPECT_EQ(types(others, {-1, -1, -1}), "x f64[1,4] label i32[1] ");
  const auto arrays = read_csv_rows(dir.write("a.csv", bytes_of_text("ids.1,label,ids.0\n1,0,2\n3,1,4\n")), "x", {});
  EXPECT_EQ(numbers(arrays.at(0).second), (std::vector<double>{2, 1, 4, 3}));
}

TEST(CsvRows, LabelsMayBeSeveralNumbers) {
  const TempDir dir;
  const auto arrays = read_csv_rows(dir.write("a.csv", bytes_of_text("a,y.0,y.1\n1,0.5,2\n")), "x");
  EXPECT_EQ(print(arrays.at(1).second.type()), "f64[1,2]");
  EXPECT_EQ(arrays.at(1).first, "label");
}

TEST(CsvRows, PixelsOfBothFilesAreOfOneKind) {
  const TempDir dir;
  const std::string head = "label,a,b,c,d\n";
  const DataSource source{DataKind::csv,
                          {dir.write("train.csv", bytes_of_text(head + "0,1,2,3,4\n")),
                           dir.write("test.csv", bytes_of_text(head + "0,1,2,3,256\n"))}};
  const RowFormat format{.input_shape = {1, 2, 2}};
  EXPECT_EQ(open_dataset(source, Split::train, format)->size(), 1);
  expect_error<InvalidFile>([&] { open_dataset(source, Split::test, format); }, "[csv] pixels of two kinds, got u8 in");
}

TEST(CsvRows, RefusesColumnsThatAreNoRows) {
  const TempDir dir;
  const auto expect = [&](const std::string& text, const std::string& part) {
    expect_error<InvalidFile>([&] { read_csv_rows(dir.write("a.csv", bytes_of_text(text)), "x", {}); }, part);
  };
  expect("a,b\n1,2\n", "no labels, got columns [a, b], expected one called label, labels or y");
  expect("label,y\n1,2\n", "several labels, got columns [label, y]");
  expect("label,f.0,f.2\n1,2,3\n", "columns left out, got 2 columns f.NUMBER up to 2, expected all from f.0 on");
  expect("label,f.0,f.00\n1,2,3\n", "two columns of one number, got a second one in 'f.00', expected f.0, f.1, ..");
  expect("label,f,f.0\n1,2,3\n", "two columns of one name, got 'f' and 'f.0'");
  expect("label,a\n4294967296,2\n", "a number out of range in column 'label', expected whole numbers of 32 bits");
}

TEST(CsvRows, ClassesAreWhole) {
  const TempDir dir;
  const auto label = [&](const std::string& numbers) {
    const auto path = dir.write("a.csv", bytes_of_text("a,label\n" + numbers));
    return print(read_csv_rows(path, "x", {.has_classes = true}).at(1).second.type());
  };
  EXPECT_EQ(label("0.5,1.0\n0.5,2e0\n"), "i32[2]");
  expect_error<InvalidFile>([&] { label("1,0\n1,1.5\n"); },
                            "a label is no class at row 1, got 1.5, expected a whole number from 0");
}

TEST(CsvRows, RecordsHaveIdsAndFeatures) {
  const TempDir dir;
  const auto columns = [&](const std::string& text, const RowFormat& format) {
    return print(
        open_dataset({DataKind::csv, {dir.write("a.csv", bytes_of_text(text))}}, Split::train, format)->columns());
  };
  const RowFormat records{.input = "ids", .records = {.ids = 2, .rows = 9, .features = 1}, .labels_are_classes = true};
  EXPECT_EQ(columns("ids.0,ids.1,features.0,label\n1,2,3,1\n", records), "features f32[1], ids i32[2], label i32[]");
  EXPECT_EQ(columns("px.0,px.1,label\n1,2,0\n", {}), "image f32[2], label i32[]");
}

TEST(CsvRows, AreOpenedAsOthers) {
  const TempDir dir;
  const std::string text = "label,a,b,c,d\n0,0,255,51,102\n1,1,2,3,4\n";
  const DataSource source{DataKind::csv, {dir.write("rows.csv", bytes_of_text(text))}};
  EXPECT_FALSE(has_rows(source, Split::test));
  expect_error<InvalidArgument>([&] { open_dataset(source, Split::test, {}); }, "expected npz:TRAIN,TEST");
  const DataSource both{DataKind::csv, {source.paths[0], source.paths[0]}};
  const Row numbers_row = open_dataset(both, Split::test, {})->row(0, 0);
  EXPECT_EQ(print(numbers_row[0].type()), "f32[4]");
  EXPECT_EQ(numbers_row[0].at(1), 255);
  const RowFormat images{.input_shape = {1, kAnySize, kAnySize}};
  EXPECT_EQ(print(open_dataset(both, Split::test, images)->columns()), "image f32[1,2,2], label i32[]");
  EXPECT_NEAR(open_dataset(both, Split::test, images)->row(0, 0)[0].at(2), (51 / 255.0 - 0.5) / 0.25, 1e-6);
  RowFormat classes;
  classes.labels_are_classes = true;
  classes.classes = 1;
  expect_error<InvalidFile>([&] { open_dataset(both, Split::test, classes); },
                            "[csv] 'label' out of range at row 1, got 1, expected 0 to 0");
}

}  // namespace
}  // namespace partita
