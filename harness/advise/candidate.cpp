#include "harness/advise/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/number.h"
#include "harness/report/quantity.h"
#include "harness/run/plan.h"

namespace claimcheck::advise {
namespace {

using nlohmann::json;

constexpr double hours_a_year = 8760;
constexpr double hours_a_month = 730;

// What a term is paid for at least, in hours; nothing for those paid by the hour.
double term_hours(const std::string& term) {
  if (term == "reserved_1y") return hours_a_year;
  if (term == "reserved_3y") return 3 * hours_a_year;
  return term.starts_with("monthly") ? hours_a_month : 0;
}

// How a number of nodes fares.
struct Outcome {
  int nodes = 0;
  Update update;
  double tokens_per_second = 0;
  Goodput goodput;
  CheckpointTimes checkpoint;
  double between_interruptions = 0;
  double seconds = 0;  // wall time; infinite when interruptions leave nothing
};

class Evaluation {
 public:
  Evaluation(const Candidate& candidate, const Pricing& pricing, const AdviseOptions& options)
      : candidate_(candidate), pricing_(pricing), options_(options), machine_(candidate.machine) {}

  Verdict run() {
    if (!machine_.memory_bytes) return {{}, "the memory of its GPUs is not known"};
    if (candidate_.prices.empty()) return {{}, "no price is known"};
    const int most = most_nodes();
    if (most < 1) return {{}, too_small_a_batch()};
    const std::optional<int> fewest = fewest_nodes(most);
    if (!fewest) return {{}, does_not_fit(most)};
    Verdict verdict;
    for (const HourPrice& price : candidate_.prices) {
      const std::optional<Outcome> outcome = chosen(*fewest, most, price.term);
      if (outcome) verdict.rows.push_back(row(*outcome, price));
    }
    if (verdict.rows.empty()) verdict.reason = too_slow_;
    return verdict;
  }

 private:
  int gpus(int nodes) const { return nodes * machine_.fabric.ranks_per_node; }

  // As many as the batch feeds, and the network connects.
  int most_nodes() const {
    const double fed = std::floor(options_.workload.sequences() / machine_.fabric.ranks_per_node);
    const int nodes = static_cast<int>(std::min(fed, static_cast<double>(options_.most_nodes)));
    return machine_.fabric.network_rate ? nodes : std::min(nodes, 1);
  }

  std::string too_small_a_batch() const {
    return fmt::format("a batch of {} sequences gives its {} GPUs less than one each",
                       number_text(options_.workload.sequences()), machine_.fabric.ranks_per_node);
  }

  std::optional<Update> update(int nodes) const {
    return fastest_update(options_.workload, machine_, candidate_.tflops, nodes);
  }

  // States are spread thinner with every node: the first that fits is found by doubling and halving.
  std::optional<int> fewest_nodes(int most) const {
    return first_of(1, most, [&](int nodes) { return update(nodes).has_value(); });
  }

  template <class Good>
  static std::optional<int> first_of(int low, int high, const Good& good) {
    int step = 1;
    int bad = low - 1;
    int at = low;
    while (!good(at)) {
      if (at == high) return std::nullopt;
      bad = at;
      at = std::min(high, at + step);
      step *= 2;
    }
    while (at - bad > 1) {
      const int middle = bad + (at - bad) / 2;
      (good(middle) ? at : bad) = middle;
    }
    return at;
  }

  std::string does_not_fit(int most) const {
    const Need need = training_need(options_.workload);
    const double memory = *machine_.memory_bytes;
    const auto wanted = gpus_for(need.states, need.gathered + need.computed, memory);
    if (!wanted)
      return fmt::format(
          "one sequence with the layers it needs takes {} GB, a GPU has {} GB of use: it would need "
          "tensor parallelism",
          number_text((need.gathered + need.computed) / 1e9), number_text(usable_share * memory / 1e9));
    if (!machine_.fabric.network_rate)
      return fmt::format("it needs {} GPUs, a node has {}, and its network is not known", *wanted, gpus(1));
    return fmt::format("it needs {} GPUs, and {}", *wanted,
                       most < options_.most_nodes
                           ? fmt::format("the batch feeds {}", gpus(most))
                           : fmt::format("{} nodes, the most looked at, have {}", most, gpus(most)));
  }

  CheckpointTimes checkpoint_of(int nodes) const {
    const double bytes = training_need(options_.workload).checkpoint;
    CheckpointTimes times;
    times.bytes = bytes;
    const bool measured = candidate_.checkpoint && candidate_.checkpoint->bytes > 0;
    const double rate =
        measured ? candidate_.checkpoint->bytes / candidate_.checkpoint->save_seconds : assumed_save_bytes_per_second;
    times.save_seconds = bytes / (rate * nodes);
    const double restore =
        measured && candidate_.checkpoint->restore_seconds
            ? bytes / (candidate_.checkpoint->bytes / *candidate_.checkpoint->restore_seconds * nodes)
            : times.save_seconds;
    times.restore_seconds = restore + options_.restart_seconds;
    return times;
  }

