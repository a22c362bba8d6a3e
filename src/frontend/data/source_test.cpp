#include "frontend/data/source.h"

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

DataSource parsed(const std::string& text) { return parse_data_source("--data", text); }

TEST(DataSource, IsReadBack) {
  for (const char* text : {"synthetic", "mnist:/data/m", "cifar10:a:b", "text:file", "npz:a.npz", "npz:a,b",
                           "npy:x.npy,y.npy", "npy:a,b,c,d", "csv:a.csv", "csv:a,b", "tokens:a.idx", "tokens:a,b",
                           "tokens:u16:a.bin,b.bin", "tokens:u32:a:b", "tokens:u17:a"}) {
    EXPECT_EQ(print(parsed(text)), text);
  }
  EXPECT_EQ(parsed("cifar10:a:b"), (DataSource{DataKind::cifar10, {"a:b"}}));
  EXPECT_EQ(parsed("tokens:u16:a,b"), (DataSource{DataKind::tokens, {"a", "b"}, TokenType::u16}));
  EXPECT_EQ(parsed("tokens:u17:a"), (DataSource{DataKind::tokens, {"u17:a"}}));
  EXPECT_EQ(parsed("npy:x,y"), (DataSource{DataKind::npy, {"x", "y"}}));
}

TEST(DataSource, BarePathsAreRecognised) {
  const TempDir mnist, cifar, none;
  mnist.write("t10k-labels-idx1-ubyte.gz", {1});
  cifar.write("data_batch_1.bin.xz", {1});
  EXPECT_EQ(parsed(mnist.path()), (DataSource{DataKind::mnist, {mnist.path()}}));
  EXPECT_EQ(parsed(cifar.path()), (DataSource{DataKind::cifar10, {cifar.path()}}));
  EXPECT_EQ(parsed("some/rows.npz"), (DataSource{DataKind::npz, {"some/rows.npz"}}));
  for (const char* ids : {"a/b.idx", "b.u16", "b.u32"}) EXPECT_EQ(parsed(ids), (DataSource{DataKind::tokens, {ids}}));
  const std::string bin = none.write("ids.bin", {1});
  expect_error<InvalidArgument>([&] { parsed(bin); }, "unknown data");
  none.write("ids.idx", {1});
  EXPECT_EQ(parsed(bin), (DataSource{DataKind::tokens, {bin}}));
  EXPECT_EQ(parsed("rows.csv.gz"), (DataSource{DataKind::csv, {"rows.csv.gz"}}));
  EXPECT_EQ(parsed("./book.txt.xz"), (DataSource{DataKind::text, {"./book.txt.xz"}}));
  expect_error<InvalidArgument>([&] { parsed(none.path()); }, "[--data] a folder without a known data set");
  expect_error<InvalidArgument>([&] { parsed("some/where"); }, "[--data] unknown data, got 'some/where'");
}

TEST(DataSource, WrongFormsAreRefused) {
  expect_error<InvalidArgument>([] { parsed("minst:/data"); }, "did you mean 'mnist'?");
  for (const char* text : {"mnist", "mnist:", "synthetic:/data", "npz:a,b,c", "npy:a", "npy:a,", "text:a,b",
                           "tokens:", "tokens:u16:", "tokens:a,b,c", ""}) {
    EXPECT_THROW(parsed(text), InvalidArgument) << text;
  }
  expect_error<InvalidArgument>([] { parsed("mnist:"); }, "expected mnist:DIR");
}

}  // namespace
}  // namespace partita
