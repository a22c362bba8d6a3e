#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/failure_code.h"
#include "comm/sockets/connections.h"

// What ranks send: frames, put together to messages and given to those who wait for them.

namespace partita {
namespace {

constexpr int64_t kLeastDirect = int64_t{4} << 10;  // of a message, to be read where it is wanted

MessageLabel label_of(const FrameHead& head) {
  return {.kind = static_cast<Collective>(head.call),
          .dtype = static_cast<DType>(head.dtype),
          .reduce = static_cast<Reduce>(head.reduce),
          .root = head.root};
}

/// Whether the bytes of a message may be written where they are wanted.
bool fits(const PendingMessage& transfer, const FrameHead& head) {
  return head.bytes <= transfer.bytes && label_of(head) == transfer.label;
}

bool is_sound(const FrameHead& head) {
  if (head.kind > FrameHead::Kind::leave || head.bytes < 0 || head.bytes > Carrier::kMostBytes) return false;
  return head.call < kNames<Collective>.size() && head.dtype < std::size(kAllDTypes) &&
         head.reduce <= static_cast<uint8_t>(Reduce::min);
}

}  // namespace

void Connections::read_some(int peer) {
  Link& link = links_[peer];
  for (int64_t done = 0; done < kMostAtATime && link.socket.is_open();) {
    ssize_t came = 0;
    const bool direct = link.begin == link.end && link.rest >= kLeastDirect && link.target != nullptr;
    if (direct) {
      came =
          ::recv(link.socket.file(), link.target, static_cast<size_t>(std::min(link.rest, kMostAtATime)), MSG_DONTWAIT);
    } else {
      std::copy(link.buffer.begin() + static_cast<std::ptrdiff_t>(link.begin),
                link.buffer.begin() + static_cast<std::ptrdiff_t>(link.end), link.buffer.begin());
      link.end -= std::exchange(link.begin, 0);
      // Where long messages come, what is behind a head belongs elsewhere.
      size_t room = link.buffer.size() - link.end;
      if (!link.granted.empty()) room = std::min<size_t>(room, kLeastDirect);
      came = ::recv(link.socket.file(), link.buffer.data() + link.end, room, MSG_DONTWAIT);
    }
    if (came < 0 && errno == EINTR) continue;
    if (came < 0 && errno == EAGAIN) return;
    if (came <= 0) {
      lose(peer, ExitCode::peer_lost, fmt::format("the process of rank {} on {} ended", peer, options_.hosts[peer]));
      return;
    }
    link.heard = std::chrono::steady_clock::now();
    done += came;
    if (direct) {
      link.target += came;
      link.rest -= came;
      if (link.rest == 0) end_frame(link);
    } else {
      link.end += static_cast<size_t>(came);
      if (!parse(link)) {
        lose(peer, ExitCode::ranks_disagree,
             fmt::format("rank {} on {} sent what no rank of this version does", peer, options_.hosts[peer]));
      }
    }
  }
}

bool Connections::parse(Link& link) {
  while (true) {
    const auto here = static_cast<int64_t>(link.end - link.begin);
    if (link.rest > 0) {
      if (here == 0) return true;
      const int64_t bytes = std::min(link.rest, here);
      if (link.target != nullptr) {
        std::memcpy(link.target, link.buffer.data() + link.begin, static_cast<size_t>(bytes));
        link.target += bytes;
      }
      link.begin += static_cast<size_t>(bytes);
      link.rest -= bytes;
      if (link.rest == 0) end_frame(link);
      continue;
    }
    if (here < static_cast<int64_t>(sizeof(FrameHead))) return true;
    std::memcpy(&link.head, link.buffer.data() + link.begin, sizeof(FrameHead));
    link.begin += sizeof(FrameHead);
    if (!is_sound(link.head) || !begin_frame(link)) return false;
  }
}

bool Connections::begin_frame(Link& link) {
  const FrameHead& head = link.head;
  link.target = nullptr;
  link.into = link.transfer = nullptr;
  link.arrived = nullptr;
  switch (head.kind) {
    case FrameHead::Kind::alive: return head.bytes == 0;
    case FrameHead::Kind::leave: link.has_left = true; return head.bytes == 0;
    case FrameHead::Kind::grant: return head.bytes == 0 && send_granted(link);
    case FrameHead::Kind::request: return begins_in_order(link) && take_request(link);
    case FrameHead::Kind::abort:
      if (head.bytes > static_cast<int64_t>(kMostReason) || head.bytes == 0) return false;
      link.reason.assign(static_cast<size_t>(head.bytes), '\0');
      link.target = reinterpret_cast<std::byte*>(link.reason.data());
      break;
    case FrameHead::Kind::message:
      if (head.bytes == 0) return false;
      if (const auto granted = link.granted.find(head.number); granted != link.granted.end()) {
        return begin_granted(link, granted->second);
      } else if (head.bytes <= kMostAtOnce && begins_in_order(link)) {
        begin_message(link);
      } else {
        return false;
      }
      break;
  }
  link.rest = head.bytes;
  return true;
}

void Connections::aim(Link& link, PendingMessage& transfer, int64_t first) {
  link.into = &transfer;
  link.target = transfer.data + first;
}

/// Each message has a number of its own, above those before.
bool Connections::begins_in_order(Link& link) {
  return std::exchange(link.last_began, link.head.number) < link.head.number;
}

bool Connections::begin_granted(Link& link, Granted& message) {
  if (link.head.bytes > message.bytes - message.came) return false;
  if (message.transfer != nullptr) aim(link, *message.transfer, message.came);
  link.rest = link.head.bytes;
  message.came += link.rest;
  if (message.came < message.bytes) return true;
  link.transfer = message.transfer;
  link.granted.erase(link.head.number);
  return true;
}

void Connections::begin_message(Link& link) {
  Queue& queue = link.queues[{link.head.channel, link.head.tag}];
  if (!queue.takers.empty()) {
    link.transfer = queue.takers.front();
    queue.takers.pop_front();
    if (fits(*link.transfer, link.head)) aim(link, *link.transfer, 0);
    fill(*link.transfer, link.head);
    return;
  }
  auto& arrived = queue.arrived.emplace_back(std::make_unique<Arrived>(Arrived{.head = link.head}));
  arrived->bytes.resize(static_cast<size_t>(link.head.bytes));
  link.arrived = arrived.get();
  link.target = arrived->bytes.data();
}

bool Connections::take_request(Link& link) {
  const FrameHead& head = link.head;
  Queue& queue = link.queues[{head.channel, head.tag}];
  if (queue.takers.empty()) {
    queue.arrived.push_back(std::make_unique<Arrived>(Arrived{.head = head, .complete = true}));
    return true;
  }
  PendingMessage* taker = queue.takers.front();
  queue.takers.pop_front();
  grant(link, head, taker);
  return true;
}

void Connections::grant(Link& link, const FrameHead& request, PendingMessage* transfer) {
  if (!fits(*transfer, request)) {
    fill(*transfer, request);
    return finish(*transfer);  // the sender waits for leave that never comes: its call fails with this one
  }
  fill(*transfer, request);
  link.granted[request.number] = {.transfer = transfer, .bytes = request.bytes};
  enqueue(rank_of(link), {.head = {.kind = FrameHead::Kind::grant, .number = request.number}});
}

bool Connections::send_granted(Link& link) {
  const auto requested = link.requested.find(link.head.number);
  if (requested == link.requested.end()) return link.head.number <= link.messages;  // withdrawn meanwhile
  Outgoing frame = std::move(requested->second);
  link.requested.erase(requested);
  frame.head.kind = FrameHead::Kind::message;
  frame.is_granted = true;
  enqueue(rank_of(link), std::move(frame));
  return true;
}

void Connections::fill(PendingMessage& transfer, const FrameHead& head) {
  transfer.came = head.bytes;
  transfer.came_with = label_of(head);
}

void Connections::finish(PendingMessage& transfer) {
  std::atomic_ref<bool>(transfer.done).store(true, std::memory_order_release);
  changed_.notify();
}

void Connections::end_frame(Link& link) {
  if (link.head.kind == FrameHead::Kind::abort) {
    const ExitCode code = failure_of(link.head.tag);
    const bool is_rank = link.head.number >= 1 && link.head.number <= links_.size();
    const int lost = is_rank ? static_cast<int>(link.head.number) - 1 : -1;
    if (link.head.channel == 0) {
      world_->abort(link.reason, code, lost);
    } else {
      world_->lose(lost, code, link.reason);
    }
  } else if (link.transfer != nullptr) {
    finish(*link.transfer);
  } else if (link.arrived != nullptr) {
    Arrived& arrived = *link.arrived;
    arrived.complete = true;
    if (PendingMessage* taker = arrived.taker; taker != nullptr) {
      auto& queue = link.queues[{arrived.head.channel, arrived.head.tag}];
      if (fits(*taker, arrived.head)) std::copy(arrived.bytes.begin(), arrived.bytes.end(), taker->data);
      fill(*taker, arrived.head);
      finish(*taker);
      std::erase_if(queue.arrived, [&](const auto& one) { return one.get() == &arrived; });
    }
  }
  link.transfer = nullptr;
  link.arrived = nullptr;
}

void Connections::take(Link& link, PendingMessage& transfer, Queue& queue) {
  const auto free = std::find_if(queue.arrived.begin(), queue.arrived.end(),
                                 [](const auto& arrived) { return arrived->taker == nullptr; });
  if (free == queue.arrived.end()) {
    queue.takers.push_back(&transfer);
    return;
  }
  Arrived& arrived = **free;
  if (!arrived.complete) {
    arrived.taker = &transfer;
    return;
  }
  if (arrived.head.kind == FrameHead::Kind::request) {
    grant(link, arrived.head, &transfer);
  } else {
    if (fits(transfer, arrived.head)) std::copy(arrived.bytes.begin(), arrived.bytes.end(), transfer.data);
    fill(transfer, arrived.head);
    finish(transfer);
  }
  queue.arrived.erase(free);
}

}  // namespace partita
