#include "runtime/comm/messages/call_messages.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace partita {
namespace {

constexpr Timeout kMessageLookInterval = std::chrono::milliseconds(200);  // between two checks for ranks that have gone

}  // namespace

CallMessages::CallMessages(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
                           std::function<bool(int)> is_gone)
    : carrier_(carrier), world_ranks_(world_ranks), world_(world), is_gone_(std::move(is_gone)) {}

void CallMessages::require_usable(const Call& call) const {
  world_.throw_if_aborted(call, world_ranks_);
  if (failed_) {
    throw RuntimeFailure(
        ExitCode::peer_stalled,
        fmt::format("[{}] an earlier call of the group failed, got another call, expected none of ({})",
                    name_of(call.kind), listed(world_ranks_, ",")));
  }
}

void CallMessages::begin(const Call& call, Timeout timeout) {
  require_usable(call);
  call_ = &call;
  timeout_ = timeout;
  deadline_ = deadline_after(timeout);
}

void CallMessages::post(const Call& call, int to) {
  require_usable(call);
  auto* data = static_cast<std::byte*>(const_cast<void*>(call.send));
  const int64_t bytes = call.count * item_bytes(call);
  for (int64_t done = 0; done < bytes; done += Carrier::kMaxBytes) {
    carrier_.post({.data = data + done,
                   .bytes = std::min(Carrier::kMaxBytes, bytes - done),
                   .peer = to,
                   .tag = point_to_point,
                   .label = {.kind = Collective::send, .dtype = call.dtype}});
  }
}

MessageLabel CallMessages::label() const {
  const bool is_point_to_point = call_->kind == Collective::send || call_->kind == Collective::recv;
  return {.kind = is_point_to_point ? Collective::send : call_->kind,
          .dtype = call_->dtype,
          .reduce = call_->reduce,
          .root = call_->root};
}

void CallMessages::start_send(const BufferPart& piece, int to, Tag tag) {
  start(PendingMessage::Way::send, piece, to, tag);
}

void CallMessages::start_receive(const BufferPart& piece, int from, Tag tag) {
  start(PendingMessage::Way::receive, piece, from, tag);
}

void CallMessages::start(PendingMessage::Way way, const BufferPart& piece, int peer, Tag tag) {
  for (int64_t done = 0; done < piece.bytes; done += Carrier::kMaxBytes) {
    carrier_.start(pending_.emplace_back(PendingMessage{.way = way,
                                                        .data = static_cast<std::byte*>(piece.data) + done,
                                                        .bytes = std::min(Carrier::kMaxBytes, piece.bytes - done),
                                                        .peer = peer,
                                                        .tag = tag,
                                                        .label = label()}));
  }
}

void CallMessages::wait() {
  wait(pending_.size());
  pending_.clear();
}

void CallMessages::wait(size_t count) {
  while (!carrier_.wait(pending_, count, std::min(deadline_, deadline_after(kMessageLookInterval)))) {
    world_.throw_if_aborted(*call_, world_ranks_);
    if (std::chrono::steady_clock::now() >= deadline_) give_up();
    look_for_lost();
  }
  check_received();
}

void CallMessages::check_received() const {
  const auto refuse = [&](const std::string& how) {
    throw RuntimeFailure(ExitCode::ranks_disagree, fmt::format("[{}] ranks disagree: {}", name_of(call_->kind), how));
  };
  const auto told = [](const MessageLabel& label) {
    const std::string reduce = label.reduce == Reduce::none ? "" : fmt::format(" {}", name_of(label.reduce));
    return fmt::format("{} {}{}{}", name_of(label.kind), name_of(label.dtype), reduce,
                       label.root < 0 ? "" : fmt::format(" from member {}", label.root));
  };
  for (const PendingMessage& transfer : pending_) {
    if (transfer.way == PendingMessage::Way::send || !carrier_.is_done(transfer)) continue;
    const int peer = world_ranks_[transfer.peer], own = world_ranks_[rank()];
    if (transfer.received_label && *transfer.received_label != transfer.label) {
      refuse(fmt::format("rank {} calls {}, rank {} calls {}", peer, told(*transfer.received_label), own,
                         told(transfer.label)));
    }
    if (transfer.too_long) {
      refuse(fmt::format("rank {} sends more bytes than rank {} expects, got more than {}", peer, own, transfer.bytes));
    }
    if (transfer.received == transfer.bytes) continue;
    refuse(fmt::format("rank {} sends {} bytes, rank {} expects {}", peer, transfer.received, own, transfer.bytes));
  }
}

void CallMessages::look_for_lost() const {
  for (const PendingMessage& transfer : pending_) {
    const int peer = world_ranks_[transfer.peer];
    if (carrier_.is_done(transfer)) continue;
    if (carrier_.has_left(transfer.peer)) {
      throw RuntimeFailure(ExitCode::ranks_disagree, left_behind(*call_, rank(), {peer}, world_ranks_));
    }
    if (is_gone_(peer)) throw RuntimeFailure(ExitCode::peer_lost, lost(*call_, ended(peer), world_ranks_));
  }
}

void CallMessages::give_up() const {
  std::vector<int> missing;
  for (const PendingMessage& transfer : pending_) {
    if (!carrier_.is_done(transfer)) missing.push_back(world_ranks_[transfer.peer]);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  throw RuntimeFailure(ExitCode::peer_stalled, timed_out(*call_, timeout_, missing, world_ranks_));
}

void CallMessages::withdraw() noexcept {
  if (!carrier_.withdraw(pending_)) failed_ = true;
  pending_.clear();
}

}  // namespace partita
