#include "runtime/checkpoint/folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/checkpoint/shares.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// "w": f32[40,24], "m": f64[8,3,5], "t": a scalar i64, "e": empty; written by three ranks.
struct SavedFolder {
  SavedFolder() : path((temporary.path() / "run").string()) {}

  std::vector<HeldState> states() const {
    std::vector<HeldState> held{{"w", {DType::f32, {40, 24}}, StateKind::parameter, {}},
                                {"m", {DType::f64, {8, 3, 5}}, StateKind::optimizer, {}},
                                {"t", {DType::i64, {}}, StateKind::counter, {}},
                                {"e", {DType::f32, {0, 4}}, StateKind::parameter, {}}};
    for (int rank = 0; rank < 3; ++rank) {
      for (HeldState& state : held) {
        Box box = whole_box(state.type.shape);
        if (state.name == "w") box[0] = chunk(40, rank, 3);
        if (state.name == "m") box[2] = chunk(5, rank, 3);
        state.holders.push_back({rank, box});
      }
    }
    return held;
  }
  static double value(const std::string& name, int64_t element, int64_t step) {
    return static_cast<double>(element * 7 + step) + (name == "w" ? 0.5 : 0);
  }
  /// The elements of a box at a step.
  static Array values(const HeldState& state, const Box& box, int64_t step) {
    Array part(Type{state.type.dtype, shape_of(box)});
    for_common_runs(box, whole_box(state.type.shape), box, [&](int64_t first, int64_t place, int64_t count) {
      for (int64_t i = 0; i < count; ++i) part.set(place + i, value(state.name, first + i, step));
    });
    return part;
  }
  void save(int64_t step, int64_t sequence) const {
    Manifest manifest{.sequence = sequence, .position = {.step = step, .batch = 4, .rows = 9, .seed = 3}, .ranks = 3};
    manifest.position.metadata = {{"partita.config", "model = \"x\"\n"}};
    const std::vector<HeldState> held = states();
    const auto shares = share_states(held, 3);
    const std::string begun = begin_checkpoint(path, step);
    for (const HeldState& state : held) {
      manifest.tensors.push_back({state.name, state.type, state.kind, choose_parts(state.type), {}});
    }
    for (int rank = 0; rank < 3; ++rank) {
      std::vector<ShardPiece> pieces;
      std::vector<size_t> numbers;
      for (size_t i = 0; i < held.size(); ++i) {
        for (const auto& [writer, box] : shares[i]) {
          if (writer != rank) continue;
          pieces.push_back({held[i].name, held[i].type, manifest.tensors[i].parts, box});
          numbers.push_back(i);
        }
      }
      const std::string name = fmt::format("rank_{}.safetensors", rank);
      ShardFileWriter writer(begun + "/" + name, pieces);
      for (size_t i = 0; i < pieces.size(); ++i) {
        writer.write(i, values(held[numbers[i]], pieces[i].box, step).data());
      }
      const ShardDigest digest = writer.finish();
      for (size_t i = 0; i < pieces.size(); ++i) {
        manifest.tensors[numbers[i]].pieces.push_back({rank, pieces[i].box, digest.pieces[i]});
      }
      manifest.files.push_back({name, digest.bytes, digest.header});
    }
    commit_checkpoint(path, begun, manifest);
  }
  /// Reads everything; "" when it is what was saved, else what is wrong.
  std::string check(int64_t step) const {
    try {
      CheckpointReader reader(checkpoint_path(path, step));
      for (const HeldState& state : states()) {
        Array got(state.type);
        reader.read(state.name, whole_box(state.type.shape), state.type.dtype, got.data());
        const Array expected = values(state, whole_box(state.type.shape), step);
        if (got.type().bytes() > 0 &&
            std::memcmp(got.data(), expected.data(), static_cast<size_t>(got.type().bytes())) != 0) {
          return "other values in " + state.name;
        }
      }
      return reader.manifest()->position.step == step ? "" : "another step";
    } catch (const InvalidFile& error) {
      return error.what();
    } catch (const MissingFile& error) {
      return error.what();
    }
  }
  static std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void write(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }

  TempDir temporary;
  std::string path;
};

