// GPUs as the outputs of nvidia-smi in one file show them, until the file is over: then which is which is known.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/collected.h"
#include "harness/import/smi_keys.h"

namespace claimcheck::importing {

// One GPU in one output.
struct SmiGpu {
  int document = 0;          // several outputs may stand in one file
  int place = 0;             // in its output, from 0
  std::optional<int> index;  // where the output says it
  std::string bus;           // as bus_id() writes it; empty when unknown
  nlohmann::json entry = nlohmann::json::object();
  nlohmann::json facts = nlohmann::json::object();
  nlohmann::json now = nlohmann::json::object();
  std::string sick;                 // what it answered in place of values
  bool short_name = false;          // the table cuts long names
  std::vector<std::string> slices;  // MIG instances on it

  // A value under the name that `output` has for it.
  void take(SmiOutput output, std::string_view place, std::string_view raw);
  std::string name() const;  // "GPU 3 (0000:3b:00.0)", once the index is known
};

class SmiGpus {
 public:
  explicit SmiGpus(Collected& collected) : collected_(collected) {}

  void begin_document() { ++document_, place_ = 0, attached_.push_back(std::nullopt); }
  void attached(std::string_view count);
  // A new GPU of the output at work, or the one of that index or bus it has already.
  SmiGpu& begin();
  SmiGpu& at_index(int index);
  SmiGpu* last() { return gpus_.empty() || gpus_.back().document != document_ ? nullptr : &gpus_.back(); }
  void driver(std::string_view raw);
  void cuda(std::string_view raw);
  void none(std::string_view said);  // "No devices were found"

  // Everything into the document, with what follows from it.
  void publish();

 private:
  void number_them();
  void count_the_others(int attached);
  void share_what_is_known();
  void merge(const SmiGpu& gpu);
  void leave_out(const SmiGpu& gpu);

  Collected& collected_;
  int document_ = -1;
  int place_ = 0;
  std::vector<std::optional<int>> attached_;
  std::deque<SmiGpu> gpus_;  // references stay good while more come
  std::string driver_;
  std::string cuda_;
  std::string left_out_;
};

// What several outputs say of one another: smi_findings.cpp.
void smi_findings(const std::deque<SmiGpu>& gpus, Collected& collected);
void forward_compatibility(const std::string& driver, const std::string& cuda, Collected& collected);

}  // namespace claimcheck::importing
