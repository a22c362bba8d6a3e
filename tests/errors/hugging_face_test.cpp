// Folders of Hugging Face that are damaged, are of models that the zoo does not have, or do not fit what was asked for.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/weights.h"
#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// A copy of a folder of tests/hugging_face.
struct Copied {
  explicit Copied(const std::string& model, const std::string& name = "m") : path((folder.path() / name).string()) {
    fs::create_directories(path);
    for (const char* file : {"config.json", "model.safetensors"}) {
      fs::copy(fs::path(kSourceDir) / "tests/hugging_face" / model / file, fs::path(path) / file);
    }
  }
  std::string in(const std::string& name) const { return path + "/" + name; }
  std::vector<std::string> import(const std::string& suffix = "") const {
    return {"import", "hf:" + path + suffix, "--out", in("out.safetensors")};
  }
  std::vector<std::string> train(const std::string& suffix = "") const {
    return {"train", "hf:" + path + suffix, "--steps", "1", "--no-eval", "--threads", "1"};
  }
  void change(const std::string& name, const nlohmann::json& value) const {
    nlohmann::json config = nlohmann::json::parse(read_text(in("config.json")));
    config[name] = value;
    write_text(in("config.json"), config.dump());
  }
  /// Puts the tensors into two shards with an index. `last` is the name that the index has for the second one.
  void shard(const std::string& last = "b.safetensors") const {
    std::vector<std::pair<std::string, Array>> first, second;
    nlohmann::json map;
    for (const auto& [name, array] : load_weights(in("model.safetensors"))) {
      const bool is_first = first.size() <= second.size();
      (is_first ? first : second).emplace_back(name, array);
      map[name] = is_first ? "a.safetensors" : last;
    }
    save_weights(in("a.safetensors"), first);
    save_weights(in("b.safetensors"), second);
    fs::remove(in("model.safetensors"));
    index({{"weight_map", map}});
  }
  void index(const nlohmann::json& value) const { write_text(in("model.safetensors.index.json"), value.dump()); }

  TempDir folder;
  std::string path;
};

void expect_runs(const std::vector<std::string>& words) {
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}: {}", fmt::join(words, " "), fmt::join(outcome.lines, "\n"));
}

TEST(HuggingFaceErrors, ShardsAreReadAndDamagedOnesAreNamed) {
  const Copied folder("llama");
  folder.shard();
  expect_runs(folder.import());
  expect_runs(folder.train(",seq=8"));
  const auto size = fs::file_size(folder.in("b.safetensors"));
  fs::resize_file(folder.in("b.safetensors"), size - 1);  // its header is whole
  for (const auto& words : {folder.import(), folder.train(",seq=8")}) {
    expect_refusal(words, ExitCode::bad_input, {"[weights] " + folder.in("b.safetensors") + ": ", "expected"});
  }
  fs::resize_file(folder.in("b.safetensors"), 20);
  expect_refusal(folder.import(), ExitCode::bad_input, {"[weights]", folder.in("b.safetensors")});
  fs::remove(folder.in("b.safetensors"));
  for (const auto& words : {folder.import(), folder.train(",seq=8")}) {
    expect_refusal(words, ExitCode::missing_file,
                   {"[weights] cannot open " + folder.in("b.safetensors") + ": No such file"});
  }
}

TEST(HuggingFaceErrors, IndexesNameFilesOfTheFolder) {
  for (const std::string last : {"../b.safetensors", "/etc/passwd", "", ".", "..", "x/b.safetensors"}) {
    const Copied folder("gpt2");
    folder.shard(last);
    expect_refusal(folder.import(), ExitCode::bad_input,
                   {"[hugging_face] " + folder.in("model.safetensors.index.json") + ": not an index, got file '" + last,
                    "expected an object \"weight_map\" of file names"});
  }
  const Copied folder("gpt2");
  fs::remove(folder.in("model.safetensors"));  // which would be read without the index
  using nlohmann::json;
  const std::vector<std::pair<json, std::string>> values{{json::array(), "another value"},
                                                         {json::object(), "another value"},
                                                         {{{"weight_map", 3}}, "another value"},
                                                         {{{"weight_map", json::object()}}, "no file"},
                                                         {{{"weight_map", {{"x", 3}}}}, "a file name of type number"}};
  for (const auto& [value, got] : values) {
    folder.index(value);
    expect_refusal(folder.import(), ExitCode::bad_input, {"not an index, got " + got});
  }
  write_text(folder.in("model.safetensors.index.json"), "{\"weight_map\": ");
  expect_refusal(folder.import(), ExitCode::bad_input, {"[hugging_face]", "not an index, got an error at byte"});
  write_text(folder.in("model.safetensors.index.json"), std::string(40, '['));
  expect_refusal(folder.import(), ExitCode::bad_input, {"[hugging_face]", "not an index, got "});
}