TEST(CheckpointFolder, WhatWasWrittenIsRead) {
  const SavedFolder saved;
  saved.save(5, 0);
  EXPECT_EQ(saved.check(5), "");
  const auto found = list_checkpoints(saved.path);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].step, 5);
  EXPECT_EQ(found[0].manifest->tensors.size(), 4u);
  EXPECT_EQ(std::distance(fs::directory_iterator(saved.path), {}), 1) << "nothing is left besides";
}

// Damage makes a training fall back to the checkpoint before; too many open files do not.
TEST(CheckpointFolder, TooManyOpenFilesAreNoDamage) {
  const SavedFolder saved;
  saved.save(1, 0);
  CheckpointReader reader(checkpoint_path(saved.path, 1));
  const int next = ::dup(0);
  ::close(next);
  struct rlimit before {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const struct rlimit none { static_cast<rlim_t>(next), before.rlim_max };
  Array got(Type{DType::f32, {40, 24}});
  const auto read = [&] { reader.read("w", whole_box({40, 24}), DType::f32, got.data()); };
  ::setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THROW(read(), MissingFile);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NO_THROW(read());
}

// Any box, in other types: exact where the type holds the numbers.
TEST(CheckpointFolder, BoxesAreReadInOtherTypes) {
  const SavedFolder saved;
  saved.save(1, 0);
  CheckpointReader reader(checkpoint_path(saved.path, 1));
  const HeldState w = saved.states()[0];
  std::mt19937 random(3);
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (int draw = 0; draw < 20; ++draw) {
      Box box = whole_box(w.type.shape);
      for (Range& range : box) {
        range.begin = static_cast<int64_t>(random() % static_cast<uint64_t>(range.size));
        range.end = range.begin + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(range.size - range.begin));
      }
      Array got(Type{dtype, shape_of(box)});
      reader.read("w", box, dtype, got.data());
      const Array expected = cast(SavedFolder::values(w, box, 1), dtype);
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), static_cast<size_t>(got.type().bytes())), 0);
    }
  }
  Array other(Type{DType::i64, {40, 24}});
  EXPECT_THROW(reader.read("w", whole_box({40, 24}), DType::i64, other.data()), InvalidFile);
  EXPECT_THROW(reader.read("w", whole_box({24, 40}), DType::f32, other.data()), InvalidFile);
  EXPECT_THROW(reader.read("v", whole_box({24, 40}), DType::f32, other.data()), InvalidFile);
}

// Every flipped bit is refused or changes no value: 0 wrong loads.
TEST(CheckpointFolder, FlippedBitsAreRefused) {
  const SavedFolder saved;
  saved.save(2, 0);
  std::mt19937 random(11);
  int refused = 0;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(checkpoint_path(saved.path, 2))) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 4u);
  for (int draw = 0; draw < 1000; ++draw) {
    const fs::path& file = files[static_cast<size_t>(draw) % files.size()];
    const std::string bytes = SavedFolder::read(file);
    std::string damaged = bytes;
    const size_t bit = random() % (8 * bytes.size());
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    SavedFolder::write(file, damaged);
    const std::string reason = saved.check(2);
    EXPECT_EQ(reason.find("other values"), std::string::npos) << file << " bit " << bit;
    refused += reason.empty() ? 0 : 1;
    SavedFolder::write(file, bytes);
  }
  EXPECT_EQ(refused, 1000);
  EXPECT_EQ(saved.check(2), "");
}

TEST(CheckpointFolder, TruncatedFilesAreRefused) {
  const SavedFolder saved;
  saved.save(2, 0);
  for (const auto& entry : fs::directory_iterator(checkpoint_path(saved.path, 2))) {
    const std::string bytes = SavedFolder::read(entry.path());
    for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 50) {
      SavedFolder::write(entry.path(), bytes.substr(0, length));
      EXPECT_NE(saved.check(2), "") << entry.path() << " of " << length << " bytes";
    }
    SavedFolder::write(entry.path(), bytes);
  }
  EXPECT_EQ(saved.check(2), "");
}

