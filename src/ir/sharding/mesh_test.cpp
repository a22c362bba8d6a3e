#include "ir/sharding/mesh.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(Mesh, AxesArePrimesLargestFirst) {
  const Mesh mesh({{"dp", 2}, {"mp", 12}});
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes()) {
    names.push_back(axis.name);
    sizes.push_back(axis.size);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"dp", "mp.0", "mp.1", "mp.2"}));
  EXPECT_EQ(sizes, (std::vector<int64_t>{2, 3, 2, 2}));
  EXPECT_EQ(mesh.ranks(), 24);
  EXPECT_EQ(mesh.find("mp"), (Axes{1, 2, 3}));
  EXPECT_EQ(mesh.find("mp.1"), (Axes{2}));
  EXPECT_EQ(mesh.print(mesh.find("mp")), "mp.0,mp.1,mp.2");
}

TEST(Mesh, RanksAreRowMajor) {
  const Mesh mesh({{"a", 2}, {"b", 6}});
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) EXPECT_EQ(mesh.rank_of(mesh.coordinates(rank)), rank);
  EXPECT_EQ(mesh.coordinates(7), (std::vector<int64_t>{1, 0, 1}));
}

TEST(Mesh, Groups) {
  const Mesh mesh({{"p", 8}});
  EXPECT_EQ(mesh.group(5, {1, 2}), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(mesh.group(5, {0}), (std::vector<int>{1, 5}));
  EXPECT_EQ(mesh.group(0, {1, 0}), (std::vector<int>{0, 4, 2, 6}));
  EXPECT_EQ(mesh.group(3, {}), (std::vector<int>{3}));
  for (int64_t rank = 0; rank < 8; ++rank) {
    const Axes axes{2, 0};
    EXPECT_EQ(mesh.group(rank, axes)[mesh.index_on(mesh.coordinates(rank), axes)], rank);
  }
  const Mesh six({{"x", 2}, {"y", 3}});
  EXPECT_EQ(six.group(4, {0}), (std::vector<int>{1, 4}));
  EXPECT_EQ(six.group(4, {1}), (std::vector<int>{3, 4, 5}));
}

TEST(Mesh, LargeGroupsAreShortened) {
  const Mesh mesh({{"a", 2}, {"b", 17}, {"c", 16}});
  EXPECT_EQ(print_group(mesh, 0, mesh.find("c"), ", "), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15");
  EXPECT_EQ(print_group(mesh, 3, mesh.find("b"), ","), "3,19,35,..,259");
  EXPECT_EQ(print_group(mesh, 3, mesh.find("a"), ","), "3,275");
  EXPECT_EQ(print_group(mesh, 3, {}, ","), "3");
  for (int64_t index = 0; index < 17; ++index) {
    EXPECT_EQ(mesh.member(300, mesh.find("b"), index), mesh.group(300, mesh.find("b"))[index]);
  }
}

TEST(Mesh, AListSaysWhichRankIsWhere) {
  const Mesh mesh({{"x", 2}, {"y", 3}}, {4, 0, 9, 7, 2, 5});
  EXPECT_EQ(mesh.coordinates(7), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(mesh.group(9, {1}), (std::vector<int>{4, 0, 9}));
  EXPECT_EQ(mesh.group(9, {0}), (std::vector<int>{9, 5}));
  for (int rank : mesh.rank_list()) EXPECT_EQ(mesh.rank_of(mesh.coordinates(rank)), rank);
  EXPECT_FALSE(mesh == Mesh({{"x", 2}, {"y", 3}}));
  EXPECT_THROW(mesh.coordinates(1), InternalError);
  EXPECT_TRUE(Mesh({{"x", 2}, {"y", 2}}, {0, 1, 2, 3}) == Mesh({{"x", 2}, {"y", 2}}));
}

TEST(Mesh, TextReadsBack) {
  for (const char* text : {"mesh", "mesh data=4 model=6", "mesh one=1", "mesh a=2 b=2 ranks=(0,2,1,3)",
                           "mesh stage=3 ranks=(5,4,9)", "mesh ranks=2", "mesh undivided a=4 b=6"}) {
    EXPECT_EQ(print(parse_mesh(text)), text);
  }
  EXPECT_EQ(Mesh().ranks(), 1);
  EXPECT_TRUE(Mesh({{"one", 1}}).find("one").empty());
}

TEST(Mesh, OneRankHasNoAxes) {
  try {
    Mesh().axis("data");
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[mesh] unknown axis, got 'data', expected none: the mesh has one rank");
  }
}

TEST(Mesh, HasFewAxes) {
  std::string many = "mesh";
  for (int i = 0; i < 50'000; ++i) many += fmt::format(" a{}=1", i);
  try {
    parse_mesh(many);
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[mesh] too many axes, got 50000, expected at most 64");
  }
}

TEST(Mesh, BadTextIsRefused) {
  for (const char* text : {"",
                           "grid a=2",
                           "mesh a",
                           "mesh a=",
                           "mesh =2",
                           "mesh a=0",
                           "mesh a=-1",
                           "mesh a=2x",
                           "mesh a=2 ranks=(",
                           "mesh a=2 ranks=()",
                           "mesh a=2 ranks=(1,0) ranks=(0,1)",
                           "mesh a=2 undivided",
                           "mesh a=2 ranks=(0)",
                           "mesh a=2 ranks=(0,0)",
                           "mesh a=2 ranks=(0,-1)",
                           "mesh a=2 ranks=(0,x)",
                           "mesh a=2 ranks=(0,1,2)",
                           "mesh a=2 a=3",
                           "mesh a=1048577",
                           "mesh a=1024 b=1025",
                           "mesh a=99999999999999999999"}) {
    EXPECT_THROW(parse_mesh(text), InvalidArgument) << text;
  }
  EXPECT_THROW(Mesh({{"data", 2}}).find("dat"), InvalidArgument);
}

}  // namespace
}  // namespace partita