TEST(HuggingFaceErrors, ConfigurationsThatAreNoneAreRefused) {
  const Copied folder("gpt2");
  const std::string config = folder.in("config.json");
  for (const char* text : {"", "{", "[]", "3", "{\"a\": 1e999}"}) {
    write_text(config, text);
    for (const auto& words : {folder.import(), folder.train()}) {
      expect_refusal(words, ExitCode::bad_input,
                     {"[hugging_face] " + config + ": not a configuration, got ", ", expected a JSON object"});
    }
  }
  write_text(config, "{}");
  expect_refusal(folder.train(), ExitCode::bad_input,
                 {"unknown model, got model_type '', expected one of [gpt2, llama"});
  write_text(config, "{\"model_type\": \"gpt2\"}");
  expect_refusal(folder.train(), ExitCode::bad_input, {"cannot be used, got none, expected a whole number"});
  fs::remove(config);
  expect_refusal(folder.train(), ExitCode::missing_file, {"[hugging_face] cannot read " + config + ": No such file"});
  expect_refusal({"train", "hf:"}, ExitCode::usage, {"[hugging_face] no folder, got 'hf:', expected hf:FOLDER"});
  expect_refusal({"train", "mlp", "--load", "hf:" + folder.in("none")}, ExitCode::missing_file, {"[hugging_face]"});
}

struct BadValue {
  std::string model, name;
  nlohmann::json value;
  std::string message;
};

TEST(HuggingFaceErrors, ValuesThatTheZooDoesNotHaveAreNamed) {
  const std::vector<BadValue> values{
      {"gpt2", "model_type", "gpt", "unknown model, got model_type 'gpt', expected one of [gpt2, llama"},
      {"llama", "model_type", "lama", "did you mean 'llama'?"},
      {"gpt2", "model_type", 3, "model_type cannot be used, got 3, expected a text"},
      {"gpt2", "n_layer", -1, "n_layer cannot be used, got -1, expected a whole number"},
      {"gpt2", "n_layer", 1.5, "n_layer cannot be used, got 1.5, expected a whole number"},
      {"gpt2", "n_layer", "2", "n_layer cannot be used, got \"2\", expected a whole number"},
      {"gpt2", "n_layer", nullptr, "n_layer cannot be used, got none, expected a whole number"},
      {"gpt2", "n_layer", int64_t{1} << 41, "n_layer cannot be used, got 2199023255552, expected a whole number"},
      {"gpt2", "n_layer", std::string(200, 'x'), "x.., expected a whole number"},
      {"gpt2", "layer_norm_epsilon", "x", "layer_norm_epsilon cannot be used, got \"x\", expected a number"},
      {"gpt2", "tie_word_embeddings", 1, "tie_word_embeddings cannot be used, got 1, expected true or false"},
      {"gpt2", "activation_function", "relu",
       "activation_function cannot be used, got \"relu\", expected one of [gelu, gelu_new, gelu_pytorch_tanh]"},
      {"gpt2", "scale_attn_weights", false, "scale_attn_weights cannot be used, got false, expected true"},
      {"gpt2", "scale_attn_by_inverse_layer_idx", true, "expected false"},
      {"gpt2", "add_cross_attention", true, "expected false"},
      {"llama", "hidden_act", "gelu", "hidden_act cannot be used, got \"gelu\", expected \"silu\""},
      {"llama", "mlp_bias", true, "mlp_bias cannot be used, got true, expected false"},
      {"llama", "rope_parameters", "x", "rope_parameters cannot be used, got \"x\", expected an object"},
      {"llama",
       "rope_parameters",
       {{"rope_type", "yarn"}},
       "config.json: rope_parameters: rope_type cannot be used, got \"yarn\", expected one of [default, linear, "
       "llama3]"},
      {"llama",
       "rope_parameters",
       {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}},
       "partial_rotary_factor cannot be used, got 0.5, expected 1"},
      {"mixtral", "num_experts_per_tok", 1, "num_experts_per_tok cannot be used, got 1, expected at least 2"},
      {"mixtral", "output_router_logits", true, "output_router_logits cannot be used, got true, expected false"},
      {"mixtral", "num_attention_heads", 1e15, "num_attention_heads cannot be used, got "},
      {"mixtral", "router_jitter_noise", 0.1, "router_jitter_noise cannot be used, got 0.1, expected 0"},
      {"bert", "hidden_act", "relu", "hidden_act cannot be used, got \"relu\", expected \"gelu\""},
      {"bert", "position_embedding_type", "relative_key", "expected \"absolute\""},
      {"bert", "is_decoder", true, "is_decoder cannot be used, got true, expected false"},
      {"bert", "tie_word_embeddings", false, "tie_word_embeddings cannot be used, got false, expected true"},
      {"vit", "hidden_act", "gelu_new", "hidden_act cannot be used"},
      {"vit", "qkv_bias", false, "qkv_bias cannot be used, got false, expected true"},
      {"vit", "image_size", {8, 8}, "image_size cannot be used, got [8,8], expected a whole number"},
      {"resnet", "hidden_act", "gelu", "hidden_act cannot be used"},
      {"resnet", "downsample_in_bottleneck", true, "expected false"},
      {"resnet", "downsample_in_first_stage", true, "expected false"},
      {"resnet", "depths", {1, 2, -3}, "depths cannot be used, got [1,2,-3], expected a list of whole numbers"},
      {"resnet", "depths", 3, "depths cannot be used, got 3, expected a list of whole numbers"},
      {"resnet", "depths", {3, 4, 6, 3}, "depths cannot be used, got layer_type basic with depths 3,4,6,3 and widths"},
  };
  for (const BadValue& bad : values) {
    SCOPED_TRACE(bad.model + " " + bad.name);
    const Copied folder(bad.model);
    folder.change(bad.name, bad.value);
    expect_refusal(folder.import(), ExitCode::bad_input, {"[hugging_face] " + folder.in("config.json"), bad.message});
  }
}

