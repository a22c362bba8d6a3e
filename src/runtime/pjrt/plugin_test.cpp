#include "runtime/pjrt/plugin.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/pjrt/element_type.h"
#include "runtime/pjrt/test_fake_plugin.h"

namespace partita::pjrt {
namespace {

/// Returns the message and the exit code of the error that `run` throws; "" and ok if it throws none.
template <class Run>
std::pair<std::string, ExitCode> error_of(const Run& run) {
  try {
    run();
  } catch (const partita::Error& error) {
    return {error.what(), error.code()};
  }
  return {"", ExitCode::ok};
}

/// Does everything once: client, upload, compile, run, download, serialize, load, and compilation without a device.
/// Returns the values of the result.
std::vector<float> use(FakePlugin& fake) {
  const Plugin plugin(fake.table(), "fake.so");
  const Client client = plugin.make_client({{"count", int64_t{2}}, {"on", true}, {"text", std::string("x")}});
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Type type{DType::f32, {2, 3}};
  const Buffer argument = client.upload(1, {type, values.data()});
  const Executable executable = client.compile("module {}", {.portable = true});
  const Buffer* arguments[] = {&argument};
  Results results = executable.run(1, arguments, /*launch=*/7);
  EXPECT_EQ(fake.launch, 7);
  results.done.wait();
  results.done.wait();
  std::vector<float> found(6);
  results.buffers.at(0).wait();
  results.buffers.at(0).download({type, found.data()});
  EXPECT_FALSE(results.buffers.at(0).is_donated());
  EXPECT_EQ(executable.run_all(std::vector<std::vector<const Buffer*>>{{&argument}, {&argument}}).size(), 2U);
  EXPECT_EQ(executable.memory().temporaries, 64);
  EXPECT_EQ(client.load(executable.serialized()).outputs(), 1U);
  const Topology topology = plugin.topology("chip", {{"topology", std::string("1x1x8")}});
  const Compiled compiled = topology.compile("module {}", {.replicas = 8});
  EXPECT_EQ(topology.platform(), "fake");
  EXPECT_EQ(compiled.optimized().bytes, "optimised");
  EXPECT_EQ(compiled.optimized().format, "hlo");
  EXPECT_EQ(compiled.memory().peak, 128);
  return found;
}

TEST(Plugin, RunsAndLeavesNothing) {
  FakePlugin fake;
  EXPECT_EQ(use(fake), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(fake.alive.empty()) << *fake.alive.begin();
}

TEST(Plugin, RefusesOtherVersions) {
  const auto refusal = [](const Table* table) { return error_of([&] { Plugin(table, "fake.so"); }); };
  constexpr const char* kMessage =
      "[device] fake.so: a plugin that cannot be used, got {}, expected version 0.57 of the PJRT interface or a later "
      "0.x";
  EXPECT_EQ(refusal(nullptr), std::pair(fmt::format(fmt::runtime(kMessage), "no functions"), ExitCode::usage));
  for (const auto& [major, minor] : {std::pair(0, 56), {0, 0}, {1, 0}, {1, 90}}) {
    FakePlugin fake;
    fake.table()->version.major = major;
    fake.table()->version.minor = minor;
    EXPECT_EQ(refusal(fake.table()).first,
              fmt::format(fmt::runtime(kMessage), fmt::format("version {}.{}", major, minor)));
  }
  for (const int minor : {57, 90, 117, 1000}) {
    FakePlugin fake;
    fake.table()->version.minor = minor;
    EXPECT_EQ(refusal(fake.table()).first, "");
  }
  FakePlugin fake;
  fake.table()->struct_size = 16;
  EXPECT_EQ(refusal(fake.table()).first, fmt::format(fmt::runtime(kMessage), "a table of 16 bytes"));
}

TEST(Plugin, EveryFailureHasItsErrorAndLeavesNothing) {
  using F = Function;
  const std::set<F> setup{F::plugin_initialize, F::client_create, F::client_addressable_devices, F::topology_create};
  const std::set<F> all{F::plugin_initialize,
                        F::client_create,
                        F::client_addressable_devices,
                        F::topology_create,
                        F::topology_platform_name,
                        F::client_compile,
                        F::client_buffer_from_host,
                        F::executable_num_outputs,
                        F::executable_optimized_program,
                        F::executable_serialize,
                        F::loaded_executable_get_executable,
                        F::loaded_executable_addressable_devices,
                        F::loaded_executable_execute,
                        F::executable_deserialize_and_load,
                        F::buffer_element_type,
                        F::buffer_dimensions,
                        F::buffer_is_deleted,
                        F::buffer_to_host,
                        F::buffer_ready_event,
                        F::compile,
                        F::executable_memory_stats,
                        F::event_await};
  for (const F function : all) {
    for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::failed_precondition, ErrorCode::unimplemented,
                                 ErrorCode::resource_exhausted}) {
      FakePlugin fake;
      fake.failing[function] = code;
      const auto [message, exit] = error_of([&] { use(fake); });
      const ExitCode expected = code == ErrorCode::resource_exhausted ? ExitCode::out_of_memory
                                : setup.contains(function)            ? ExitCode::usage
                                                                      : ExitCode::internal;
      EXPECT_EQ(exit, expected) << name_of(function) << ": " << message;
      EXPECT_NE(message.find("as the test wants"), std::string::npos) << message;
      EXPECT_TRUE(fake.alive.empty()) << name_of(function) << " leaves " << *fake.alive.begin();
    }
    FakePlugin fake;
    fake.remove(function);
    const auto [message, exit] = error_of([&] { use(fake); });
    EXPECT_EQ(
        message,
        fmt::format("[device] fake.so: a plugin that is too old, got no {} in version 0.90, expected one that has it",
                    name_of(function)));
    EXPECT_EQ(exit, ExitCode::usage);
    EXPECT_TRUE(fake.alive.empty()) << name_of(function) << " leaves " << *fake.alive.begin();
  }
}

TEST(Plugin, SaysWhyThereIsNoDevice) {
  FakePlugin fake;
  fake.failing[Function::client_create] = ErrorCode::failed_precondition;
  EXPECT_EQ(error_of([&] { use(fake); }).first,
            "[device] fake.so: the plugin has no device to use, got code 9 of PJRT_Client_Create: as the test wants, "
            "expected a device with its driver");
  FakePlugin full;
  full.failing[Function::client_buffer_from_host] = ErrorCode::resource_exhausted;
  EXPECT_EQ(error_of([&] { use(full); }).first, "[memory] out of memory: the device: as the test wants");
  FakePlugin broken;
  broken.failing[Function::client_compile] = ErrorCode::invalid_argument;
  EXPECT_EQ(error_of([&] { use(broken); }).first,
            "[device] fake.so: PJRT_Client_Compile failed with code 3: as the test wants");
}

TEST(Plugin, SaysWhatADeviceHasIfItKnows) {
  FakePlugin fake;
  const Client client = Plugin(fake.table(), "fake.so").make_client();
  EXPECT_EQ(client.memory_limit(1), std::nullopt);
  fake.memory_limit = 1000;
  EXPECT_EQ(client.memory_limit(1), 1000);
  fake.failing[Function::device_memory_stats] = ErrorCode::unimplemented;
  EXPECT_EQ(client.memory_limit(1), std::nullopt);
  fake.remove(Function::device_memory_stats);
  EXPECT_EQ(client.memory_limit(1), std::nullopt);
}

// The plugin accepts a run, and says what went wrong with it where its results are waited for.
TEST(Plugin, ErrorsThatSurfaceLateAreThrownWhereTheHostWaits) {
  for (const Function cause : {Function::loaded_executable_execute, Function::buffer_to_host,
                               Function::buffer_ready_event, Function::client_buffer_from_host}) {
    FakePlugin fake;
    fake.failing_later[cause] = ErrorCode::resource_exhausted;
    EXPECT_EQ(error_of([&] { use(fake); }).second, ExitCode::out_of_memory) << name_of(cause);
    EXPECT_TRUE(fake.alive.empty()) << name_of(cause) << " leaves " << *fake.alive.begin();
  }
}

// Codes of a device at fault, noticed at once or late. In other functions they are errors of the program.
TEST(Plugin, ADeviceThatIsLostHasItsError) {
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::internal, ErrorCode::data_loss, ErrorCode::aborted}) {
    for (const Function cause : {Function::loaded_executable_execute, Function::buffer_to_host,
                                 Function::buffer_ready_event, Function::client_buffer_from_host}) {
      for (const bool is_late : {false, true}) {
        FakePlugin fake;
        (is_late ? fake.failing_later : fake.failing)[cause] = code;
        const auto [message, exit] = error_of([&] { use(fake); });
        EXPECT_EQ(exit, ExitCode::peer_lost) << message;
        EXPECT_EQ(message, fmt::format("[device] the device was lost, got code {} of {}: as the test wants, expected a "
                                       "device that answers",
                                       static_cast<int>(code), name_of(cause)));
        EXPECT_TRUE(fake.alive.empty()) << name_of(cause) << " leaves " << *fake.alive.begin();
      }
    }
    FakePlugin fake;
    fake.failing[Function::client_compile] = code;
    EXPECT_EQ(error_of([&] { use(fake); }).second, ExitCode::internal);
  }
  EXPECT_STREQ(
      DeviceLost("code 14").at("in the program of x on rank 3").what(),
      "[device] the device was lost, got code 14: in the program of x on rank 3, expected a device that answers");
}

