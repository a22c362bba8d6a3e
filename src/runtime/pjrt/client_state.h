#pragma once
// The state that a client shares with its buffers and executables.

#include <unistd.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/pjrt/client.h"

namespace partita::pjrt {

struct ClientState {
  /// Takes `owned`, and asks for its devices. Throws as `Api::call` does in the setup.
  ClientState(std::shared_ptr<const Api> functions, ClientHandle* owned, std::shared_ptr<KeyValueStore> shared);
  ClientState& operator=(ClientState&&) = delete;
  ~ClientState();

  /// Checks that this is the process of the client. Throws RuntimeFailure(usage) in another one.
  void require_own_process() const;
  /// Waits for an event and destroys it, as `Api::await` does. Calls what `Client::watch_waits` was given from time to
  /// time, as long as the event has not happened.
  void await(Event* event, Function cause) const;
  /// Destroys what belongs to the client, unless this is another process.
  template <class Args>
  void release(Function function, Args args) const noexcept {
    if (::getpid() == process) api->release(function, args);
  }

  const std::shared_ptr<const Api> api;
  const std::shared_ptr<KeyValueStore> store;  // called by the plugin until the client is destroyed; may be null
  ClientHandle* const handle;
  const pid_t process = ::getpid();
  std::vector<Device*> devices;

  using Watch = std::function<void(std::chrono::milliseconds)>;
  mutable std::mutex watching{};                              // guards `watches`
  mutable std::vector<std::weak_ptr<const Watch>> watches{};  // the first that somebody keeps is called
};

}  // namespace partita::pjrt