TEST(HuggingFaceErrors, TensorsThatAreNotThoseOfTheModelAreNamed) {
  const Copied folder("gpt2");
  const std::map<std::string, Array> all = load_weights(folder.in("model.safetensors"));
  const auto save = [&](std::map<std::string, Array> tensors) {
    save_weights(folder.in("model.safetensors"), {tensors.begin(), tensors.end()});
  };
  const std::string name = "transformer.h.1.mlp.c_fc.weight";
  std::map<std::string, Array> changed = all;
  changed.erase(name);
  save(changed);
  for (const auto& words : {folder.import(), folder.train(",seq=8")}) {
    expect_refusal(words, ExitCode::bad_input, {"[names] " + folder.path, "1 missing: 'h.1.mlp.fc.weight' ('" + name});
  }
  changed = all;
  changed.emplace("transformer.h.2.ln_1.weight", Array({1}, std::vector<float>{1}));
  save(changed);
  expect_refusal(folder.import(), ExitCode::bad_input, {"1 left over: transformer.h.2.ln_1.weight"});
  changed = all;
  changed[name] = Array({1}, std::vector<float>{1});
  save(changed);
  expect_refusal(folder.import(), ExitCode::bad_input,
                 {"tensor '" + name + "' does not fit 'h.1.mlp.fc.weight', got f32[1], expected f32[16,64]"});
}

// A pickle is a program: it is not opened, whatever it has.
TEST(HuggingFaceErrors, PicklesAreRefusedUnread) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const Copied folder("gpt2");
    fs::remove(folder.in("model.safetensors"));
    write_text(folder.in(name), "cos\nsystem\n(S'touch " + folder.in("ran") + "'\ntR.");
    fs::permissions(folder.in(name), fs::perms::none);
    for (const auto& words : {folder.import(), folder.train(",seq=8")}) {
      expect_refusal(words, ExitCode::bad_input,
                     {"weights as a pickle, which is a program, got " + std::string(name) +
                          ", expected model.safetensors: in Python, ",
                      ".save_pretrained(FOLDER)"});
    }
    EXPECT_FALSE(fs::exists(folder.in("ran")));
    fs::remove(folder.in(name));
    expect_refusal(folder.import(), ExitCode::missing_file,
                   {"no weights, got neither model.safetensors nor model.safetensors.index.json"});
  }
}

TEST(HuggingFaceErrors, RowsAreAsLongAsTheModelTakes) {
  const std::vector<std::array<std::string, 3>> limits{
      {"gpt2", "gpt", "20"}, {"llama", "llama", "64"}, {"mistral", "llama", "32"}, {"bert", "bert", "20"}};
  for (const auto& [folder_name, model, longest] : limits) {
    const Copied folder(folder_name);
    expect_refusal(folder.train(",seq=100"), ExitCode::usage,
                   {"[" + model + "] rows are longer than the model takes, got seq=100, expected at most " + longest});
  }
}