  // GPUs fail everywhere; spot machines are also taken away, as often as the user says.
  double between_interruptions(int nodes, const std::string& term) const {
    double a_second = gpus(nodes) / (gpu_hours_between_failures * 3600);
    const auto& spot = options_.cost.seconds_between_interruptions;
    if (term == "spot" && spot) a_second += nodes / *spot;
    return 1 / a_second;
  }

  std::optional<Outcome> outcome(int nodes, const std::string& term) const {
    const std::optional<Update> found = update(nodes);
    if (!found) return std::nullopt;
    Outcome result;
    result.nodes = nodes;
    result.update = *found;
    result.tokens_per_second = options_.workload.batch_tokens / found->seconds;
    result.checkpoint = checkpoint_of(nodes);
    result.between_interruptions = between_interruptions(nodes, term);
    result.goodput = goodput(result.checkpoint, result.between_interruptions);
    result.seconds = options_.workload.tokens / result.tokens_per_second / result.goodput.share;
    return result;
  }

  double seconds(int nodes, const std::string& term) const {
    const auto found = outcome(nodes, term);
    return found ? found->seconds : INFINITY;
  }

  std::optional<Outcome> chosen(int fewest, int most, const std::string& term) {
    if (!options_.deadline_seconds) {
      const auto found = outcome(fewest, term);
      if (!std::isfinite(found->seconds)) {
        too_slow_ = "interruptions come before a checkpoint is saved";
        return std::nullopt;
      }
      return found;
    }
    const auto nodes =
        first_of(fewest, most, [&](int count) { return seconds(count, term) <= *options_.deadline_seconds; });
    if (nodes) return outcome(*nodes, term);
    too_slow_ = fmt::format("{}, takes {}",
                            machine_.fabric.network_rate ? fmt::format("{} nodes, all that the batch feeds", most)
                                                         : "one node, as its network is not known",
                            days_text(seconds(most, term)));
    return std::nullopt;
  }

  static std::string days_text(double seconds) {
    return std::isfinite(seconds) ? number_text(seconds / 86400) + " days" : "for ever";
  }

  json row(const Outcome& outcome, const HourPrice& price) const {
    json row = pricing_.row(price, std::nullopt, "");
    for (const char* unused : {"useful_tflops", "per_eflop"}) row.erase(unused);
    const double hours = outcome.seconds / 3600;
    const double term = term_hours(price.term);
    const double paid = term > 0 ? std::ceil(hours / term) * term : hours;
    const double money = paid * outcome.nodes * row["per_hour"].get<double>();
    row.update({{"label", candidate_.label},
                {"instance", machine_.instance.empty() ? json(nullptr) : json(machine_.instance)},
                {"accelerator", machine_.accelerator.empty() ? json(nullptr) : json(machine_.accelerator)},
                {"nodes", outcome.nodes},
                {"gpus", outcome.update.gpus},
                {"data_type", candidate_.data_type},
                {"gpu_tflops", candidate_.tflops},
                {"estimate", candidate_.estimate},
                {"kind", !candidate_.estimate           ? "measured"
                         : candidate_.products_measured ? "partly_measured"
                                                        : "estimate"},
                {"basis", candidate_.basis},
                {"update",
                 {{"sharded", outcome.update.sharded},
                  {"computed_again", outcome.update.computed_again},
                  {"micro_batches", outcome.update.micro_batches},
                  {"micro_sequences", outcome.update.micro_sequences},
                  {"seconds", outcome.update.seconds},
                  {"exposed_seconds", outcome.update.exposed_seconds},
                  {"efficiency", outcome.update.efficiency}}},
                {"mfu", candidate_.peak ? json(candidate_.tflops * outcome.update.efficiency / *candidate_.peak)
                                        : json(nullptr)},
                {"tokens_per_second", outcome.tokens_per_second},
                {"goodput",
                 {{"share", outcome.goodput.share},
                  {"save_seconds", outcome.checkpoint.save_seconds},
                  {"save_every_seconds", outcome.goodput.interval_seconds},
                  {"interrupted_every_seconds", outcome.between_interruptions},
                  {"measured", candidate_.checkpoint.has_value()},
                  {"spot_counted", price.term != "spot" || options_.cost.seconds_between_interruptions.has_value()}}},
                {"seconds", outcome.seconds},
                {"paid_hours", paid},
                {"money", money},
                {"within_budget",
                 options_.budget && row["converted"].get<bool>() ? json(money <= *options_.budget) : json(nullptr)}});
    return row;
  }

  const Candidate& candidate_;
  const Pricing& pricing_;
  const AdviseOptions& options_;
  const scale::Machine& machine_;
  std::string too_slow_;
};

}  // namespace

Verdict evaluate(const Candidate& candidate, const Pricing& pricing, const AdviseOptions& options) {
  return Evaluation(candidate, pricing, options).run();
}

}  // namespace claimcheck::advise
