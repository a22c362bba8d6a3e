#include "runtime/comm/sockets/inbox.h"

#include <algorithm>

namespace partita {
namespace {

/// Whether a message fits the receive that takes it, so its bytes may be stored.
bool fits(const PendingMessage& transfer, const FrameHead& head) {
  return head.bytes <= transfer.bytes && label_of(head) == transfer.label;
}

void fill(PendingMessage& transfer, const FrameHead& head) {
  transfer.received = head.bytes;
  transfer.received_label = label_of(head);
}

FrameTarget target_in(PendingMessage& transfer, int64_t first, int64_t bytes) {
  return {.data = transfer.data + first, .bytes = bytes, .into = &transfer};
}

}  // namespace

std::optional<uint64_t> Inbox::take(PendingMessage& transfer, uint64_t channel) {
  Queue& queue = queues_[{channel, transfer.tag}];
  const auto free = std::find_if(queue.arrived.begin(), queue.arrived.end(),
                                 [](const auto& arrived) { return arrived->taker == nullptr; });
  if (free == queue.arrived.end()) {
    queue.takers.push_back(&transfer);
    return std::nullopt;
  }
  Arrived& arrived = **free;
  if (!arrived.complete) {
    arrived.taker = &transfer;
    return std::nullopt;
  }
  std::optional<uint64_t> granted;
  if (arrived.head.kind == FrameHead::Kind::request) {
    granted = grant(arrived.head, transfer);
  } else {
    deliver(arrived, transfer);
  }
  queue.arrived.erase(free);
  return granted;
}

std::optional<uint64_t> Inbox::add_request(const FrameHead& head) {
  Queue& queue = queues_[{head.channel, head.tag}];
  if (queue.takers.empty()) {
    queue.arrived.push_back(std::make_unique<Arrived>(Arrived{.head = head, .complete = true}));
    return std::nullopt;
  }
  PendingMessage* taker = queue.takers.front();
  queue.takers.pop_front();
  return grant(head, *taker);
}

std::optional<uint64_t> Inbox::grant(const FrameHead& request, PendingMessage& transfer) {
  const bool is_wanted = fits(transfer, request);
  fill(transfer, request);
  if (!is_wanted) {
    completions_.finish(transfer);  // the sender is never granted its request: its call fails with this one
    return std::nullopt;
  }
  granted_[request.number] = {.transfer = &transfer, .bytes = request.bytes};
  return request.number;
}

void Inbox::deliver(const Arrived& arrived, PendingMessage& transfer) {
  if (fits(transfer, arrived.head)) std::copy(arrived.bytes.begin(), arrived.bytes.end(), transfer.data);
  fill(transfer, arrived.head);
  completions_.finish(transfer);
}

std::optional<FrameTarget> Inbox::begin_message(const FrameHead& head) {
  if (head.bytes == 0) return std::nullopt;
  if (const auto granted = granted_.find(head.number); granted != granted_.end()) {
    return begin_granted(head, granted->second);
  }
  if (head.bytes > kMaxAtOnce || !begins_in_order(head)) return std::nullopt;
  return begin_whole(head);
}

std::optional<FrameTarget> Inbox::begin_granted(const FrameHead& head, Granted& message) {
  if (head.bytes > message.bytes - message.received) return std::nullopt;
  FrameTarget target{.bytes = head.bytes};
  if (message.transfer != nullptr) target = target_in(*message.transfer, message.received, head.bytes);
  message.received += head.bytes;
  if (message.received < message.bytes) return target;
  transfer_ = message.transfer;
  granted_.erase(head.number);
  return target;
}

FrameTarget Inbox::begin_whole(const FrameHead& head) {
  Queue& queue = queues_[{head.channel, head.tag}];
  if (!queue.takers.empty()) {
    transfer_ = queue.takers.front();
    queue.takers.pop_front();
    FrameTarget target{.bytes = head.bytes};
    if (fits(*transfer_, head)) target = target_in(*transfer_, 0, head.bytes);
    fill(*transfer_, head);
    return target;
  }
  auto& arrived = queue.arrived.emplace_back(std::make_unique<Arrived>(Arrived{.head = head}));
  arrived->bytes.resize(static_cast<size_t>(head.bytes));
  arrived_ = arrived.get();
  return {.data = arrived->bytes.data(), .bytes = head.bytes};
}

void Inbox::end_message() {
  if (transfer_ != nullptr) {
    completions_.finish(*transfer_);
  } else if (arrived_ != nullptr) {
    arrived_->complete = true;
    if (arrived_->taker != nullptr) {
      deliver(*arrived_, *arrived_->taker);
      std::erase_if(queues_[{arrived_->head.channel, arrived_->head.tag}].arrived,
                    [&](const auto& one) { return one.get() == arrived_; });
    }
  }
  transfer_ = nullptr;
  arrived_ = nullptr;
}

bool Inbox::withdraw(PendingMessage& transfer, uint64_t channel) {
  Queue& queue = queues_[{channel, transfer.tag}];
  if (std::erase(queue.takers, &transfer) > 0) return true;
  for (const auto& arrived : queue.arrived) {
    if (arrived->taker == &transfer) arrived->taker = nullptr;
  }
  for (auto& [number, message] : granted_) {
    if (message.transfer == &transfer) message.transfer = nullptr;
  }
  if (transfer_ == &transfer) transfer_ = nullptr;
  return false;
}

}  // namespace partita
