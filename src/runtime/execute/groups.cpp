#include "runtime/execute/groups.h"

namespace partita {

void Groups::add(const Axes& axes) {
  if (groups_.contains(axes)) return;
  groups_[axes] = world_.split(mesh_.group(world_.rank(), axes));
}

}  // namespace partita