TEST(HuggingFaceErrors, SizesAreGivenOnceAndKnown) {
  const Copied folder("gpt2");
  expect_refusal(folder.train(",seq=8,seq=9"), ExitCode::usage,
                 {"[model] option 'seq' appears twice in 'hf:" + folder.path + ",seq=8,seq=9', expected once"});
  expect_refusal(folder.train(",sqe=8"), ExitCode::usage, {"[gpt] unknown option, got 'sqe'", "did you mean 'seq'?"});
  expect_refusal(folder.train(",=8"), ExitCode::usage, {"[model] bad option, got '=8'"});
  expect_refusal(folder.train(",seq=x"), ExitCode::usage, {"[gpt] option 'seq' is not a number, got 'x'"});
  expect_refusal(folder.train(",hidden=8,seq=8"), ExitCode::bad_input, {"does not fit 'wte.weight'"});
}

TEST(HuggingFaceErrors, FoldersMayHaveCommasInTheirNames) {
  for (const char* name : {"a,b", "a,b=1,c", "a,b=1"}) {
    const Copied folder("gpt2", name);
    expect_runs(folder.import());
    expect_runs(folder.train(",seq=8"));
  }
}

TEST(HuggingFaceErrors, ExportsWriteWhatTransformersHave) {
  const TempDir folder;
  const std::string weights = (folder.path() / "w.safetensors").string(), out = (folder.path() / "out").string();
  const auto save = [&](const std::string& model) {
    expect_runs({"train", model, "--steps", "1", "--no-eval", "--threads", "1", "--batch", "2", "--save", weights});
  };
  std::vector<std::string> words{"export", weights, "--out", out};
  save("lenet");
  expect_refusal(words, ExitCode::usage,
                 {"[export] transformers have no such model, got 'lenet', expected one of [gpt"});
  save("llama:hidden=8,layers=1,heads=2,kv_heads=2,intermediate=8,seq=8,vocab=40,experts=2,capacity=2");
  expect_refusal(words, ExitCode::usage, {"[export] transformers have no such llama, got capacity=2, expected 0"});
  save("llama:hidden=8,layers=1,heads=2,kv_heads=2,intermediate=8,seq=8,vocab=40,experts=2,top_k=1");
  expect_refusal(words, ExitCode::usage, {"got top_k=1 with experts, expected 2 or more"});
  EXPECT_FALSE(fs::exists(out));
  save("gpt:hidden=8,layers=1,heads=2,seq=8,vocab=40");
  expect_refusal({"export", weights, "--out", out, "--model", "gpt:hidden=16,layers=1,heads=2,seq=8,vocab=40"},
                 ExitCode::bad_input, {"[export] " + weights + ": not the weights of gpt:hidden=16", "got f32[40,8]"});
  expect_runs(words);
  expect_refusal(words, ExitCode::usage, {"[export] " + out + "/config.json: it is there already, got no --replace"});
  std::vector<std::string> replacing = words;
  replacing.emplace_back("--replace");
  expect_runs(replacing);
  const fs::path kept = folder.path() / "kept.safetensors";
  fs::rename(out + "/model.safetensors", kept);
  fs::create_symlink(kept, out + "/model.safetensors");
  const std::string before = read_text(kept);
  expect_refusal(replacing, ExitCode::cannot_write, {"[export] cannot write " + out + "/model.safetensors: a link"});
  EXPECT_EQ(read_text(kept), before);
  fs::remove(out + "/model.safetensors");
  fs::rename(kept, out + "/model.safetensors");
  words = replacing;
  expect_refusal({"export", out, "--out", out + "2"}, ExitCode::usage, {"a folder of Hugging Face"});
  write_text(out + "/model.safetensors.index.json", "{}");
  expect_refusal(words, ExitCode::cannot_write,
                 {"[export] cannot write " + out + ": it has other weights, which model.safetensors.index.json lists"});
  expect_refusal({"export", weights, "--out", "/proc/none"}, ExitCode::cannot_write, {"/proc/none"});
  expect_refusal({"export", weights, "--out", weights}, ExitCode::cannot_write, {weights});
  expect_refusal({"export", out, "--out", out}, ExitCode::usage, {"a folder of Hugging Face"});
  std::vector<std::pair<std::string, Array>> nameless;
  for (const auto& [name, array] : load_weights(weights)) nameless.emplace_back(name, array);
  save_weights(weights, nameless);
  expect_refusal(words, ExitCode::usage, {"no model, got weights that do not name theirs, expected --model MODEL"});
}

