#include "runtime/launch/launched.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/rank_variables.h"

namespace partita {
namespace {

std::optional<LaunchedRank> from(const std::map<std::string, std::string>& environment) {
  return launched_rank([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launched, Alone) {
  EXPECT_FALSE(from({}));
  EXPECT_FALSE(from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})) << "a batch script";
  EXPECT_FALSE(from({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(from({{"DEVICE_ID", "0"}, {"RANK_ID", "0"}})) << "a script's device, and no table";
}

TEST(Launched, ByMpirun) {
  const auto rank = from({{"OMPI_COMM_WORLD_RANK", "5"},
                          {"OMPI_COMM_WORLD_SIZE", "8"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 5);
  EXPECT_EQ(rank->size, 8);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_size, 4);
  EXPECT_EQ(rank->launcher, "mpirun");
}

TEST(Launched, BySrun) {
  const auto rank = from({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "1"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->size, 4);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->launcher, "srun");
  const auto pmix = from({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "2"}});
  EXPECT_EQ(pmix->rank, 2);
  for (const auto& [host, tasks] : {std::pair("0", 4), std::pair("1", 4), std::pair("2", 3), std::pair("3", 1)}) {
    const auto here = from({{"SLURM_PROCID", "3"},
                            {"SLURM_STEP_NUM_TASKS", "11"},
                            {"SLURM_NODEID", host},
                            {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}});
    EXPECT_EQ(here->local_size, tasks) << host;
  }
}

TEST(Launched, BySrunWithoutMpi) {
  std::map<std::string, std::string> step{{"SLURM_PROCID", "3"},
                                          {"SLURM_STEP_NUM_TASKS", "4"},
                                          {"SLURM_STEP_NODELIST", "rack[02-03,7]n[1,3],other"},
                                          {"SLURM_STEP_NUM_NODES", "5"},
                                          {"SLURM_JOB_ID", "1000"},
                                          {"SLURM_STEP_ID", "2"}};
  const auto rank = from(step);
  ASSERT_TRUE(rank->meeting);
  EXPECT_EQ(rank->meeting->master, "rack02n1:21002");
  EXPECT_EQ(rank->meeting->address, "");
  EXPECT_EQ(rank->meeting->run, "1000.2");
  // Their numbers have 32 bits and more.
  step["SLURM_JOB_ID"] = "4294961000";
  step["SLURM_STEP_ID"] = "4294967290";
  EXPECT_EQ(from(step)->meeting->master, "rack02n1:28290");
  EXPECT_EQ(from(step)->meeting->run, "4294961000.4294967290");
  step["SLURM_JOB_ID"] = "123456789012345678901234567890";
  EXPECT_EQ(from(step)->meeting->run, "123456789012345678901234567890.4294967290");
  step["SLURM_JOB_ID"] = "1000_7";  // of an array, as squeue writes it
  EXPECT_EQ(from(step)->meeting->run, "1000_7.4294967290");
  step["SLURM_STEP_NUM_NODES"] = "1";
  step["PARTITA_PORT"] = "7000";
  EXPECT_EQ(from(step)->meeting->master, "127.0.0.1:7000");
  for (const char* interface : {"PMIX_RANK", "PMI_RANK", "PMI_FD"}) {
    auto with = step;
    with[interface] = "3";
    EXPECT_FALSE(from(with)->meeting) << interface << ": MPI";
  }
  step["SLURM_STEP_NODELIST"] = "rack[";
  EXPECT_EQ(from(step)->meeting->master, "127.0.0.1:7000");
  step["SLURM_STEP_NODELIST"] = "";
  EXPECT_FALSE(from(step)->meeting);
}

TEST(Launched, ByItself) {
  const auto rank = from({{"PARTITA_RANK", "3"},
                          {"PARTITA_SIZE", "4"},
                          {"PARTITA_LOCAL_RANK", "1"},
                          {"PARTITA_LOCAL_SIZE", "2"},
                          {"PARTITA_MASTER", "a:7000"},
                          {"PARTITA_RUN", "2"},
                          {"OMPI_COMM_WORLD_SIZE", "8"}});
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->local_size, 2);
  ASSERT_TRUE(rank->meeting);
  EXPECT_EQ(rank->meeting->master, "a:7000");
  EXPECT_EQ(rank->meeting->run, "2");
  EXPECT_EQ(rank->meeting->listener, -1);
  EXPECT_THROW(from({{"PARTITA_RANK", "3"}, {"PARTITA_SIZE", "4"}}), InvalidArgument);
  // mpirun starts the processes, which meet without MPI.
  const auto mixed = from({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PARTITA_MASTER", "a:7000"}});
  EXPECT_EQ(mixed->launcher, "mpirun");
  EXPECT_TRUE(mixed->meeting);
}

TEST(Launched, ByTorchrun) {
  std::map<std::string, std::string> given{{"RANK", "5"},           {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"},
                                           {"MASTER_PORT", "2900"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}};
  const auto rank = from(given);
  EXPECT_EQ(rank->rank, 5);
  EXPECT_EQ(rank->local_size, 4);
  EXPECT_EQ(rank->meeting->master, "node1:2900");
  given["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(from(given)->meeting->master, "node1:2901");
  given["MASTER_ADDR"] = "2001:db8::12";
  EXPECT_EQ(from(given)->meeting->master, "[2001:db8::12]:2901");
  given["WORLD_SIZE"] = "1";
  given["RANK"] = given["LOCAL_RANK"] = "0";
  given["LOCAL_WORLD_SIZE"] = "1";
  EXPECT_FALSE(from(given));
  given.erase("MASTER_PORT");
  EXPECT_FALSE(from(given));
}

TEST(Launched, ByARankTable) {
  const std::string path = testing::TempDir() + "rank_table.json";
  std::ofstream(path) << R"({"server_list": [
    {"server_id": "10.0.0.1", "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}]},
    {"server_id": "10.0.0.2", "device": [{"device_id": "0", "rank_id": "2"}, {"device_id": "1", "rank_id": "3"}]}]})";
  const auto rank = from({{"RANK_TABLE_FILE", path}, {"RANK_ID", "3"}, {"RANK_SIZE", "4"}, {"DEVICE_ID", "1"}});
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_size, 2);
  EXPECT_EQ(rank->meeting->master, "10.0.0.1:29400");
  EXPECT_EQ(rank->meeting->address, "10.0.0.2");
  EXPECT_THROW(from({{"RANK_TABLE_FILE", path}, {"RANK_ID", "3"}, {"RANK_SIZE", "8"}}), InvalidArgument);
  EXPECT_THROW(from({{"RANK_TABLE_FILE", path}, {"DEVICE_ID", "1"}}), InvalidArgument) << "on which server?";
  EXPECT_FALSE(from({{"RANK_TABLE_FILE", path}})) << "no rank of it";
  // The older form and variable; a device of the only server tells the rank.
  std::ofstream(path) << R"({"group_list": [{"instance_list": [
    {"devices": [{"device_id": "4"}], "rank_id": "0", "server_id": "a"},
    {"devices": [{"device_id": "5"}], "rank_id": "1", "server_id": "a"}]}]})";
  const auto old = from({{"MINDSPORE_HCCL_CONFIG_PATH", path}, {"DEVICE_ID", "5"}});
  EXPECT_EQ(old->rank, 1);
  EXPECT_EQ(old->meeting->master, "127.0.0.1:29400");
}

