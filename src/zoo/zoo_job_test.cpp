#include "zoo/zoo_job.h"

#include "frontend/data/declared_rows.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

ZooJob job_of(const std::string& model, std::optional<DataSource> source, int64_t resize = 0) {
  JobConfig config = make_model(model).recipe;
  config.data.source = std::move(source);
  config.data.resize = resize;
  return ZooJob(config, Place{.cores = 1});
}

DataSource npy_rows(const TempDir& dir, const std::string& descr, const Shape& shape) {
  Shape all = shape;
  all.insert(all.begin(), 2);
  const int64_t bytes = elements(all) * (descr == "|u1" ? 1 : 4);
  Bytes pixels(static_cast<size_t>(bytes));
  if (descr == "|u1") {
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  }
  return {DataKind::npy,
          {dir.write("x.npy", npy(descr, fmt::format("({},)", fmt::join(all, ",")), pixels)),
           dir.write("y.npy", npy("<i4", "(2,)", Bytes(8)))}};
}

/// Tries every declared column with each dimension one larger, with its last dimension removed and with one added.
TEST(ZooJob, RowsOfAnotherShapeThanTheModelDeclaresAreRefused) {
  const std::set<std::string> any_size{"lenet"}, any_shape{"mlp", "quickstart"};
  for (const std::string& name : model_names()) {
    const ZooJob job = job_of(name, std::nullopt);
    const std::vector<Column> declared = job.columns();
    const auto is_refused = [&](size_t column, const Shape& shape) {
      std::vector<Column> columns = declared;
      columns[column].type.shape = shape;
      const std::string reason = refusal([&] {
        require_declared(columns, job.data().format(), {DataKind::npz, {"rows.npz"}});
      });
      if (reason == "none") return false;
      EXPECT_TRUE(reason.starts_with(
          fmt::format("[--data] the model cannot read these rows, got '{}' {} in npz:rows.npz, expected ",
                      columns[column].name, print(columns[column].type))))
          << reason;
      return true;
    };
    EXPECT_EQ(refusal([&] { require_declared(declared, job.data().format(), {}); }), "none") << name;
    for (size_t c = 0; c < declared.size(); ++c) {
      const Shape& shape = declared[c].type.shape;
      if (any_shape.contains(name) || (declared[c].name == "label" && job.data().format().is_images())) continue;
      for (size_t d = 0; d < shape.size(); ++d) {
        Shape larger = shape;
        ++larger[d];
        EXPECT_EQ(is_refused(c, larger), !any_size.contains(name)) << name << " " << declared[c].name << " " << d;
      }
      Shape more = shape, fewer = shape;
      more.push_back(1);
      EXPECT_TRUE(is_refused(c, more)) << name << " " << declared[c].name;
      if (fewer.empty()) continue;
      fewer.pop_back();
      EXPECT_TRUE(is_refused(c, fewer)) << name << " " << declared[c].name;
    }
  }
}

TEST(ZooJob, ImagesAreRefusedWithBothShapes) {
  const TempDir dir;
  const auto of = [&](const std::string& model, const std::string& descr, const Shape& shape) {
    return refusal([&] { job_of(model, npy_rows(dir, descr, shape)).rows(Split::train); });
  };
  const std::string begin = "[--data] the model cannot read these rows, got 'image' ";
  const std::string file = fmt::format(" in npy:{0}/x.npy,{0}/y.npy, expected f32", dir.path().string());
  EXPECT_EQ(of("resnet18", "<f4", {3, 32, 32}), "none");
  EXPECT_EQ(of("resnet18", "<f4", {32, 32, 3}), begin + "f32[32,32,3]" + file + "[3,32,32], channels first");
  EXPECT_EQ(of("resnet18", "<f4", {3, 64, 64}),
            begin + "f32[3,64,64]" + file + "[3,32,32], channels first, or a model of size=64");
  EXPECT_EQ(of("resnet18", "|u1", {28, 28}),
            begin + "f32[1,28,28]" + file + "[3,32,32], channels first, or a model of channels=1,size=28");
  EXPECT_EQ(of("resnet18:channels=1,size=28", "|u1", {28, 28}), "none");
  EXPECT_EQ(of("lenet", "<f4", {32, 32, 3}), begin + "f32[32,32,3]" + file + "[channels,height,width], channels first");
  EXPECT_EQ(of("lenet", "<f4", {3, 40, 40}), "none");
  EXPECT_EQ(of("mlp", "<f4", {7}), "none");
  EXPECT_NE(of("vit", "<f4", {3072}), "none");
  // Data sets of known shape are refused before they are opened.
  EXPECT_NE(refusal([] { job_of("resnet18", DataSource{DataKind::mnist, {"none"}}).columns(); }), "none");
  EXPECT_EQ(refusal([] { job_of("resnet18", DataSource{DataKind::cifar10, {"none"}}).columns(); }), "none");
  EXPECT_EQ(refusal([] { job_of("resnet18", DataSource{DataKind::cifar10, {"none"}}, 16).columns(); }), "none");
  EXPECT_EQ(refusal([] { job_of("lenet", DataSource{DataKind::cifar10, {"none"}}).columns(); }), "none");
}

TEST(ZooJob, BytesWithChannelsFirstAreRecognised) {
  const TempDir dir;
  const auto row = [&](const std::string& model, const Shape& shape) {
    DataSource source = npy_rows(dir, "|u1", shape);
    source.paths = {source.paths[0], source.paths[1], source.paths[0], source.paths[1]};
    return job_of(model, source).rows(Split::test)->row(0, 0)[0];
  };
  const auto scaled = [](int64_t byte) { return (static_cast<double>(byte % 256) / 255 - 0.5) / 0.25; };
  for (const std::string model : {"resnet18", "lenet", "mlp"}) {
    const Array first = row(model, {3, 32, 32}), last = row(model, {32, 32, 3});
    EXPECT_EQ(first.type(), (Type{DType::f32, {3, 32, 32}})) << model;
    EXPECT_EQ(last.type(), first.type()) << model;
    for (const int64_t at : {0, 1, 33, 1024, 3071}) {
      const int64_t channel = at / 1024, pixel = at % 1024;
      EXPECT_NEAR(first.at(at), scaled(at), 1e-6) << model;
      EXPECT_NEAR(last.at(at), scaled(pixel * 3 + channel), 1e-6) << model;
    }
  }
  // An ambiguous shape is read as channels last.
  const Array both = row("lenet", {3, 3, 3});
  EXPECT_NEAR(both.at(1), scaled(3), 1e-6);
  EXPECT_TRUE(has_channels_first({3, 32, 32}, {}));
  EXPECT_FALSE(has_channels_first({3, 3, 3}, {3, 3, 3}));
  EXPECT_FALSE(has_channels_first({28, 28, 1}, {}));
  EXPECT_TRUE(has_channels_first({5, 8, 8}, {5, 8, 8}));
}

TEST(ZooJob, FeaturesOfRecordsAreCounted) {
  const ZooJob job = job_of("recommender:features=7", std::nullopt);
  std::vector<Column> columns = job.columns();
  columns[find_column(*job.rows(Split::train), "features")].type.shape = {3};
  EXPECT_EQ(refusal([&] {
              require_declared(columns, job.data().format(), {DataKind::npz, {"r.npz"}});
            }),
            "[--data] the model cannot read these rows, got 'features' f32[3] in npz:r.npz, expected f32[7]");
}

}  // namespace
}  // namespace partita
