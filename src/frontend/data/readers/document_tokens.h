#pragma once
// Documents in an order of their own in each epoch, joined to one sequence of tokens.

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/permutation.h"
#include "frontend/data/readers/token_file.h"

namespace partita {

/// The documents of a file, shuffled by seed and epoch, or in their order, and joined. An epoch has every document
/// once. Needs 4 bytes of memory per document, and 8 more per 64 documents for each of two epochs.
class DocumentTokens : public TokenSource {
 public:
  /// `lengths` are the ids per document of `file`, whose size is their sum. No `seed`: documents stay in their order.
  DocumentTokens(TokenFile file, std::vector<uint32_t> lengths, std::optional<uint64_t> seed);

  int64_t size() const override { return file_.size(); }
  void copy(int64_t epoch, int64_t first, int64_t count, int32_t* to) const override;
  bool has_mask() const override { return file_.has_mask(); }
  void copy_mask(int64_t epoch, int64_t first, int64_t count, bool* to) const override;
  bool has_documents() const override { return true; }
  void copy_starts(int64_t epoch, int64_t first, int64_t count, bool* to) const override;

 private:
  /// The order of an epoch: the documents, and the tokens before each block of kBlock documents in that order.
  struct Order {
    std::optional<Permutation> documents;  // none: that of the file
    std::vector<int64_t> tokens_before;

    int64_t document(int64_t number) const { return documents ? (*documents)(number) : number; }
  };
  static constexpr size_t kBlock = 64;

  /// Returns the order of an epoch, which it keeps for two epochs, since prefetching workers may read both.
  std::shared_ptr<const Order> order(int64_t epoch) const;
  /// Tokens of one document, one after the other in the file.
  struct Part {
    int64_t position = 0, count = 0;  // the first one in the file, and their number
    bool is_begin = false;            // whether the first one is that of the document
  };
  /// Calls `take` for the parts of the `count` tokens from `first` on.
  void for_each_part(int64_t epoch, int64_t first, int64_t count, const std::function<void(const Part&)>& take) const;
  /// Returns the position in the file of the first id of a document.
  int64_t start_of(size_t document) const;

  TokenFile file_;
  std::vector<uint32_t> lengths_;
  std::vector<int64_t> starts_;  // position of the first id of every kBlock-th document
  std::optional<uint64_t> key_;  // none: documents are not shuffled
  mutable std::mutex mutex_;
  mutable std::array<std::pair<int64_t, std::shared_ptr<const Order>>, 2> kept_;  // epoch and order
};

}  // namespace partita