// One environment for each launcher and each of its ways to give a rank, all for rank 1 of two.
std::vector<std::map<std::string, std::string>> environments_of_rank_1(const std::string& table) {
  std::ofstream(table) << R"({"server_list": [
    {"server_id": "a", "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}]}]})";
  return {{{"PARTITA_RANK", "1"}, {"PARTITA_SIZE", "2"}, {"PARTITA_MASTER", "a:7000"}},
          {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
          {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}},
          {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_RANK", "1"}},
          {{"RANK_TABLE_FILE", table}, {"RANK_ID", "1"}},
          {{"MINDSPORE_HCCL_CONFIG_PATH", table}, {"DEVICE_ID", "1"}},
          {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "2900"}}};
}

// usable_cores() finds the launcher's process by the variables that differ between ranks.
TEST(Launched, TheVariablesThatSetTheRankAreListed) {
  const auto environments = environments_of_rank_1(testing::TempDir() + "listed_rank_table.json");
  std::set<std::string> given, asked;
  launched_rank([&](const char* name) -> const char* {
    asked.insert(name);
    return nullptr;
  });
  std::set<std::string> setting;  // variables whose value alone changes the rank
  for (const auto& environment : environments) {
    ASSERT_TRUE(from(environment));
    EXPECT_EQ(from(environment)->rank, 1);
    for (const auto& [name, value] : environment) {
      given.insert(name);
      auto changed = environment;
      changed[name] = "0";
      try {
        const auto other = from(changed);
        if (other && other->rank != 1) setting.insert(name);
      } catch (const Error&) {  // it is no number
      }
    }
  }
  EXPECT_EQ(setting.size(), 7u);
  for (const std::string& name : setting) {
    EXPECT_EQ(std::count(std::begin(kRankVariables), std::end(kRankVariables), name), 1) << name;
  }
  // A new launcher needs an environment above.
  for (const std::string& name : asked) EXPECT_TRUE(given.contains(name)) << name;
}

TEST(Launched, RefusesNonsense) {
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_RANK", "8"}, {"OMPI_COMM_WORLD_SIZE", "8"}}), InvalidArgument);
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "8"}}), InvalidArgument);
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_SIZE", "-1"}}), InvalidArgument);
}

