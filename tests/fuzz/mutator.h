#pragma once
// Random changes of inputs: of bytes, of binary and decimal numbers, of words and of lines.

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace partita {

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, std::vector<std::string> words, size_t max_bytes, uint64_t seed);

  /// Another input: some changes of one of the pool.
  std::string next();
  /// Records the answer to the last input of `next`. The first inputs of each kind join the pool.
  void learn(const std::string& kind);
  size_t kinds() const { return kinds_.size(); }

 private:
  using Change = void (Mutator::*)(std::string&);
  void flip(std::string& text);
  void set_byte(std::string& text);
  void set_number(std::string& text);
  void set_digits(std::string& text);
  void erase(std::string& text);
  void insert_word(std::string& text);
  void replace_by_word(std::string& text);
  void copy(std::string& text);
  void repeat(std::string& text);
  void cross(std::string& text);
  void change_lines(std::string& text);

  size_t below(size_t count) { return count == 0 ? 0 : static_cast<size_t>(random_() % count); }
  /// Mostly short ones.
  size_t length(size_t most);
  const std::string& one_of(const std::vector<std::string>& list) { return list[below(list.size())]; }

  std::vector<std::string> pool_, words_;
  size_t seeds_ = 0;  // number of seeds, the first elements of the pool, which stay
  size_t max_bytes_;
  std::mt19937_64 random_;
  std::string last_;
  std::multiset<std::string> kinds_;
};

}  // namespace partita