TEST(Plugin, AWaitThatLastsIsWatched) {
  FakePlugin fake;
  const Client client = Plugin(fake.table(), "fake.so").make_client();
  const float value = 1;
  const auto upload = [&] { client.upload(0, {{DType::f32, {}}, &value}); };
  /// Tells those who wait that the events have happened.
  const auto tell = [&] {
    for (const auto& [callback, argument] : std::exchange(fake.stuck, {})) callback(nullptr, argument);
  };
  int calls = 0, others = 0;
  std::chrono::milliseconds waited{0};
  const auto watch = client.watch_waits([&](std::chrono::milliseconds time) {
    ++calls;
    waited = time;
    if (calls % 3 == 0) tell();
  });
  upload();
  EXPECT_EQ(calls, 0);
  fake.failing_later[Function::client_buffer_from_host] = ErrorCode::unavailable;
  EXPECT_EQ(error_of(upload).second, ExitCode::peer_lost);
  EXPECT_EQ(calls, 0) << "an error is no late event";
  EXPECT_EQ(fake.alive.count("error"), 0U);
  fake.failing_later.clear();
  fake.is_stuck = true;
  upload();
  EXPECT_EQ(calls, 3);
  EXPECT_GE(waited, std::chrono::milliseconds(200));
  client.watch_waits([&](std::chrono::milliseconds) { ++others; });  // which nobody keeps
  upload();
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(others, 0);
  fake.remove(Function::event_on_ready);
  upload();
  EXPECT_EQ(calls, 6) << "a plugin that cannot tell of events";
}

