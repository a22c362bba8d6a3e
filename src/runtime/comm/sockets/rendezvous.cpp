#include "runtime/comm/sockets/rendezvous.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/failure_code.h"
#include "base/listed.h"
#include "runtime/comm/sockets/addresses.h"

namespace partita {
namespace {

constexpr int kMaxStrangers = 256;  // connections that wait at a gate in addition to those of the ranks
constexpr int kMaxRefusals = 3;
constexpr std::chrono::milliseconds kNextCall{10};  // pause after a call without an answer
constexpr Timeout kReplyTime = std::chrono::seconds(5);
constexpr size_t kMaxText = 4096;

/// Head of rank 0's answer, followed by the addresses of all ranks, or by the reason why the job does not begin.
struct Reply {
  int32_t code = 0;  // an ExitCode
  int32_t bytes = 0;
};

template <size_t kSize>
void put(char (&field)[kSize], const std::string& text) {
  text.copy(field, kSize - 1);
}

Hello hello_of(const RendezvousOptions& options, const Endpoint& endpoint) {
  Hello hello{.rank = options.rank, .size = options.size, .port = endpoint.port, .host_key = options.host_key};
  put(hello.address, endpoint.host);
  put(hello.host, options.host);
  return hello;
}

void reply(const Socket& socket, ExitCode code, std::span<const std::byte> bytes) {
  const Reply head{.code = static_cast<int32_t>(code), .bytes = static_cast<int32_t>(bytes.size())};
  const Deadline until = deadline_after(kReplyTime);
  if (send_all(socket, {reinterpret_cast<const std::byte*>(&head), sizeof head}, until)) send_all(socket, bytes, until);
}

constexpr std::chrono::milliseconds kLookInterval{250};  // between two polls of the signals

int stop_signal(const RendezvousOptions& options) { return options.stop_signal ? options.stop_signal() : 0; }

std::string interruption(int signal) {
  return fmt::format("[rendezvous] interrupted, got signal {} ({}), expected all ranks to connect", signal,
                     ::strsignal(signal));
}

/// Checks that this process was not asked to end. Throws RuntimeFailure with the exit code of the signal otherwise.
void end_if_asked(const RendezvousOptions& options) {
  const int signal = stop_signal(options);
  if (signal != 0) throw RuntimeFailure(static_cast<ExitCode>(kSignalExit + signal), interruption(signal));
}

/// Waits until the peer sends something or ends. Returns false if `until` passes. Throws RuntimeFailure if this process
/// is asked to end.
bool await_word(const Socket& socket, const RendezvousOptions& options, Deadline until) {
  while (!await_readable(socket, std::min(until, deadline_after(kLookInterval)))) {
    end_if_asked(options);
    if (std::chrono::steady_clock::now() >= until) return false;
  }
  return true;
}

double seconds_of(Timeout time) { return std::chrono::duration<double>(time).count(); }

/// Connects to a rank that listens at `endpoint` and introduces this rank to it with `hello`. Repeats the call until
/// the timeout. Throws RankMissed if the rank does not answer by then; RuntimeFailure if it does not know this rank
/// (ranks_disagree), its host has no address now (peer_lost), or this process is asked to end; and what `hello` throws.
Socket call_rank(int rank, const Endpoint& endpoint, const JobKey& key, const RendezvousOptions& options,
                 const std::function<Hello(const Socket&)>& hello) {
  const Deadline until = deadline_after(options.timeout);
  int refusals = 0;
  while (true) {
    std::optional<Socket> socket = connect_to(endpoint, until, [&] { return stop_signal(options) != 0; });
    end_if_asked(options);
    if (!socket) {
      throw RankMissed(ExitCode::peer_stalled, rank,
                       fmt::format("[rendezvous] rank {} does not listen at {}, got no connection in {:.1f} s, "
                                   "expected one",
                                   rank, print(endpoint), seconds_of(options.timeout)));
    }
    prepare_connection(*socket);
    const bool is_met = await_word(*socket, options, until);  // a suspended process still has a queue of connections
    const Joining end = is_met ? join(*socket, key, hello(*socket), until) : Joining::no_answer;
    if (end == Joining::done) return std::move(*socket);
    if (end == Joining::refused && ++refusals >= kMaxRefusals) {
      throw RuntimeFailure(ExitCode::ranks_disagree,
                           fmt::format("[rendezvous] rank {} at {} does not know this rank, got another secret or run, "
                                       "expected those of its job",
                                       rank, print(endpoint)));
    }
    if (std::chrono::steady_clock::now() + kNextCall < until) {
      std::this_thread::sleep_for(kNextCall);
      continue;
    }
    throw RankMissed(ExitCode::peer_stalled, rank,
                     fmt::format("[rendezvous] rank {} at {} does not answer, got nothing in {:.1f} s, expected its "
                                 "answer",
                                 rank, print(endpoint), seconds_of(options.timeout)));
  }
}

/// Rank 0's part until all other ranks have arrived.
class Gathering {
 public:
  Gathering(const RendezvousOptions& options, const JobKey& key, Socket listener)
      : options_(options), gate_(std::move(listener), key, options.size + kMaxStrangers), links_(options.size) {}

