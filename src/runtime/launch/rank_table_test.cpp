#include "runtime/launch/rank_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "runtime/launch/launcher/hosts.h"

namespace partita {
namespace {

constexpr const char* kServers = R"({
  "version": "1.0", "server_count": "2",
  "server_list": [
    {"server_id": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "192.1.27.6", "rank_id": "0"},
                                         {"device_id": "1", "device_ip": "192.2.27.6", "rank_id": "1"}],
     "host_nic_ip": "reserve"},
    {"server_id": "server_1", "server_ip": "10.0.0.2", "device": [{"device_id": "4", "rank_id": "2"}]}],
  "status": "completed"})";

constexpr const char* kGroups = R"({
  "board_id": "0x0000", "chip_info": "910", "deploy_mode": "lab", "group_count": "1",
  "group_list": [{"device_num": "2", "server_num": "1", "group_name": "", "instance_count": "2",
    "instance_list": [
      {"devices": [{"device_id": "0", "device_ip": "192.1.27.6"}], "rank_id": "0", "server_id": "10.155.111.140"},
      {"devices": [{"device_id": "1", "device_ip": "192.1.27.7"}], "rank_id": "1", "server_id": "10.155.111.140"}]}],
  "para_plane_nic_location": "device", "para_plane_nic_name": ["eth0", "eth1"], "para_plane_nic_num": "2",
  "status": "completed"})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string refusal_of_table(const std::string& text) {
  try {
    parse_rank_table("t.json", text);
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "none";
}

TEST(RankTable, ReadsBothForms) {
  const RankTable servers = parse_rank_table("t.json", kServers);
  EXPECT_EQ(servers.size(), 3);
  EXPECT_EQ(servers.addresses, (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(servers.ranks[2].server, 1);
  EXPECT_EQ(servers.ranks[2].device, 4);
  EXPECT_EQ(servers.on_server(0), (std::vector<int>{0, 1}));
  const RankTable groups = parse_rank_table("t.json", kGroups);
  EXPECT_EQ(groups.size(), 2);
  EXPECT_EQ(groups.addresses, std::vector<std::string>{"10.155.111.140"});
  EXPECT_EQ(groups.ranks[1].device, 1);
}

TEST(RankTable, NamesTheKeyAtFault) {
  EXPECT_EQ(refusal_of_table("abc"), "[rank table] t.json: not JSON, got an error at byte 1, expected a table");
  EXPECT_EQ(refusal_of_table(replaced(kServers, "\"device\": [", "\"deivce\": [")),
            "[rank table] t.json: no device of server 0, got [deivce, host_nic_ip, server_id], expected 'device', did "
            "you mean 'deivce'?");
  EXPECT_EQ(refusal_of_table(replaced(kServers, "\"rank_id\": \"1\"", "\"rank_id\": \"0\"")),
            "[rank table] t.json: wrong rank_id of device 1 of server 0, got 0 a second time, expected each rank once");
  EXPECT_EQ(refusal_of_table(replaced(kServers, "\"rank_id\": \"2\"", "\"rank_id\": \"3\"")),
            "[rank table] t.json: wrong rank_id, got 3 after 1, expected no gap");
  EXPECT_EQ(refusal_of_table(replaced(kServers, "\"rank_id\": \"2\"", "\"rank_id\": \"-2\"")),
            "[rank table] t.json: wrong rank_id of device 0 of server 1, got '-2', expected a number from 0 to 65535");
  EXPECT_EQ(refusal_of_table(replaced(kServers, "\"server_count\": \"2\"", "\"server_count\": \"3\"")),
            "[rank table] t.json: wrong server_count, got 3, expected 2, as many as follow");
  EXPECT_EQ(refusal_of_table(replaced(kServers, "completed", "initializing")),
            "[rank table] t.json: wrong status, got \"initializing\", expected \"completed\"");
  EXPECT_EQ(refusal_of_table("{}"), "[rank table] t.json: no server_list, got [], expected 'server_list'");
}

TEST(RankTable, RefusesWhatOnlyLooksLikeATable) {
  EXPECT_EQ(refusal_of_table(R"({"status": 1e999})"),
            "[rank table] t.json: not JSON, got a number that is too large, expected a table");
  // Lists in one another: reading them, and printing them in a message, is no matter of the stack.
  const std::string deep = R"({"status": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_EQ(refusal_of_table(deep), "[rank table] t.json: not JSON, got more than 16 nested lists, expected a table");
  std::string many = "{\"x\":0";
  for (int i = 0; i < 100'000; ++i) many += fmt::format(",\"{}\":0", i);
  EXPECT_EQ(refusal_of_table(many + "}"),
            "[rank table] t.json: not JSON, got more than 100000 keys in an object, expected a table");
}

TEST(RankTable, ManyServersTakeNoTime) {
  constexpr int kServerCount = 20'000;
  std::string text = R"({"group_list": [{"instance_list": [)";
  for (int i = 0; i < kServerCount; ++i) {
    text += fmt::format(R"({}{{"server_id": "{}{}", "devices": [{{"device_id": 0}}], "rank_id": {}}})",
                        i > 0 ? "," : "", std::string(100, 'a'), i, i);
  }
  EXPECT_EQ(parse_rank_table("t.json", text + "]}]}").addresses.size(), size_t{kServerCount});
}

TEST(RankTable, DamagedTextsAreRefusedOrRead) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 2 == 0 ? kServers : kGroups;
    for (int k = 0; k <= i % 4; ++k) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, random() % 20);
      } else {
        text[at] = static_cast<char>(random());
      }
    }
    try {
      EXPECT_GE(parse_rank_table("t.json", text).size(), 1);
    } catch (const InvalidFile& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("[rank table] t.json: ")) << error.what();
    }
  }
}

TEST(RankTable, ReadsThePublishedTables) {
  const char* data = std::getenv("PARTITA_DATA");
  if (data == nullptr || !std::filesystem::exists(std::string(data) + "/rank_tables")) GTEST_SKIP() << "no data here";
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(data) + "/rank_tables")) {
    if (entry.path().extension() != ".json") continue;
    const std::string path = entry.path();
    const size_t pieces = path.find("pcs");
    // Two of those are no tables; one hides the addresses of its servers.
    if (path.find("typo") != std::string::npos || path.find("fake") != std::string::npos) {
      EXPECT_THROW(read_rank_table(path), InvalidFile) << path;
      continue;
    }
    const RankTable table = read_rank_table(path);
    if (pieces != std::string::npos) {
      const size_t digits = path.find_last_not_of("0123456789", pieces - 1) + 1;
      EXPECT_EQ(table.size(), std::stoi(path.substr(digits, pieces - digits))) << path;
    }
    if (path.find("masked") != std::string::npos) {
      EXPECT_THROW(hosts_of_rank_table(path), InvalidFile) << path;
    }
    ++read;
  }
  EXPECT_GE(read, 10);
}

}  // namespace
}  // namespace partita
