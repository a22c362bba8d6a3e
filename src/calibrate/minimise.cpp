#include "calibrate/minimise.h"

namespace partita {

std::vector<double> minimise(std::vector<double> numbers,
                             const std::function<double(const std::vector<double>&)>& loss) {
  constexpr int kMaxRounds = 60;
  double least = loss(numbers);
  for (double factor = 2; factor > 1.005; factor = 1 + (factor - 1) / 2) {
    bool better = true;
    for (int round = 0; better && round < kMaxRounds; ++round) {
      better = false;
      for (double& number : numbers) {
        const double before = number;
        for (const double tried : {before * factor, before / factor}) {
          number = tried;
          const double now = loss(numbers);
          if (now < least) {
            least = now, better = true;
            break;
          }
          number = before;
        }
      }
    }
  }
  return numbers;
}

}  // namespace partita