  std::vector<Socket> links() { return std::move(links_); }

  /// Waits for all other ranks, returns where each rank is, by rank, and sends that to all of them. Throws
  /// RuntimeFailure, on all ranks, if one does not arrive, ends, or expects another number of ranks, or this process is
  /// asked to end.
  std::vector<Hello> gather() {
    std::vector<Hello> all(options_.size);
    all[0] = hello_of(options_, options_.master);
    const Deadline until = deadline_after(options_.timeout);
    for (int missing = options_.size - 1; missing > 0;) {
      std::vector<int> watched;
      for (const Socket& link : links_) {
        if (link.is_open()) watched.push_back(link.file());
      }
      std::optional<Joined> joined = gate_.next(std::min(until, deadline_after(kLookInterval)), watched);
      if (joined) {
        if (admit(*joined)) {
          all[joined->hello.rank] = joined->hello;
          --missing;
        }
        continue;
      }
      refuse_ended();
      if (const int signal = stop_signal(options_); signal != 0) {
        refuse(static_cast<ExitCode>(kSignalExit + signal), -1, interruption(signal));
      }
      if (std::chrono::steady_clock::now() >= until) refuse_missing();
    }
    for (const Socket& link : links_) {
      if (link.is_open()) reply(link, ExitCode::ok, std::as_bytes(std::span(all)));
    }
    return all;
  }

 private:
  [[noreturn]] void refuse(ExitCode code, int missed, const std::string& text) {
    for (const Socket& link : links_) {
      if (link.is_open()) reply(link, code, bytes_of(text));
    }
    if (missed >= 0) throw RankMissed(code, missed, text);
    throw RuntimeFailure(code, text);
  }

  /// Admits a process of this job. Returns false if it is not one of the expected ranks, after telling it. Throws
  /// RuntimeFailure, on all ranks, if it expects another number of ranks.
  bool admit(Joined& joined) {
    const Hello& hello = joined.hello;
    std::string wrong;
    if (hello.size != options_.size) {
      wrong = fmt::format("[rendezvous] another number of ranks, got {} from rank {} on {}, expected {} as on rank 0",
                          hello.size, hello.rank, hello.host, options_.size);
    } else if (hello.rank < 1 || hello.rank >= options_.size) {
      wrong = fmt::format("[rendezvous] rank out of range, got {} on {}, expected 1 to {}", hello.rank, hello.host,
                          options_.size - 1);
    } else if (links_[hello.rank].is_open()) {
      wrong = fmt::format("[rendezvous] a rank connected twice, got another rank {} on {}, expected one", hello.rank,
                          hello.host);
    }
    if (wrong.empty()) {
      prepare_connection(joined.socket);
      links_[hello.rank] = std::move(joined.socket);
      return true;
    }
    reply(joined.socket, ExitCode::ranks_disagree, bytes_of(wrong));
    // The other ranks expect another number.
    if (hello.size != options_.size) refuse(ExitCode::ranks_disagree, -1, wrong);
    return false;
  }

  /// Throws RuntimeFailure, on all ranks, if a rank that had arrived has ended. A rank sends nothing before it is
  /// answered, so a readable connection has ended.
  void refuse_ended() {
    for (size_t rank = 1; rank < links_.size(); ++rank) {
      if (!links_[rank].is_open() || !await_readable(links_[rank], std::chrono::steady_clock::now())) continue;
      links_[rank].close();
      refuse(ExitCode::peer_lost, static_cast<int>(rank),
             fmt::format("[rendezvous] a rank was lost: the process of rank {} ended, got no answer, expected {} ranks",
                         rank, options_.size));
    }
  }

  [[noreturn]] void refuse_missing() {
    std::vector<int> missing;
    for (int rank = 1; rank < options_.size; ++rank) {
      if (!links_[rank].is_open()) missing.push_back(rank);
    }
    const std::string strangers =
        gate_.strangers() == 0 ? "" : fmt::format(" ({} connections did not know the secret)", gate_.strangers());
    refuse(ExitCode::peer_stalled, missing.at(0),
           fmt::format("[rendezvous] timed out after {:.1f} s: waiting for {} {}, got {} of {} ranks{}, expected all",
                       seconds_of(options_.timeout), missing.size() == 1 ? "rank" : "ranks", listed(missing, ", "),
                       options_.size - static_cast<int>(missing.size()), options_.size, strangers));
  }