// A plugin may leave out parts when it saves a program that it loaded.
TEST(Plugin, ALoadedProgramIsSavedAsItWas) {
  FakePlugin fake;
  const Client client = Plugin(fake.table(), "fake.so").make_client();
  const std::string bytes = client.compile("module {}", {}).serialized();
  const int before = fake.calls[Function::executable_serialize];
  EXPECT_EQ(client.load(bytes).serialized(), bytes);
  EXPECT_EQ(fake.calls[Function::executable_serialize], before);
}

TEST(Plugin, AProcessCannotUseTheClientOfItsParent) {
  FakePlugin fake;
  const Plugin plugin(fake.table(), "fake.so");
  const Client client = plugin.make_client();
  const float value = 1;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto [message, exit] = error_of([&] { client.upload(0, {{DType::f32, {}}, &value}); });
    const bool is_right = exit == ExitCode::usage && message.ends_with("which made it: no device survives a fork");
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(client.upload(0, {{DType::f32, {}}, &value}).type(), (Type{DType::f32, {}}));
}

TEST(Plugin, SaysWhyALibraryIsNone) {
  const auto [missing, exit] = error_of([] { Plugin::load("/nowhere/plugin.so"); });
  EXPECT_EQ(missing,
            "[device] no PJRT plugin, got /nowhere/plugin.so: cannot open shared object file: No such file or "
            "directory, expected the path of a plugin's library");
  EXPECT_EQ(exit, ExitCode::usage);
  EXPECT_EQ(error_of([] { Plugin::load("libm.so.6"); }).first,
            "[device] no PJRT plugin, got libm.so.6 without GetPjrtApi, expected the path of a plugin's library");
}