// Files of another step, of another rank, missing ones, and what is none.
TEST(CheckpointFolder, ForeignFilesAreRefused) {
  const SavedFolder saved;
  saved.save(2, 0);
  saved.save(3, 1);
  const fs::path folder = checkpoint_path(saved.path, 3), first = folder / "rank_0.safetensors";
  const std::string bytes = SavedFolder::read(first), kept = SavedFolder::read(folder / kManifestName);
  const auto refused = [&](const std::string& part) {
    const std::string reason = saved.check(3);
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  };
  SavedFolder::write(first, SavedFolder::read(fs::path(checkpoint_path(saved.path, 2)) / "rank_0.safetensors"));
  refused("rank_0.safetensors");
  SavedFolder::write(first, SavedFolder::read(folder / "rank_1.safetensors"));
  refused("rank_0.safetensors");
  fs::remove(first);
  refused("cannot be opened");
  fs::create_directory(first);
  refused("not a regular file");
  fs::remove(first);
  ASSERT_EQ(::mkfifo(first.c_str(), 0600), 0);
  refused("not a regular file");
  fs::remove(first);
  SavedFolder::write(first, bytes);
  SavedFolder::write(folder / "rank_9.safetensors", bytes);  // one too many is nobody's
  EXPECT_EQ(saved.check(3), "");
  SavedFolder::write(folder / kManifestName, "{}");
  refused("does not end with its checksum");
  fs::remove(folder / kManifestName);
  refused("cannot read");
  SavedFolder::write(folder / kManifestName, kept);
  EXPECT_EQ(saved.check(3), "");
}

TEST(CheckpointFolder, TheNewestIsTheOneWrittenLast) {
  const SavedFolder saved;
  std::vector<std::string> warnings;
  const auto newest = [&] {
    const auto found = newest_checkpoint(saved.path, [&](const std::string& text) { warnings.push_back(text); });
    return found ? found->step : -1;
  };
  EXPECT_EQ(newest(), -1);
  for (const auto& [step, sequence] : {std::pair{10, 0}, {20, 1}, {15, 2}}) saved.save(step, sequence);
  EXPECT_EQ(newest(), 15) << "a run that went on from step 10";
  EXPECT_TRUE(warnings.empty());
  SavedFolder::write(fs::path(checkpoint_path(saved.path, 15)) / kManifestName, "damaged");
  EXPECT_EQ(newest(), 20);
  saved.save(20, 4);  // replaced
  EXPECT_EQ(saved.check(20), "");
  remove_old_checkpoints(saved.path, 1, 20);
  EXPECT_FALSE(fs::exists(checkpoint_path(saved.path, 10)));
  EXPECT_TRUE(fs::exists(checkpoint_path(saved.path, 20)));
}

TEST(CheckpointFolder, TheBestStaysNextToTheNewest) {
  for (const int64_t best : {-1, 10, 20, 30, 40, 99}) {
    for (int64_t most = 0; most <= 5; ++most) {
      const SavedFolder saved;
      std::set<int64_t> expected, left;
      for (int64_t i = 1; i <= 4; ++i) saved.save(10 * i, i);
      for (int64_t i = 1; i <= 4; ++i) {
        if (most == 0 || 4 - i < std::max<int64_t>(most, 1) || 10 * i == best) expected.insert(10 * i);
      }
      remove_old_checkpoints(saved.path, most, 40, best);
      for (const FoundCheckpoint& one : list_checkpoints(saved.path)) left.insert(one.manifest->position.step);
      EXPECT_EQ(left, expected) << "best " << best << ", at most " << most;
    }
  }
}

TEST(CheckpointFolder, TheOrderOfManifestsIsReadWithoutTheirTensors) {
  const SavedFolder saved;
  saved.save(20, 7);
  const std::string folder = checkpoint_path(saved.path, 20);
  const Manifest manifest = read_manifest(folder);
  const fs::path path = fs::path(folder) / kManifestName;
  Manifest changed = manifest;
  changed.plan = "\n\"files\":[\n";  // the line after the head, in a text
  const std::string text = print_manifest(changed);
  SavedFolder::write(path, text);
  EXPECT_EQ(read_manifest_order(folder), (ManifestOrder{.sequence = 7, .step = 20}));
  EXPECT_EQ(next_sequence(saved.path), 8);
  for (const size_t at : {size_t{30}, text.size() / 2, text.size() - 10}) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    SavedFolder::write(path, damaged);
    EXPECT_THROW(read_manifest_order(folder), InvalidFile) << "byte " << at;
    EXPECT_EQ(next_sequence(saved.path), 0);
  }
  EXPECT_THROW(read_manifest_order(saved.path), MissingFile);
  changed = manifest;
  changed.tensors[0].pieces.clear();
  SavedFolder::write(path, print_manifest(changed));
  EXPECT_EQ(read_manifest_order(folder).step, 20);
  EXPECT_FALSE(list_checkpoints(saved.path).at(0).manifest) << "a tensor without its pieces";
}

