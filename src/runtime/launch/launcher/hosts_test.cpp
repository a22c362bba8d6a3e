#include "runtime/launch/launcher/hosts.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace partita {
namespace {

template <class Failure, class Fn>
std::string refused(Fn&& fn) {
  try {
    fn();
  } catch (const Failure& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Hosts, Lists) {
  EXPECT_EQ(parse_hosts("a:4,b:4"), (std::vector<HostSlots>{{"a", 4}, {"b", 4}}));
  EXPECT_EQ(parse_hosts("10.0.0.1,[::1]:2"), (std::vector<HostSlots>{{"10.0.0.1", 1}, {"::1", 2}}));
  EXPECT_EQ(parse_hosts("2001:db8::12,[2001:db8::12]:2,me@a:3,me@fe80::1%eth0"),
            (std::vector<HostSlots>{{"2001:db8::12", 1}, {"2001:db8::12", 2}, {"me@a", 3}, {"me@fe80::1%eth0", 1}}));
  EXPECT_EQ(parse_hosts("me@a:3")[0].address(), "a");
  EXPECT_EQ(parse_hosts("::1")[0].address(), "::1");
  for (const std::string text : {"",
                                 "a:0",
                                 "a:x",
                                 "a,,b",
                                 "a b",
                                 "-oProxy:2",
                                 "a:70000",
                                 "a;rm",
                                 "a:4:2",
                                 "a:b:c",
                                 "[::1",
                                 "[a]:2",
                                 "[::1]2",
                                 "[::1]:",
                                 "::1]",
                                 "@a",
                                 "a@",
                                 "a@b@c",
                                 "-a@b",
                                 "me@-a",
                                 "fe80::1%",
                                 "fe80::1%-;",
                                 "1:2:3:4:5:6:7:8:9"}) {
    EXPECT_TRUE(refused<InvalidArgument>([&] { parse_hosts(text); }).starts_with("[--hosts] not a host, got '"))
        << text;
  }
}

TEST(Hosts, Files) {
  EXPECT_EQ(parse_hostfile("h", "# two\n one slots=4  # here\n\ntwo:2\r\nthree slots=3 max_slots=8\n"),
            (std::vector<HostSlots>{{"one", 4}, {"two", 2}, {"three", 3}}));
  EXPECT_EQ(refused<InvalidFile>([] { parse_hostfile("h", "one\ntwo slots=x\n"); }),
            "[hostfile] h:2: not a host, got 'slots=x', expected 'HOST', 'HOST:RANKS' or 'HOST slots=RANKS'");
  EXPECT_EQ(refused<InvalidFile>([] { parse_hostfile("h", "# nothing\n"); }),
            "[hostfile] h: no host, expected one on a line");
  EXPECT_EQ(
      parse_hostfile("h", "\xef\xbb\xbfone slots = 4\ntwo slots= 2 max_slots =8\nme@[::1] slots =3\n2001:db8::12\n"),
      (std::vector<HostSlots>{{"one", 4}, {"two", 2}, {"me@::1", 3}, {"2001:db8::12", 1}}));
  EXPECT_EQ(refused<InvalidFile>([] { parse_hostfile("h", "two slots =\n"); }),
            "[hostfile] h:1: not a host, got 'slots=', expected 'HOST', 'HOST:RANKS' or 'HOST slots=RANKS'");
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 60, ' ');
    constexpr std::string_view kLetters = "ab1:=# \nslots0";
    for (char& c : text) c = random() % 20 == 0 ? static_cast<char>(random()) : kLetters[random() % kLetters.size()];
    try {
      for (const HostSlots& host : parse_hostfile("h", text)) EXPECT_GE(host.slots, 1);
    } catch (const InvalidFile&) {
    }
  }
}

TEST(Hosts, HaveNoMoreSlotsThanAJobHasRanks) {
  EXPECT_EQ(slots_of(parse_hosts("a:65535,b")), 65536);
  EXPECT_EQ(refused<InvalidArgument>([] { parse_hosts("a:65536,b"); }),
            "[--hosts] too many ranks, got more than 65536 up to 'b', expected at most that");
  std::string many;
  for (int i = 0; i < 50'000; ++i) many += fmt::format("h{}:65536\n", i);  // an int does not hold their sum
  EXPECT_EQ(refused<InvalidFile>([&] { parse_hostfile("h", many); }),
            "[hostfile] h:2: too many ranks, got more than 65536, expected at most that");
}

TEST(Hosts, TakeTheFirstSlots) {
  const std::vector<HostSlots> hosts{{"a", 2}, {"b", 3}};
  EXPECT_EQ(taken_slots(hosts, 0), hosts);
  EXPECT_EQ(taken_slots(hosts, 3), (std::vector<HostSlots>{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(taken_slots(hosts, 2), (std::vector<HostSlots>{{"a", 2}}));
  EXPECT_EQ(refused<InvalidArgument>([&] { taken_slots(hosts, 6); }),
            "[-n] more ranks than slots, got 6, expected at most 5, or more hosts");
}

}  // namespace
}  // namespace partita
