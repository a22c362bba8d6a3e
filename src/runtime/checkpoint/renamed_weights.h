#pragma once
// Weights in the files of another program, under its names.

#include "runtime/checkpoint/name_table.h"
#include "runtime/checkpoint/tensor_files.h"
#include "runtime/checkpoint/weight_source.h"

namespace partita {

class RenamedWeights : public WeightSource {
 public:
  /// Finds each weight in `files` by the rules of `table`. Throws InvalidFile, naming `path`, with the weights that are
  /// missing and the tensors that are left over, each with the nearest name, and for a tensor of another shape or kind.
  RenamedWeights(TensorFiles files, const NameTable& table, const std::vector<NamedType>& weights,
                 const std::string& path);

  bool has(const std::string& name) const override { return found_.contains(name); }
  void read(const std::string& name, const Box& box, DType dtype, void* to) const override;
  uint64_t digest() const override { return files_.digest(); }

 private:
  /// Where a weight is: one tensor, or one for each index of its first dimension.
  struct Found {
    std::vector<std::string> tensors;
    bool is_transposed = false, is_stacked = false;
    int64_t first_row = 0;  // row of the tensor, before a transposition, with which the weight begins
    Shape shape;            // shape of a tensor, without dimensions of size 1 that the weight lacks
  };

  /// Returns where the rule says the weight is; nothing if a tensor is not there.
  std::optional<Found> find(const NameRule& rule, const NamePattern::Numbers& numbers, const NamedType& weight,
                            const std::string& optional) const;
  /// Checks that the tensors have the shape that the weight asks for. Throws InvalidFile otherwise.
  void check(const NameRule& rule, const NamedType& weight, Found& found, const std::string& path) const;
  /// Checks that no weight is missing and no tensor is left over. Throws InvalidFile otherwise.
  void require_all(const std::vector<NamedType>& weights, const NameTable& table,
                   const std::map<std::string, std::string>& wanted, const std::string& path) const;
  void read_tensor(const Found& found, const std::string& tensor, const Box& box, DType dtype, void* to) const;

  TensorFiles files_;
  std::map<std::string, Found> found_;
};

}  // namespace partita