TEST(CheckpointFolder, AManifestHasOneOrder) {
  const SavedFolder saved;
  saved.save(20, 7);
  const std::string text = print_manifest(read_manifest(checkpoint_path(saved.path, 20)));
  const auto refusal = [](std::string body) {
    body.resize(body.rfind("\"checksum\""));
    try {
      parse_manifest(body + fmt::format("\"checksum\":\"{}\"}}\n", checksum_of_text(body)), "manifest.json");
      return std::string("accepted");
    } catch (const InvalidFile& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal(text), "accepted");
  std::string twice = text;
  twice.insert(twice.rfind("\"checksum\""), "\"sequence\":9,\n");
  EXPECT_EQ(refusal(twice),
            "[checkpoint] manifest.json: the manifest has 'sequence' or 'step' twice, expected them before 'files'");
  std::string last = text;
  last.replace(last.find("\"sequence\":7"), 12, "\"sequence\":9223372036854775807");
  EXPECT_EQ(refusal(last),
            "[checkpoint] manifest.json: the manifest has a bad 'sequence', expected a whole number from 0 to "
            "9223372036854775806");
}

TEST(CheckpointFolder, ManifestsOfDeepOrLongJsonAreRefused) {
  const SavedFolder saved;
  saved.save(10, 6);
  saved.save(20, 7);
  const std::string folder = checkpoint_path(saved.path, 20), text = print_manifest(read_manifest(folder));
  std::string body = text.substr(0, text.rfind("\"checksum\""));
  std::string many = "{\"x\":0";
  for (int i = 0; i < 100'000; ++i) many += fmt::format(",\"{}\":0", i);
  many += "}";
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::pair<std::string, std::string> values[] = {
      {deep, "more than 16 nested lists"},
      {many, "more than 100000 keys in an object"},
      {std::string(16, '[') + std::string(16, ']'), "more than 16 nested lists"}};
  for (const auto& [value, reason] : values) {
    for (const bool is_in_head : {true, false}) {
      std::string changed = body;
      changed.insert(is_in_head ? 1 : changed.size(), "\"more\":" + value + ",");
      SavedFolder::write(fs::path(folder) / kManifestName,
                         changed + fmt::format("\"checksum\":\"{}\"}}\n", checksum_of_text(changed)));
      try {
        read_manifest(folder);
        ADD_FAILURE() << "accepted";
      } catch (const InvalidFile& error) {
        EXPECT_EQ(std::string(error.what()), fmt::format("[checkpoint] {}/{}: the manifest is not JSON, "
                                                         "got {}, expected that of a checkpoint",
                                                         folder, kManifestName, reason));
      }
      // The folder stays in use: the checkpoint before it is listed and the next one is saved.
      EXPECT_FALSE(list_checkpoints(saved.path).at(0).manifest);
      EXPECT_EQ(newest_checkpoint(saved.path, [](const std::string&) {})->step, 10);
      saved.save(30, next_sequence(saved.path));
      EXPECT_EQ(saved.check(30), "");
      fs::remove_all(checkpoint_path(saved.path, 30));
    }
  }
  body.insert(1, "\"more\":" + std::string(15, '[') + std::string(15, ']') + ",");
  EXPECT_NO_THROW(parse_manifest(body + fmt::format("\"checksum\":\"{}\"}}\n", checksum_of_text(body)), "m"));
}

TEST(CheckpointFolder, WhatIsHalfWrittenIsNone) {
  const SavedFolder saved;
  saved.save(1, 0);
  const std::string begun = begin_checkpoint(saved.path, 2);
  SavedFolder::write(fs::path(begun) / "rank_0.safetensors", "half");
  EXPECT_EQ(list_checkpoints(saved.path).size(), 1u);
  fs::create_directory(checkpoint_path(saved.path, 7));  // a folder of that name without a manifest
  const auto newest = newest_checkpoint(saved.path, [](const std::string&) {});
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->step, 1);
  begin_checkpoint(saved.path, 3);
  EXPECT_FALSE(fs::exists(begun)) << "removed by the next one";
}

TEST(CheckpointFolder, WhatCannotBeWritten) {
  const SavedFolder saved;
  const auto code = [](const std::function<void()>& act) {
    try {
      act();
      return ExitCode::ok;
    } catch (const RuntimeFailure& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code([&] { check_checkpoint_folder(saved.path + "/none/run"); }), ExitCode::cannot_write);
  check_checkpoint_folder(saved.path);
  EXPECT_FALSE(fs::exists(saved.path));
  SavedFolder::write(saved.path, "a file");
  EXPECT_EQ(code([&] { check_checkpoint_folder(saved.path); }), ExitCode::cannot_write);
  EXPECT_EQ(code([&] { begin_checkpoint(saved.path, 1); }), ExitCode::cannot_write);
  fs::remove(saved.path);
  const std::string begun = begin_checkpoint(saved.path, 1);
  Manifest manifest{.position = {.step = 1}};
  manifest.files.push_back({"rank_0.safetensors", 10, ""});
  EXPECT_EQ(code([&] { commit_checkpoint(saved.path, begun, manifest); }), ExitCode::cannot_write);
  ShardFileWriter writer(begun + "/rank_0.safetensors", {{"w", {DType::f32, {2}}, {1}, whole_box({2})}});
  const Array bad({2}, std::vector<float>{1, INFINITY});
  EXPECT_EQ(code([&] { writer.write(0, bad.data()); }), ExitCode::non_finite);
}

/// A manifest with a right checksum around a text that replaces a part of a good one.
TEST(CheckpointManifest, WhatItSaysIsChecked) {
  const SavedFolder saved;
  saved.save(4, 0);
  const fs::path path = fs::path(checkpoint_path(saved.path, 4)) / kManifestName;
  const std::string good = SavedFolder::read(path);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& part) {
    ASSERT_NE(good.find(from), std::string::npos) << from;
    std::string body = good.substr(0, good.rfind("\"checksum\""));
    body.replace(body.find(from), from.size(), to);
    SavedFolder::write(path, body + "\"checksum\":\"" + checksum_of_text(body) + "\"}\n");
    const std::string reason = saved.check(4);
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
    EXPECT_NE(reason.find(path.string()), std::string::npos) << reason;
  };
  refused("\"version\":1", "\"version\":3",
          "of another version, got 'partita checkpoint' 3, expected 'partita checkpoint' 1 to 2");
  refused("\"step\":4", "\"step\":-4", "bad 'step'");
  refused("\"step\":4", "\"step\":4.5", "bad 'step'");
  refused("\"step\":4", "\"stop\":4", "has no 'step'");
  refused("\"seed\":3", "\"seed\":\"3\"", "has no 'seed'");
  refused("rank_1.safetensors", "../../etc/passwd", "not that of a file in the folder");
  refused("rank_1.safetensors", "rank_0.safetensors", "names a file twice");
  refused("[40,24]", "[41,24]", "is not whole");
  refused("[40,24]", "[576460752303423487,24]", "shape that is too large");
  refused("[40,24]", "[40]", "tensor 'w'");
  refused("\"dtype\":\"f32\"", "\"dtype\":\"f33\"", "unknown dtype 'f33'");
  refused("\"kind\":\"parameter\"", "\"kind\":\"pet\"", "unknown kind 'pet'");
  refused("[[0,13],[0,24]]", "[[0,14],[0,24]]", "pieces that overlap");
  refused("[[0,13],[0,24]]", "[[0,13],[24,0]]", "ends before it begins");
  refused("[[0,13],[0,24]]", "[[0,13]]", "box with other dimensions");
  refused("\"name\":\"m\"", "\"name\":\"w\"", "has tensor 'w' twice");
  refused("{\"format\"", "{{\"format\"", "not JSON");
  refused("\"tensors\":[", "\"tensors\":[[", "not JSON");
}

TEST(CheckpointManifest, ComesBackAsItWas) {
  const SavedFolder saved;
  saved.save(4, 0);
  Manifest manifest = read_manifest(checkpoint_path(saved.path, 4));
  manifest.position.learning_rate = 0.1;
  manifest.position.epoch.sum = 1.0 / 3;
  manifest.position.callbacks = {{"early_stopping", {"0.5 2", "lowest loss"}}, {"mine", {"7"}}};
  manifest.position.measures = {{"loss_scale", "static 8"}};
  manifest.plan = "a \"plan\"\nof lines";
  const std::string text = print_manifest(manifest);
  const Manifest again = parse_manifest(text, "manifest");
  EXPECT_EQ(print_manifest(again), text);
  EXPECT_EQ(again.position.epoch, manifest.position.epoch);
  EXPECT_EQ(again.position.callbacks, manifest.position.callbacks);
  EXPECT_EQ(again.position.measures, manifest.position.measures);
}

TEST(StateShares, EachElementHasOneWriterThatHoldsIt) {
  std::mt19937 random(5);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  for (int draw = 0; draw < 50; ++draw) {
    const int ranks = static_cast<int>(1 + below(8));
    std::vector<HeldState> states;
    for (int64_t count = 1 + below(6); count > 0; --count) {
      HeldState& state = states.emplace_back();
      state.type = {DType::f32, below(4) == 0 ? Shape{700, 900} : Shape{1 + below(9), 1 + below(9)}};
      const int64_t ways = 1 + below(std::min(3, ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        Box box = whole_box(state.type.shape);
        if (rank < ranks / ways * ways) box[0] = chunk(box[0].size, rank % ways, ways);
        if (rank >= ranks / ways * ways) continue;
        state.holders.push_back({rank, box});
      }
    }
    const auto shares = share_states(states, ranks);
    for (size_t i = 0; i < states.size(); ++i) {
      int64_t elements = 0;
      for (size_t a = 0; a < shares[i].size(); ++a) {
        const StateShare& share = shares[i][a];
        elements += elements_of(share.box);
        EXPECT_TRUE(std::ranges::any_of(states[i].holders, [&](const auto& holder) {
          return holder.rank == share.rank && common_box(holder.box, share.box) == share.box;
        }));
        for (size_t b = 0; b < a; ++b) EXPECT_FALSE(common_box(share.box, shares[i][b].box));
      }
      EXPECT_EQ(elements, states[i].type.elements());
    }
  }
}

TEST(StateShares, TensorsStayWholeWhereRanksWriteAlikeAnyway) {
  const auto held_by_four = [](std::vector<Shape> shapes) {
    std::vector<HeldState> states;
    for (Shape& shape : shapes) {
      HeldState& state = states.emplace_back();
      state.type = {DType::f32, std::move(shape)};
      for (int rank = 0; rank < 4; ++rank) state.holders.push_back({rank, whole_box(state.type.shape)});
    }
    return states;
  };
  const auto bytes_of_ranks = [](const std::vector<HeldState>& states) {
    std::vector<int64_t> bytes(4, 0);
    const auto shares = share_states(states, 4);
    for (const auto& boxes : shares) {
      for (const StateShare& share : boxes) bytes[static_cast<size_t>(share.rank)] += 4 * elements_of(share.box);
    }
    return std::pair(shares, bytes);
  };
  // Eight of 2 MiB and some small ones: two for each rank, none cut.
  std::vector<Shape> shapes(8, Shape{512, 1024});
  shapes.insert(shapes.end(), 12, Shape{64});
  const auto [whole, alike] = bytes_of_ranks(held_by_four(shapes));
  for (const auto& boxes : whole) EXPECT_EQ(boxes.size(), 1u);
  EXPECT_EQ(alike, std::vector<int64_t>(4, 2 * 512 * 1024 * 4 + 3 * 64 * 4));
  // Two of them for four ranks are cut.
  const auto [cut, even] = bytes_of_ranks(held_by_four({{512, 1024}, {512, 1024}, {64}, {64}, {64}, {64}}));
  EXPECT_EQ(cut[0].size(), 4u);
  EXPECT_EQ(cut[2].size(), 1u);
  EXPECT_EQ(even, std::vector<int64_t>(4, 2 * 128 * 1024 * 4 + 64 * 4));
  // A large one is cut while those that balance are not.
  const auto [mixed, nearly] =
      bytes_of_ranks(held_by_four({{4096, 1024}, {512, 1024}, {512, 1024}, {512, 1024}, {512, 1024}}));
  EXPECT_EQ(mixed[0].size(), 4u);
  for (size_t i = 1; i < mixed.size(); ++i) EXPECT_EQ(mixed[i].size(), 1u);
  EXPECT_EQ(nearly, std::vector<int64_t>(4, 1024 * 1024 * 4 + 512 * 1024 * 4));
}

}  // namespace
}  // namespace partita
