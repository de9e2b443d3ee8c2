#include "kernels/node_share.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace claimcheck::kernels {

Sight compare_sights(World& world, const std::vector<std::string>& mine) {
  std::string text;
  for (const std::string& name : mine) text += name + ' ';
  const std::vector<std::string> all = world.gather(text);
  if (world.local_processes() == 1) return Sight::alone;
  bool same = true;
  std::size_t seen = 0;
  std::set<std::string> distinct;
  for (int process = 0; process < world.processes(); ++process) {
    if (world.node_of(process) != world.node()) continue;
    const std::string& theirs = all[static_cast<std::size_t>(process)];
    same = same && theirs == text;
    std::istringstream words(theirs);
    for (std::string word; words >> word; ++seen) distinct.insert(word);
  }
  if (distinct.size() == seen) return Sight::apart;
  return same ? Sight::same : Sight::mixed;
}

std::pair<int, int> dealt_out(int count, int process, int processes) {
  const int first = count * process / processes;
  return {first, count * (process + 1) / processes - first};
}

}  // namespace claimcheck::kernels