TEST(Launched, RefusesHostsThatDoNotFitTheWorld) {
  const auto refusal = [](std::map<std::string, std::string> given) -> std::string {
    given.insert({{"PARTITA_RANK", "1"}, {"PARTITA_SIZE", "4"}, {"PARTITA_MASTER", "a:7000"}});  // if not given
    try {
      from(given);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "none";
  };
  const auto of_host = [](int rank, int size) {
    return fmt::format(
        "[launch] the ranks of this host do not fit the world, got rank {} of {} from partita launch, "
        "expected a rank of 1 to 4",
        rank, size);
  };
  EXPECT_EQ(refusal({{"PARTITA_LOCAL_SIZE", "0"}}), of_host(0, 0));  // cores would be split among no ranks
  EXPECT_EQ(refusal({{"PARTITA_LOCAL_SIZE", "5"}}), of_host(0, 5));
  EXPECT_EQ(refusal({{"PARTITA_LOCAL_RANK", "2"}, {"PARTITA_LOCAL_SIZE", "2"}}), of_host(2, 2));
  EXPECT_EQ(refusal({{"PARTITA_LOCAL_RANK", "3"}}), "none");
  EXPECT_EQ(refusal({{"PARTITA_SIZE", "2000000000"}}),
            "[launch] too many ranks, got 2000000000 from partita launch, expected at most 65536");
  const auto here = from({{"SLURM_PROCID", "3"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_TASKS_PER_NODE", "4(x-2147483648),3"}});
  EXPECT_EQ(here->local_size, 1);
  const std::map<std::string, std::string> torchrun{{"RANK", "1"},
                                                    {"WORLD_SIZE", "2"},
                                                    {"MASTER_ADDR", "node1"},
                                                    {"MASTER_PORT", "2147483647"},
                                                    {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  EXPECT_EQ(from(torchrun)->meeting->master, "node1:2147483648");  // which no address can be
}

}  // namespace
}  // namespace partita
