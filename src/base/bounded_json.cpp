#include "base/bounded_json.h"

#include <fmt/format.h>

#include <array>

#include "base/plain_numbers.h"

namespace partita {
namespace {

/// Counts what a parser meets, and throws BadJson for text that is not JSON and above a limit.
class JsonLimits final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;

  JsonLimits(int64_t max_values, int64_t max_keys) : max_values_(max_values), max_keys_(max_keys) {}

  bool null() override { return count_value(); }
  bool boolean(bool) override { return count_value(); }
  bool number_integer(number_integer_t) override { return count_value(); }
  bool number_unsigned(number_unsigned_t) override { return count_value(); }
  bool number_float(number_float_t, const string_t&) override { return count_value(); }
  bool string(string_t&) override { return count_value(); }
  bool binary(binary_t&) override { return count_value(); }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t&) override {
    if (++keys_[depth_ - 1] > max_keys_) {
      throw BadJson(fmt::format("more than {} keys in an object", max_keys_));
    }
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const Json::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) throw BadJson("a number that is too large");
    throw BadJson(fmt::format("an error at byte {}", byte));
  }

 private:
  bool open() {
    if (depth_ >= kMaxJsonDepth) throw BadJson(fmt::format("more than {} nested lists", kMaxJsonDepth));
    keys_[depth_++] = 0;
    return count_value();
  }

  bool close() {
    --depth_;
    return true;
  }

  bool count_value() {
    if (++values_ > max_values_) throw BadJson(fmt::format("more than {} values", max_values_));
    return true;
  }

  int64_t max_values_, max_keys_, values_ = 0;
  size_t depth_ = 0;                           // open lists and objects
  std::array<int64_t, kMaxJsonDepth> keys_{};  // keys so far of the open object at each depth
};

}  // namespace

nlohmann::json parse_bounded_json(std::string_view text, int64_t max_values, int64_t max_keys) {
  // A separate pass counts: the library's parser with a callback visits all members of a list after each of them.
  JsonLimits limits(max_values, max_keys);
  const PlainNumbers plain;
  nlohmann::json::sax_parse(text, &limits);
  return nlohmann::json::parse(text);
}

}  // namespace partita