  const RendezvousOptions& options_;
  Gate gate_;
  std::vector<Socket> links_;
};

/// Receives rank 0's answer: where each rank is, by rank. Throws RuntimeFailure with the reason if the job does not
/// begin or this process is asked to end, RankMissed if rank 0 ends or is silent.
std::vector<Hello> receive_table(const Socket& master, const RendezvousOptions& options) {
  // Rank 0 may wait for other ranks as long as this one waits for it.
  const Deadline until = deadline_after(options.timeout + kReplyTime);
  const auto lost = [&](const std::string& what) {
    const bool silent = std::chrono::steady_clock::now() >= until;
    throw RankMissed(
        silent ? ExitCode::peer_stalled : ExitCode::peer_lost, 0,
        fmt::format("[rendezvous] a rank was lost: {}, got {}, expected the addresses of {} ranks",
                    silent ? "rank 0 does not answer" : "the process of rank 0 ended", what, options.size));
  };
  Reply head;
  const bool is_met = await_word(master, options, until);
  if (!is_met || !receive_all(master, {reinterpret_cast<std::byte*>(&head), sizeof head}, until)) lost("nothing");
  if (head.code != 0) {
    std::string text(std::clamp<size_t>(static_cast<size_t>(std::max(head.bytes, 0)), 0, kMaxText), '\0');
    receive_all(master, {reinterpret_cast<std::byte*>(text.data()), text.size()}, until);
    throw RuntimeFailure(failure_of(head.code), text);
  }
  std::vector<Hello> all(options.size);
  const auto bytes = std::as_writable_bytes(std::span(all));
  if (head.bytes != static_cast<int64_t>(bytes.size()) || !receive_all(master, bytes, until)) lost("a part of them");
  for (Hello& hello : all) hello.address[sizeof hello.address - 1] = hello.host[sizeof hello.host - 1] = 0;
  return all;
}

/// Makes the connections to ranks other than 0: this rank calls lower ranks, and higher ranks call it. Throws as
/// call_rank does, and RankMissed if a rank does not call.
void connect_others(std::vector<Socket>& links, const std::vector<Hello>& all, Socket listener, const JobKey& key,
                    const RendezvousOptions& options) {
  for (int rank = 1; rank < options.rank; ++rank) {
    links[rank] = call_rank(rank, {all[rank].address, all[rank].port}, key, options,
                            [&](const Socket&) { return hello_of(options, {}); });
  }
  Gate gate(std::move(listener), key, options.size + kMaxStrangers);
  const Deadline until = deadline_after(options.timeout);
  for (int missing = options.size - 1 - options.rank; missing > 0;) {
    std::optional<Joined> joined = gate.next(std::min(until, deadline_after(kLookInterval)));
    end_if_asked(options);
    if (joined) {
      const int rank = joined->hello.rank;
      if (rank <= options.rank || rank >= options.size || links[rank].is_open()) continue;
      prepare_connection(joined->socket);
      links[rank] = std::move(joined->socket);
      --missing;
    } else if (std::chrono::steady_clock::now() >= until) {
      int rank = options.rank + 1;
      while (links[rank].is_open()) ++rank;
      throw RankMissed(ExitCode::peer_stalled, rank,
                       fmt::format("[rendezvous] timed out after {:.1f} s: waiting for rank {} on {}",
                                   seconds_of(options.timeout), rank, all[rank].host));
    }
  }
}

}  // namespace

Rendezvous meet(const RendezvousOptions& options, const JobKey& key) {
  Rendezvous met;
  std::vector<Hello> all;
  if (options.rank == 0) {
    Socket listener = options.listener >= 0 ? Socket(options.listener) : listen_on(options.master);
    prepare_connection(listener);
    Gathering gathering(options, key, std::move(listener));
    all = gathering.gather();
    met.links = gathering.links();
  } else {
    met.links.resize(options.size);
    Socket listener;
    met.links[0] = call_rank(0, options.master, key, options, [&](const Socket& socket) {
      // Does not listen at a loopback address if rank 0 is reached from another one.
      const std::string caller = local_endpoint(socket).host;
      const bool leads_back = !options.address.empty() && is_loopback(options.address) && !is_loopback(caller);
      listener = listen_on({options.address.empty() || leads_back ? caller : options.address, 0});
      return hello_of(options, local_endpoint(listener));
    });
    all = receive_table(met.links[0], options);
    connect_others(met.links, all, std::move(listener), key, options);
  }
  for (const Hello& hello : all) met.hosts.push_back(hello.host);
  return met;
}

}  // namespace partita
