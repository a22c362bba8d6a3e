#include "runtime/comm/sockets/addresses.h"

#include <gtest/gtest.h>
#include <netdb.h>

#include <vector>

#include "runtime/comm/sockets/socket.h"

namespace partita {
namespace {

TEST(Addresses, ThatLeadBack) {
  for (const char* host : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"10.0.0.1", "2001:db8::12", "fe80::1", "128.0.0.1", "no-such-host.invalid"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Addresses, ThatDoNotExist) {
  EXPECT_TRUE(has_no_address(EAI_NONAME));
  EXPECT_TRUE(has_no_address(EAI_NODATA));
  for (const int status : {0, EAI_AGAIN, EAI_FAIL, EAI_SYSTEM, EAI_MEMORY}) {
    EXPECT_FALSE(has_no_address(status)) << ::gai_strerror(status);
  }
  EXPECT_EQ(why_unknown("127.0.0.1"), "");
  EXPECT_EQ(why_unknown("no..host"), ::gai_strerror(EAI_NONAME));  // no name, so that no server has to be asked
}

TEST(Addresses, OfThisHostForOthers) {
  // What there is depends on this machine: never a loopback address, and one at which it can listen.
  for (const std::vector<std::string>& others : std::vector<std::vector<std::string>>{
           {}, {"127.0.0.1"}, {"192.0.2.7"}, {"no-such-host.invalid", "192.0.2.7"}, {"::1", "2001:db8::12"}}) {
    const std::string address = outward_address(others);
    if (address.empty()) continue;
    EXPECT_FALSE(is_loopback(address)) << address;
    EXPECT_TRUE(listen_on({address, 0}).is_open()) << address;
  }
}

}  // namespace
}  // namespace partita