TEST(HuggingFaceErrors, TablesOfNamesComeWithAModel) {
  const Copied folder("gpt2");
  const std::string table = folder.in("names.txt"), weights = folder.in("model.safetensors");
  const auto words = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"import", weights, "--out", folder.in("out.safetensors")});
    return more;
  };
  write_text(table, "a.{i} b\n");
  expect_refusal(words({"--names", table}), ExitCode::usage,
                 {"[import] no model, got --names alone, expected --model"});
  expect_refusal(words({"--names", table, "--model", "mlp"}), ExitCode::bad_input,
                 {"[names] " + table + ":1: the names have different numbers"});
  expect_refusal(words({"--names", folder.in("none"), "--model", "mlp"}), ExitCode::missing_file,
                 {"[names] cannot read " + folder.in("none")});
  expect_refusal({"import", folder.path, folder.path, "--out", "x"}, ExitCode::usage,
                 {"[import] several paths, got 2, expected one folder, or --names FILE"});
  write_text(table, "");
  expect_refusal(words({"--names", table, "--model", "mlp"}), ExitCode::bad_input,
                 {"[names] " + weights + ": the tensors are not those of the network, got 6 missing"});
  expect_refusal({"import", folder.path, "--names", table, "--model", "mlp", "--out", "x"}, ExitCode::bad_input,
                 {"[weights] " + folder.path + ": not a regular file, got a folder"});
  expect_refusal({"import", folder.path, "--model", "nlp", "--out", "x"}, ExitCode::usage, {"did you mean 'mlp'?"});
}

TEST(HuggingFaceErrors, PlansTakeFolders) {
  const Copied folder("llama");
  expect_runs({"plan", "hf:" + folder.path, "--cluster", "a100-80:8", "--batch", "8"});
  fs::remove(folder.in("model.safetensors"));
  expect_runs({"plan", "hf:" + folder.path, "--cluster", "a100-80:8", "--batch", "8"});  // its sizes are enough
}

TEST(HuggingFaceErrors, CopiesReplaceNothingUnasked) {
  const TempDir folder;
  const std::string weights = (folder.path() / "w.safetensors").string(), out = (folder.path() / "out").string(),
                    like = (folder.path() / "like").string();
  expect_runs({"train", "gpt:hidden=8,layers=1,heads=2,seq=8,vocab=40", "--steps", "1", "--batch", "2", "--threads",
               "1", "--no-eval", "--save", weights});
  fs::create_directories(like);
  fs::create_directories(out);
  write_text(like + "/tokenizer.json", "theirs");
  write_text(like + "/chat_template.jinja", "a template");
  write_text(out + "/tokenizer.json", "the user's");
  write_text(out + "/chat_template.jinja", "a template");
  const std::vector<std::string> words{"export", weights, "--like", like, "--out", out};
  std::vector<std::string> replacing = words;
  replacing.emplace_back("--replace");
  const std::string target = out + "/tokenizer.json";
  expect_refusal(words, ExitCode::usage,
                 {"[export] " + target + ": it is there already, got another one in " + like +
                  " and no --replace, expected that or another folder"});
  EXPECT_EQ(read_text(target), "the user's");
  EXPECT_FALSE(fs::exists(out + "/model.safetensors"));
  // A link is not followed, even if files may be replaced.
  const std::string kept = (folder.path() / "kept").string();
  fs::rename(target, kept);
  fs::create_symlink(kept, target);
  for (const auto& command : {words, replacing}) {
    expect_refusal(command, ExitCode::cannot_write, {"[export] cannot write " + target + ": a link to another file"});
  }
  fs::remove(kept);  // the link leads to nothing
  expect_refusal(words, ExitCode::cannot_write, {"[export] cannot write " + target + ": a link to another file"});
  EXPECT_FALSE(fs::exists(kept));
  EXPECT_FALSE(fs::exists(out + "/model.safetensors"));
  fs::remove(target);
  write_text(target, "the user's");
  expect_runs(replacing);
  EXPECT_EQ(read_text(target), "theirs");
  // The files of --like may be links.
  fs::rename(like + "/tokenizer.json", kept);
  fs::create_symlink(kept, like + "/tokenizer.json");
  expect_runs({"export", weights, "--like", like, "--out", out + "2"});
  EXPECT_EQ(read_text(out + "2/tokenizer.json"), "theirs");
  EXPECT_FALSE(fs::is_symlink(out + "2/tokenizer.json"));
  expect_refusal({"export", weights, "--like", like + "3", "--out", out + "3"}, ExitCode::missing_file,
                 {"[export] no folder '" + like + "3', expected that of --like"});
}

}  // namespace
}  // namespace partita