TEST(Plugin, AnAssignedBufferReplacesTheOther) {
  FakePlugin fake;
  const Client client = Plugin(fake.table(), "fake.so").make_client();
  const float values[] = {1, 2};
  Buffer first = client.upload(0, {{DType::f32, {}}, values});
  {
    Buffer second = client.upload(0, {{DType::f32, {2}}, values});
    first = std::move(second);
  }
  EXPECT_EQ(first.type(), (Type{DType::f32, {2}}));
  EXPECT_EQ(fake.alive.count("buffer"), 1U);
}

TEST(Plugin, CopiesArraysBetweenDevices) {
  FakePlugin fake;
  const Client client = Plugin(fake.table(), "fake.so").make_client();
  ASSERT_TRUE(client.copies());
  const float values[] = {1, 2, 3};
  std::optional<Buffer> first = client.upload(0, {{DType::f32, {3}}, values});
  const Buffer second = client.copied(*first, 1);
  first.reset();
  float copied[3] = {};
  second.download({{DType::f32, {3}}, copied});
  EXPECT_TRUE(std::ranges::equal(copied, values));
  EXPECT_THROW(client.copied(second, 2), InternalError);
  fake.failing[Function::buffer_copy_to_device] = ErrorCode::resource_exhausted;
  EXPECT_EQ(error_of([&] { client.copied(second, 0); }).second, ExitCode::out_of_memory);
  fake.failing.clear();
  EXPECT_THROW(client.copied(second, 1), InternalError) << "plugins may refuse a copy within a device";
  fake.remove(Function::buffer_copy_to_device);
  EXPECT_FALSE(client.copies());
}

TEST(ElementTypes, AreThoseOfPlugins) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8,
                            DType::u32, DType::boolean}) {
    EXPECT_EQ(dtype_of(static_cast<int>(element_type(dtype))), dtype);
  }
  EXPECT_EQ(error_of([] { dtype_of(99); }).first, "[device] an element type of a plugin that is unknown here, got 99");
}

TEST(CompileOptions, AreMessagesOfProtocolBuffers) {
  using namespace std::string_literals;
  // ExecutableBuildOptionsProto {1: -1, 4: 1, 5: 1}
  const std::string build = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01"s;
  EXPECT_EQ(serialized({}), "\x1a\x0f"s + build);
  EXPECT_EQ(serialized({.portable = true}), "\x1a\x0f"s + build + "\x20\x01");
  EXPECT_EQ(serialized({.flags = {{"a", true}, {"b", int64_t{300}}, {"c", "xy"s}}}),
            "\x1a\x0f"s + build + "\x3a\x07\x0a\x01\x61\x12\x02\x10\x01" + "\x3a\x08\x0a\x01\x62\x12\x03\x18\xac\x02" +
                "\x3a\x09\x0a\x01\x63\x12\x04\x0a\x02xy");
  // DeviceAssignmentProto {1: 2, 2: 1, 3: {1: [5, 200]}}
  EXPECT_EQ(serialized({.replicas = 2, .devices = {5, 200}}),
            "\x1a\x1c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x02\x28\x01"s +
                "\x4a\x0b\x08\x02\x10\x01\x1a\x05\x0a\x03\x05\xc8\x01");
  EXPECT_THROW(serialized({.replicas = 2, .devices = {5}}), InternalError);
}

}  // namespace
}  // namespace partita::pjrt
